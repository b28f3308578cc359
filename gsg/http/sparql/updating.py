"""SPARQL updates: each operation asks what it has to, and what it changes is published as one batch."""

from __future__ import annotations

import asyncio
from functools import partial

from ...interleaving import in_thread
from ...languages import GRAPHS_AT_ONCE, read_text
from ...languages.rows import Row
from ...languages.sparql.updates import Changes, Operation, parse_update
from ...peer import Peer
from ..operations import Asker
from .answering import Found, Questions
from .requests import AskedUpdate

DECIDED_AT_ONCE = 1_000
"""Rows of which an operation's changes are found while others wait; of more in a thread."""


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
        for operation in await read_text(asked.text, "sparql", read, is_long=is_long):
            if operation.query is None:
                await self.publish(operation.changes(), asker, size_bytes)
                continue
            async with (
                self._turn,
                self._questions.ask(operation.query, asked.text, timeout_s=asked.timeout_s, asker=asker) as found,
            ):
                found.check_complete()
                await self.publish(await _changes(operation, operation.query.select, found), asker, size_bytes)

    async def publish(self, changes: Changes, asker: Asker, size_bytes: int) -> None:
        """Publish what changes, all of it at once. Raises Refused where the asker has published too much, and what publishing
        raises."""
        retracted, inserted = list(changes.retracted), list(changes.inserted)
        asker.admit(len(retracted) + len(inserted), size_bytes)
        # Both are called before either is sent, so that they go together, in this order.
        caller = self._peer.caller()
        calls = [caller.facts(sign, part, asker.readers) for sign, part in ((-1, retracted), (1, inserted)) if part]
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome


async def _changes(operation: Operation, names: tuple[str, ...], found: Found) -> Changes:
    rows = (Row.of(names, values) for values, weight in found.rows for _ in range(weight))
    return operation.changes(rows) if found.solutions <= DECIDED_AT_ONCE else await in_thread(operation.changes, rows)
