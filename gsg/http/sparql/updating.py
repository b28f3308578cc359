"""SPARQL updates: each operation asks what it has to, and what it changes is published as one batch."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import NamedTuple

from ...interleaving import in_thread
from ...languages import GRAPHS_AT_ONCE, read_text
from ...languages.rows import Row
from ...languages.sparql.updates import Changes, Operation, parse_update
from ...peer import Peer
from ...tuples.sizes import total_bytes
from ..operations import Asker
from .answering import Found, Questions
from .requests import AskedUpdate

DECIDED_AT_ONCE = 1_000
"""Rows of which an operation's changes are found while others wait; of more in a thread."""
MEASURED_AT_ONCE = 1_000
"""Tuples whose bytes are counted together: that holds the interpreter's lock for as long as it takes."""


class Updates:
    """Carries out the updates of all clients of a door. Those with WHERE go one after the other, so that what one of them asks is
    not changed by another half-way.

    Updates at other peers, and what is published otherwise, may come between what an update asks and what it changes.
    """

    def __init__(self, peer: Peer, questions: Questions) -> None:
        self._questions = questions
        self._peer = peer
        self._turn = asyncio.Lock()
        """Held by the operation with WHERE that is carried out; what it asks has its time. Bounded by the requests of the door that
        wait for it."""

    async def carry_out(self, asked: AskedUpdate, asker: Asker, *, base: str, size_bytes: int) -> None:
        """Carry out an update, whose text has so many bytes.

        Raises what is wrong with its text, before anything is done; and, when earlier operations of it may have been carried out,
        what a question or publishing raises.
        """
        read = partial(
            parse_update, asked.text, base=base, using_graphs=asked.using_graphs, using_named_graphs=asked.using_named_graphs
        )
        is_long = len(asked.using_graphs) + len(asked.using_named_graphs) > GRAPHS_AT_ONCE
        operations = await read_text(asked.text, "sparql", read, is_long=is_long)
        # What the text itself says is counted once and at first, so that an update is not refused half-way for its own length.
        said = Cost(sum(len(each.deletes) + len(each.inserts) for each in operations if each.query is None), size_bytes)
        for operation in operations:
            if operation.query is None:
                said = said.admit(asker)
                await self._publish(operation.changes(), asker)
                continue
            async with (
                self._turn,
                self._questions.ask(operation.query, asked.text, timeout_s=asked.timeout_s, asker=asker) as found,
            ):
                found.check_complete()
                changes, made = await _changes(operation, operation.query.select, found)
                said = said.plus(made).admit(asker)
                await self._publish(changes, asker)

    async def publish(self, changes: Changes, asker: Asker, size_bytes: int) -> None:
        """Publish what changes, all of it at once. Raises Refused where the asker has published too much, and what publishing
        raises."""
        asker.admit(len(changes.retracted) + len(changes.inserted), size_bytes)
        await self._publish(changes, asker)

    async def _publish(self, changes: Changes, asker: Asker) -> None:
        retracted, inserted = list(changes.retracted), list(changes.inserted)
        # Both are called before either is sent, so that they go together, in this order.
        caller = self._peer.caller()
        calls = [caller.facts(sign, part, asker.readers) for sign, part in ((-1, retracted), (1, inserted)) if part]
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome


class Cost(NamedTuple):
    """What is to be counted against the quota of whoever sends an update, and was not yet."""

    tuples: int = 0
    size_bytes: int = 0

    def plus(self, other: Cost) -> Cost:
        """Both."""
        return Cost(self.tuples + other.tuples, self.size_bytes + other.size_bytes)

    def admit(self, asker: Asker) -> Cost:
        """Count it; what is left to be counted then. Raises Refused where the asker has published too much."""
        if any(self):
            asker.admit(*self)
        return Cost()


async def _changes(operation: Operation, names: tuple[str, ...], found: Found) -> tuple[Changes, Cost]:
    """What an operation with WHERE changes, and what that costs: a template may make very much of a short text."""

    def find() -> tuple[Changes, Cost]:
        changes = operation.changes(Row.of(names, values) for values, weight in found.rows for _ in range(weight))
        tuples = [*changes.retracted, *changes.inserted]
        parts = (tuples[begin : begin + MEASURED_AT_ONCE] for begin in range(0, len(tuples), MEASURED_AT_ONCE))
        return changes, Cost(len(tuples), sum(map(total_bytes, parts)))

    return find() if found.solutions <= DECIDED_AT_ONCE else await in_thread(find)
