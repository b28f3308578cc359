"""A subscription of an embedded space: the answer now, and the differences since."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol, TypeAlias

import rete

from ..errors import DoorClosed, GsgError, Overrun
from ..languages.query import Query
from ..languages.rows import Change, Row, Sign, changes_at_event, changes_of
from ..tuples.terms import Tuple
from .backlog import Backlog, Overflow
from .entrance import rows_of
from .tables import Tabular, shown
from .windows import looks_at

if TYPE_CHECKING:
    from rete.inspect import Held

    from ..explain.explanations import Why, WhyNot

log = logging.getLogger(__name__)

Callback: TypeAlias = Callable[[Sign, Row], object]


def tell(callback: Callback, changes: Iterable[Change], variables: tuple[str, ...]) -> int:
    """Call back with each difference; returns how often that has raised, each time logged with the subscription's variables."""
    failures = 0
    for sign, row in changes:
        try:
            callback(sign, row)
        except Exception:
            # One subscriber's mistake must not keep the others from their rows.
            failures += 1
            log.exception("callback of a subscription to %s failed on %s %s", variables, sign, row)
    return failures


class Owner(Protocol):
    """What a subscription asks of its space."""

    def advance(self) -> None:
        """Let time go on."""

    def _leave(self, production: rete.Production) -> None:
        """Take a query out."""

    def _facts_of(self, condition: rete.Condition) -> Iterable[Tuple]:
        """What a condition may match now."""


class Subscription(Tabular):
    """A standing query. Made by :meth:`gsg.Space.subscribe`.

    ``rows()`` is the answer at this moment. Iterating gives the differences that have come and were not read yet, oldest first, the
    rows of the beginning included, and ends when there is none (a space has no other thread that more could come from). With
    a callback, differences go there instead.
    """

    # There may be very many: each slot counts, and a closure for each would count more.
    __slots__ = (
        "_backlog",
        "_callback",
        "_error",
        "_overrun",
        "_owner",
        "_production",
        "_query",
        "_told_of_window",
        "failures",
    )

    def __init__(
        self, owner: Owner, query: Query, callback: Callback | None, limit: int, overflow: Overflow = Overflow.RESYNC
    ) -> None:
        self.failures = 0
        """How often the callback has raised; each is logged with its subscription."""
        self._owner = owner
        self._query = query
        self._callback = callback
        self._backlog = Backlog(limit, overflow) if callback is None else None
        self._production: rete.Production | None = None
        """None when it is closed."""
        self._error: GsgError | None = None
        self._overrun: Overrun | None = None
        self._told_of_window = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of a row, in order of appearance."""
        return self._query.select

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever wrote the query should know, such as a cross product in it."""
        return self._query.warnings

    def rows(self) -> Counter[Row]:
        """The rows that hold now, each with how often (more than once only where wildcards hide the difference).

        Raises what has ended the subscription, if it was not closed: TooManyTokens; that too where it takes too many steps to find
        the rows, though none has to be made for what changes.
        """
        if self._error is not None:
            raise self._error
        if self._production is None:
            return Counter()
        self._owner.advance()
        return rows_of(self._production, self.variables)

    def why(self, row: Mapping[str, object]) -> Why:
        """Which tuples make a row, or all rows with these values; ``print`` shows it. Raises LocalError for a name of no row."""
        from ..explain.explain import explain_why

        self._owner.advance()
        return explain_why(self._query, _row(row), self._owner._facts_of)

    def why_not(self, row: Mapping[str, object]) -> WhyNot:
        """Which part of the query leaves nothing of a row, of which any values may be given. Raises LocalError like :meth:`why`."""
        from ..explain.explain import explain_why_not

        self._owner.advance()
        return explain_why_not(self._query, _row(row), self._owner._facts_of)

    def memory(self) -> Held:
        """What the subscription holds in the matcher, and how much of it is its own. Raises DoorClosed when it is closed."""
        from rete.inspect import held_by

        if self._production is None:
            raise DoorClosed("this subscription is closed, and holds nothing")
        return held_by(self._production)

    def __iter__(self) -> Iterator[Change]:
        """The unread differences. Raises Overrun where events had to go, and in the end what :meth:`rows` raises."""
        if self._production is not None:
            self._owner.advance()
        if self._overrun is not None:
            overrun, self._overrun = self._overrun, None
            raise overrun
        while self._backlog is not None and (change := self._backlog.popleft()) is not None:
            yield change
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """End the subscription: its memory is freed, nothing more comes. Closing twice is allowed."""
        self._error = None
        production, self._production = self._production, None
        if production is not None:
            self._owner._leave(production)

    def _ended(self, error: GsgError) -> None:
        """The space has ended it."""
        self.close()
        self._error = error
        if self._callback is not None:
            log.warning("subscription to %s: %s", self.variables, error)

    def looks_at(self, window: rete.AlphaSpec) -> bool:
        """For the space: whether it asks for the events of a window."""
        return looks_at(self._query, window)

    def tell_full_window(self, overrun: Overrun) -> None:
        """For the space: events leave a window early. The next read says so, once."""
        if self._told_of_window:
            return
        self._told_of_window = True
        if self._callback is not None:
            log.warning("subscription to %s: %s", self.variables, overrun)
        else:
            self._overrun = overrun

    def __repr__(self) -> str:
        # The rows are not asked for: to find them may take long, and end the subscription.
        if self._error is not None:
            state = f"ended by {type(self._error).__name__}"
        else:
            state = "closed" if self._production is None else "open"
        unread = f", {len(self._backlog):,} unread" if self._backlog is not None else ", told by callback"
        return shown("Subscription", self.variables, state + unread)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begun(self, production: rete.Production) -> None:
        """The query is in the network."""
        self._production = production

    def _changed(self, rows: list[tuple[Tuple, int]]) -> None:
        self._report(changes_of(self.variables, rows))

    def _flashed(self, rows: list[tuple[Tuple, int]]) -> None:
        self._report(changes_at_event(self.variables, rows))

    def _report(self, changes: Iterable[Change]) -> None:
        if self._backlog is not None:
            self._backlog.extend(changes)
            if self._backlog.full and self._error is None:
                self._ended(self._backlog.overrun())
            return
        assert self._callback is not None, "without a backlog there is a callback"
        # The callback may close its own subscription, in the middle of what a transaction has changed.
        until_closed = takewhile(lambda _: self._production is not None, changes)
        self.failures += tell(self._callback, until_closed, self.variables)


def _row(bindings: Mapping[str, object]) -> Row:
    return bindings if isinstance(bindings, Row) else Row(bindings)
