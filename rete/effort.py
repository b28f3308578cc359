"""How much a query may look at: a bound on the steps of one transaction, one first answer, or one reading of rows.

A step is a token or fact that a node looks at for another one, whether anything comes of it or not: a product whose pairs a FILTER
throws away holds nothing, and costs as much as one that keeps them. Where something is computed of each pair, a pair is more steps:
a test says how many (:func:`rete.algebra.steps_of`), so that a step takes about as long whatever the query is.
Nodes count the steps of loops over more than a few (what they have to look at besides is a few times what they hold, which
:mod:`rete.token_cap` bounds). A query may make

    STEPS_PER_TOKEN for each token that it may hold, LEAST at least, and STEPS_EACH more for each token and row that comes or goes

and for its first answer as many more for each fact that it looks at, or what it takes to look at each once if that is more. So
whatever grows with what there is or changes is allowed, and what grows with the product of two such things is so up to its cap.
A query that needs more ends alone, like one that holds too much: at once, in the middle of the fact.

Steps of replaying (:meth:`rete.operators.join.Node.replay`) are counted for whoever reads, those of changes by the nodes that make
them, as these may be of several queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from .errors import TakesLong, TooManySteps
from .operators.join import UNLIMITED, Node, Stopped
from .production import ChainEnd

STEPS_PER_TOKEN = 2
"""Steps for each token that a query may hold: with the default cap two million, about a second."""
LEAST = 10_000
"""Steps that every query may make, however few tokens it may hold."""
STEPS_EACH = 8
"""Steps for each token, row and fact."""
UNASKED = 1_024
"""Steps of one node between two times that it is added up what its queries have made."""


def allowed(max_tokens: int, things: int) -> int:
    """The steps that a query may make for so many tokens and rows."""
    return max(STEPS_PER_TOKEN * max_tokens, LEAST) + STEPS_EACH * things


def steps_each(node: Node) -> int:
    """How many steps it is to pass a token on from a node, to nodes that keep none included."""
    children = [child for child in node.usual_children() if isinstance(child, Node)]
    below = sum(child.extra_steps + (0 if child.remembers else steps_each(child) - child.pair_steps) for child in children)
    return node.pair_steps + below


class _Made:
    """What one node has done in this transaction."""

    __slots__ = ("allowed", "each", "held", "steps")

    def __init__(self, node: Node) -> None:
        self.steps = 0
        self.each = steps_each(node)
        self.held = node.held
        """Its tokens before."""
        self.allowed = UNASKED
        """At how many steps they are added up next."""


class Reading:
    """What one reader looks at; ``problem`` is why it was stopped."""

    __slots__ = ("allowed", "at_once", "each", "max_tokens", "problem", "rows", "steps", "widest")

    def __init__(self, max_tokens: int, at_once: int) -> None:
        self.max_tokens = max_tokens
        self.at_once = at_once
        """The steps for which whoever reads waits."""
        self.steps = 0
        self.widest: dict[Node, int] = {}
        """The most that each node has looked at for one token, as the steps that are allowed for it: there are so many facts or
        tokens at least."""
        self.each: dict[Node, int] = {}
        self.allowed = min(allowed(max_tokens, 0), at_once)
        """At how many steps it is looked at again."""
        self.rows = 0
        """Those that it has found."""
        self.problem: TooManySteps | None = None


class Asked(Protocol):
    """Who knows the queries that nodes serve (:class:`rete.token_cap.TokenCaps`)."""

    new: list[Node] | None

    def judge_steps(self, node: Node) -> int:
        """A node has made many steps: how many more it may make before this is asked again. Raises Stopped."""


class Effort:
    """The steps of one network."""

    __slots__ = ("_caps", "_reading", "_rows", "by_node")

    def __init__(self, caps: Asked) -> None:
        self._caps = caps
        self.by_node: dict[Node, _Made] = {}
        """What nodes have done in this transaction. Bounded by the nodes of the network; emptied at its end."""
        self._rows: dict[ChainEnd, int] = {}
        """Of queries that have been asked about: their rows then. Emptied likewise."""
        self._reading: Reading | None = None
        """Of a query that is being entered, or is read."""

    def count_steps(self, node: Node, steps: int) -> None:
        """A node is about to make so many steps. Raises Stopped where all that it serves ends for it."""
        if self._reading is not None:
            self.count_looks(node, steps)  # one that is made just now
            return
        made = self.by_node.get(node)
        if made is None:
            made = self.by_node[node] = _Made(node)
        made.steps += steps * made.each
        if made.steps > made.allowed:
            made.allowed = made.steps + max(self._caps.judge_steps(node), UNASKED)

    def rows_changed(self, end: ChainEnd) -> int:
        """How many rows have come or gone since this was asked first in this transaction."""
        return abs(end.count - self._rows.setdefault(end, end.count))

    @property
    def reading(self) -> Reading:
        """Whoever reads now."""
        assert self._reading is not None, "somebody reads"
        return self._reading

    def end_transaction(self) -> None:
        """The end of a transaction."""
        self.by_node.clear()
        self._rows.clear()

    def made_by(self, nodes: Iterable[Node]) -> tuple[int, int]:
        """The steps that some nodes have made in this transaction, and how many tokens they have taken or lost since the first."""
        steps = changed = 0
        for node in nodes:
            made = self.by_node.get(node)
            if made is not None:
                steps += made.steps
                changed += abs(node.held - made.held)
        return steps, changed

    @contextmanager
    def of_reading(self, max_tokens: int, at_once: int = UNLIMITED) -> Iterator[Reading]:
        """While nodes are replayed for a query that may hold so many tokens, which raises Stopped where it takes too long, or more
        than ``at_once`` steps."""
        before = self._reading
        reading = self._reading = Reading(max_tokens, at_once)
        try:
            yield reading
        finally:
            self._reading = before

    def count_looks(self, node: Node, steps: int) -> None:
        """Somebody who replays a node, or a node that is made for the query that is being entered, makes so many steps."""
        reading = self._reading
        if reading is None:
            return
        each = reading.each.get(node)
        if each is None:
            each = reading.each[node] = steps_each(node)
        reading.steps += steps * each
        if steps * max(each, STEPS_EACH) > reading.widest.get(node, 0):
            reading.widest[node] = steps * max(each, STEPS_EACH)
        if reading.steps > reading.allowed:
            if reading.steps > reading.at_once:
                reading.problem = TakesLong(reading.steps, reading.at_once, node)
                raise Stopped
            holders = {*reading.widest, *(self._caps.new or ())}
            has = reading.rows + sum(one.held for one in holders)
            may = allowed(reading.max_tokens, has) + sum(reading.widest.values())
            if reading.steps > may:
                reading.problem = TooManySteps(reading.steps, may, node)
                raise Stopped
            reading.allowed = min(may, reading.at_once)

    def has_time(self, facts: int) -> bool:
        """Whether whoever enters a query waits until so many facts are in an index that is made for it, a step each. These do not
        count for what the query may look at: others may share the index."""
        reading = self._reading
        if reading is None:
            return True
        if reading.steps + facts > reading.at_once:
            return False
        reading.at_once -= facts
        reading.allowed = min(reading.allowed, reading.at_once)
        return True

    def abandon(self) -> None:
        """Nobody waits any more for the query that is being entered: it is left at the next steps that are counted. May be called
        by another thread. Where that comes between two instructions that look at the limit, it is left at the look after it."""
        reading = self._reading
        if reading is not None:
            reading.at_once = -1
            reading.allowed = -1
