"""How much a query may hold: a cap on its tokens, beyond which the query ends alone.

Every node that keeps tokens counts them (``held``) and compares with its ``limit``, which is all that this costs while nothing is
wrong. At the limit the caps add up what each query below the node holds: the tokens of all its nodes, those shared with others
included, and the rows of its answer. A query beyond its cap is *muted*: its production, and those of its nodes that serve nobody
else, are heard by nobody and hear nothing any more, and whatever is under way in them is left there
(:class:`rete.operators.join.Stopped`), however many loops deep. So a join that explodes stops in the middle of the fact that made
it. The network takes the query away after that fact (:mod:`rete.network`). Otherwise the node gets a higher limit: a share of what
the fullest query has left. The same is done with a query that looks at too much (:mod:`rete.effort`).

A query that is being entered has no production yet: its first node that holds more than the cap is muted, and it is refused.

In the network of a template (:mod:`rete.compile.parameters`) the tokens of one query are those that begin with its arguments. They
are counted when the network as a whole holds more than one query may, and again when it has grown by a quarter: such a query may
go beyond its cap meanwhile, and it ends after the transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from heapq import heappop, heappush
from itertools import count, islice

from .compile.parameters import Dispatch, Parameters
from .effort import UNASKED, Effort, allowed
from .errors import TakesLong, TooManySteps, TooManyTokens
from .index import Fact, Index, Token
from .operators.join import MUTED, UNLIMITED, Limited, Node, Owing, Receiver, Stopped
from .operators.operator import RightPort
from .production import ChainEnd, Collector, Production

LOADED = 65_536
"""Facts that are entered in an index before it is asked again whether somebody waits for that."""


class TokenCaps:
    """The caps of one network. ``over`` holds the queries that are to end."""

    __slots__ = ("_numbers", "effort", "entering", "failed", "is_hollow", "new", "over", "owing")

    def __init__(self, *, is_hollow: bool = False) -> None:
        self.is_hollow = is_hollow
        """Whether nodes hear nothing of what is there: it matters only which there are."""
        self.new: list[Node] | None = None
        """The nodes that were made for the query that is being entered."""
        self.entering = UNLIMITED
        """The cap of the query that is being entered: the limit of each node that is made for it."""
        self.failed: TooManyTokens | None = None
        """Why the query that is being entered cannot be."""
        self.over: dict[Production, TooManyTokens] = {}
        self.owing: list[tuple[int, int, Owing]] = []
        """A heap by level: groups that have changed and are still to tell their rows. Emptied at the end of each transaction; one
        entry for each that has changed in it."""
        self._numbers = count()
        self.effort = Effort(self)

    def owe_rows(self, groups: Owing) -> None:
        """Groups have changed of which nobody was told."""
        heappush(self.owing, (groups.level, next(self._numbers), groups))

    def tell_groups(self) -> None:
        """Let all groups tell their rows: those of the least level first, as others may stand below them."""
        while self.owing:
            with suppress(Stopped):
                heappop(self.owing)[2].tell_rows()

    @contextmanager
    def entered(self, max_tokens: int, at_once: int) -> Iterator[None]:
        """While a query with this cap is built, by somebody who waits for so many steps."""
        self.entering = max_tokens
        self.new = []
        try:
            with self.effort.of_reading(max_tokens, at_once):
                yield
        finally:
            self.entering = UNLIMITED
            self.new = None
            self.failed = None
            if not any(groups.owed for _, _, groups in self.owing):
                # Those that were made have told what there was.
                self.owing.clear()

    def admit(self, production: ChainEnd, max_tokens: int) -> TooManyTokens | None:
        """Count what a query that was built holds; why it cannot stay, if it holds too much."""
        if self.is_hollow:
            return None
        if self.failed is None:
            self._reading(lambda: production.begin(max_tokens))
        if self.failed is None:
            self.judge(production, None)
            self.failed = self.over.pop(production, None)
        if self.failed is not None:
            production.limit = MUTED
            self.mute(production.node)
        return self.failed

    def mute(self, node: Node) -> None:
        """Mute a node that serves nobody any more, and those above it of which that is true then; others drop whom they told."""
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if node.limit == MUTED:
                continue
            kept = [child for child in node.children if _limit(owner_of(child)) != MUTED]
            if kept:
                node.keep_children(kept)
            else:
                node.mute()
                waiting += node.parents()

    def replay_into(self, receive: Callable[[Token, int], None], parent: Node) -> None:
        """Tell a node that is made what is there above, until the query that it is made for fails."""

        def tell() -> None:
            for token, weight in parent.replay():
                receive(token, weight)

        if self.failed is None and not self.is_hollow:
            self._reading(tell)

    def load_index(self, index: Index, facts: Iterable[Fact]) -> None:
        """Enter the facts of a memory in an index that is made, unless that takes too long for whoever waits."""
        rest = iter(facts)
        while self.failed is None and (some := list(islice(rest, LOADED))):
            if self.effort.has_time(len(some)):
                for fact in some:
                    index.enter_fact(fact)
            else:
                self.failed = TakesLong(self.effort.reading.steps + len(some), self.effort.reading.at_once, None)

    def _reading(self, read: Callable[[], None]) -> None:
        """Do what may turn out to be too much for the query that is being entered."""
        try:
            read()
        except Stopped:
            self.failed = self.failed or self.effort.reading.problem
            assert self.failed is not None, "a query stops for a reason"

    def judge_holder(self, holder: Limited) -> None:
        """Somebody holds more than its limit. Raises Stopped where all that a node serves has ended."""
        if isinstance(holder, ChainEnd):
            self.judge(holder, None)
        elif isinstance(holder, Collector):
            self._judge_rows(holder)
        elif isinstance(holder, Node):
            self._judge_node(holder)

    def _judge_node(self, node: Node) -> None:
        if node.limit == MUTED:
            raise Stopped
        ends = list(ends_below(node))
        if not ends:
            self.failed = self.failed or TooManyTokens(node.held, node.limit, node)
            node.mute()
            raise Stopped
        slacks = []
        for end in ends:
            slack = self.judge(end, node) if isinstance(end, ChainEnd) else self._judge_all(end.template)
            if slack is not None:
                slacks.append(slack)
        if _limit(node) == MUTED:
            raise Stopped
        if slacks:
            node.limit = node.held + min(slacks)

    def judge_steps(self, node: Node) -> int:
        """A node has made many steps: how many more it may make before this is asked again. Raises Stopped where all that it serves
        has ended."""
        slacks = []
        for end in ends_below(node):
            if isinstance(end, ChainEnd) and end.limit != MUTED:
                nodes = list(nodes_above(end.node))
                steps, changed = self.effort.made_by(nodes)
                may = allowed(end.max_tokens, changed + self.effort.rows_changed(end))
                if steps > may:
                    self._end(end, TooManySteps(steps, may, node))
                else:
                    slacks.append((may - steps) // (len(nodes) + 1))
        if _limit(node) == MUTED:
            raise Stopped
        return min(slacks, default=UNASKED)

    def judge(self, end: ChainEnd, at: Node | None) -> int | None:
        """What ``at`` may take more, as far as this query is concerned; None where the query has ended."""
        if end.limit == MUTED:
            return None
        nodes = list(nodes_above(end.node))
        total = end.count + sum(node.held for node in nodes)
        if total > end.max_tokens:
            self._end(end, TooManyTokens(total, end.max_tokens, at))
            return None
        # Shares add up to what is left. But a node is not asked again for less than a hundredth of the cap.
        slack = max((end.max_tokens - total) // (len(nodes) + 1), end.max_tokens >> 7)
        for node in nodes:
            if node is not at:
                node.limit = min(node.limit, node.held + slack)
        end.limit = end.count + slack
        return slack

    def _end(self, end: ChainEnd, why: TooManyTokens) -> None:
        self.over[end] = why
        end.limit = MUTED
        end.pending = None if end.pending is None else {}
        self.mute(end.node)

    def _judge_all(self, template: Parameters) -> int:
        """Like :meth:`judge`, for the queries of a template."""
        held = _by_arguments(template)
        total = sum(held.values())
        for arguments, collector in template.collectors.items():
            tokens = held[arguments] + collector.count
            for production in collector.audience():
                if tokens > production.max_tokens:
                    self.over[production] = TooManyTokens(tokens, production.max_tokens, None)
        return max(total >> 2, 1)

    def _judge_rows(self, collector: Collector) -> None:
        """A query of a template, or several of the same arguments, have more rows than before."""
        count = collector.count
        for production in collector.audience():
            if count > production.max_tokens:
                self.over[production] = TooManyTokens(count, production.max_tokens, None)
        bearing = (production.max_tokens for production in collector.audience() if production.max_tokens >= count)
        collector.limit = min(bearing, default=UNLIMITED)


def nodes_above(node: Node) -> Iterator[Node]:
    """A node and all that feed it, each once, the groups that negations ask included."""
    seen = {node}
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        for parent in node.parents():
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)


def _limit(of: Node | ChainEnd | Dispatch) -> int:
    return UNLIMITED if isinstance(of, Dispatch) else of.limit


def owner_of(receiver: Receiver) -> Node | ChainEnd | Dispatch:
    """Whom a receiver belongs to: a node that hears by its first input hears by itself."""
    if isinstance(receiver, RightPort):
        return receiver.node
    assert isinstance(receiver, Node | ChainEnd | Dispatch), "there are no other receivers"
    return receiver


def ends_below(node: Node) -> Iterator[ChainEnd | Dispatch]:
    """The ends of queries that a node serves, each once."""
    seen: set[Node | ChainEnd | Dispatch] = {node}
    waiting = [node]
    while waiting:
        for receiver in waiting.pop().children:
            child = owner_of(receiver)
            if child in seen:
                continue
            seen.add(child)
            if isinstance(child, Node):
                waiting.append(child)
            else:
                yield child


def _by_arguments(template: Parameters) -> Counter[Token]:
    """The tokens that begin with each of a template's arguments. Those that do not, below a projection or a group, are nobody's."""
    width = len(template.names)
    found: Counter[Token] = Counter()
    waiting: list[Node] = [template]
    while waiting:
        node = waiting.pop()
        below = [child for child in node.children if isinstance(child, Node) and child.keeps_columns]
        counts = Counter(token[:width] for token, _ in node.replay()) if any(child.held for child in below) else Counter()
        for child in below:
            if child.held:
                found.update(counts)
        waiting += below
    return found
