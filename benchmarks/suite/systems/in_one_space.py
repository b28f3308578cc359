"""A tuple space in one process, without peers: what matching alone takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Self

import gsg
from gsg.tuples.terms import Term, n3

from ..campus import integer
from ..files import Change
from ..users import Line
from .system import Measures, Row, Tell


@lru_cache(maxsize=1 << 18)  # beyond, terms are only made again
def term_of(text: str) -> object:
    """A term of the benchmark, an IRI or an integer, as this package has it."""
    return gsg.IRI(text[1:-1]) if text[0] == "<" else int(text[1 : text.index('"', 1)])


@lru_cache(maxsize=1 << 18)  # as above
def text_of(term: Term | float) -> str:
    """A term of ours as N-Triples writes it; n3 alone writes integers as they are printed."""
    return integer(term) if isinstance(term, int) else n3(term)


def row_of(row: gsg.Row, names: Sequence[str]) -> Row:
    """A row of ours as texts."""
    return [text_of(row[name]) if name in row else None for name in names]


class InOneSpace:
    """The system."""

    name = "space"

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._space = gsg.Space()
        self._made: dict[int, tuple[gsg.Subscription, Sequence[str]]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._space.close()

    async def subscribe(self, subscription: Line) -> None:
        number, names = subscription.subscription, subscription.query.select

        def told(sign: gsg.Sign, row: gsg.Row) -> None:
            self._tell(number, int(sign), row_of(row, names))

        self._made[number] = self._space.subscribe(subscription.gsg, callback=told), names

    async def unsubscribe(self, subscription: int) -> None:
        self._made.pop(subscription)[0].close()

    async def change(self, changes: Sequence[Change]) -> None:
        verbs = {1: self._space.insert, -1: self._space.retract, 0: self._space.notify}
        for sign, triple in changes:
            verbs[sign]([tuple(map(term_of, triple))])

    async def settle(self) -> None:
        """Everything is told before a call returns."""

    async def answers(self, subscription: int) -> list[Row] | None:
        made, names = self._made[subscription]
        return [row_of(row, names) for row, times in made.rows().items() for _ in range(times)]

    async def measures(self) -> Measures:
        return Measures()
