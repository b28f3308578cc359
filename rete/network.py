"""The Rete network: standing queries in, facts in, signed rows out.

What happens to one fact, in three stages:

1. the alpha network names the alpha memories whose templates it matches (:mod:`rete.alpha`);
2. every index of those memories is updated, then the joins that wait for the fact's key are activated, deepest level first, and
   tokens run down through joins and other operators (:mod:`rete.activation`, :mod:`rete.operators.join`,
   :mod:`rete.operators.operator`);
3. productions that were reached hand the net difference of the whole transaction to their listeners (:mod:`rete.production`).

The network does not store facts: whoever owns it does, and is asked by ``facts_of`` when a late query needs those that match a
template. The owner also sees to it that a fact enters once: facts are a set.

Events come by :meth:`Network.notify`. A condition with a window keeps those that it matches as if they were facts, until they
expire; time is handed in.

Does not promise: any order of rows within one transaction. Not safe for threads; a listener may call back in (its changes are
processed after the ones under way).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

from .activation import activate
from .algebra import Algebra, of_group
from .alpha import AlphaMemories, AlphaMemory, WindowMemory
from .chain import Estimate, check_group
from .compile.build import Builder
from .compile.parameters import Instance, Parameters
from .compile.scope import parameters
from .compile.sharing import can_share, fixed_parameters
from .compile.substitution import bound, conditions_of
from .compile.wiring import FactsOf, Wiring
from .conditions import AlphaSpec, Group, Parameter, is_parameter
from .errors import BadQuery, TooManyTokens
from .index import Fact, Token
from .last_condition import rows_of_last_conditions
from .operators.join import UNLIMITED, Node, Root
from .operators.operator import places_of
from .production import ChainEnd, Collector, Listener, Production, Row
from .token_cap import TokenCaps, nodes_above

OnEnd: TypeAlias = Callable[[Production, TooManyTokens], None]


class Network:
    """Standing queries over facts, kept right through every insertion and retraction.

    ``facts_of(alpha)`` must give the facts present that match the template of an alpha memory (the network makes the tests itself,
    where that was not done); ``estimate(alpha)`` may tell how many they are. Neither is asked for a memory of events.
    ``by_feed`` says that facts come by :meth:`change_memory` alone, those of a template with parameters under each of the templates
    that it is when constants are put back; ``facts_of`` of such a template are those that came so.
    ``on_end`` hears, after its transaction, of a query that was taken away because it would hold too much.
    One that ``is_hollow`` shows which nodes and memories a query has, and evaluates nothing, not even inline data.
    """

    def __init__(
        self,
        facts_of: FactsOf,
        estimate: Estimate = lambda _: 0,
        *,
        by_feed: bool = False,
        on_end: OnEnd = lambda production, why: None,
        is_hollow: bool = False,
    ) -> None:
        self._estimate = estimate
        self._caps = TokenCaps(is_hollow=is_hollow)
        self._owing, self._steps = self._caps.owing, self._caps.effort.by_node
        self._on_end = on_end
        self._root = Root(self._caps)
        self._memories = AlphaMemories(by_feed=by_feed)
        self._wiring = Wiring(self._memories, self._caps, facts_of)
        self.join = self._wiring.join
        self._templates: dict[Hashable, Parameters] = {}
        self._dirty: list[Collector] = []
        """What was reached by the transaction under way; emptied at its end."""
        self._untold: deque[tuple[Production, list[tuple[Row, int]]]] = deque()
        """What listeners are still to hear, oldest first. Emptied before the outermost transaction returns; at most one entry per
        production for each transaction that listeners made meanwhile."""
        self._telling = False
        self.expiries: list[tuple[float, int, WindowMemory]] = []
        """A heap, empty where :meth:`expire` has nothing to do: when the oldest event of each window of time leaves. One entry for
        each that has an event."""
        self._numbers = count()
        self.cut_short: Counter[AlphaSpec] = Counter()
        """By window: events that had to leave it early, because it held MAX_WINDOW_EVENTS or MAX_WINDOW_BYTES."""
        self._ended: deque[tuple[Production, TooManyTokens]] = deque()
        """Queries that were taken away, of which the owner is still to hear; bounded like those told."""

    def subscribe(
        self,
        query: Group | Algebra,
        select: Sequence[str],
        listener: Listener,
        *,
        max_tokens: int = UNLIMITED,
        at_once: int = UNLIMITED,
    ) -> ChainEnd:
        """Add a query; what is there already counts at once (see :meth:`Production.rows`), the listener hears of changes.

        A selected name that a tree of operators never binds is None in every row; of a group a condition has to bind it. Raises
        BadQuery for a query that cannot be built; TooManyTokens for one that would hold more than ``max_tokens``, rows of its
        answer included; TakesLong where it takes more than ``at_once`` steps (:mod:`rete.effort`), some half a microsecond each.
        Nothing of it is left then.
        """
        tree = _tree_of(query, select)
        builder = Builder(self._root, self.join, self._estimate)
        with self._caps.entered(max_tokens, at_once):
            try:
                stream = builder.tree(tree)
                production = ChainEnd(stream.node, places_of(select, stream.layout), listener, self._dirty)
                stream.node.add_child(production)
                self._admit(production, max_tokens)
            finally:
                self._tidy(builder)
        return production

    subscribe_algebra = subscribe
    """By the name that it has for a tree of operators."""

    def abandon(self) -> None:
        """Leave the query that another thread is entering, soon: there it raises TakesLong. Meanwhile nothing else may be asked."""
        self._caps.effort.abandon()

    def _admit(self, production: ChainEnd, max_tokens: int) -> None:
        """The last step of entering a query: it stays, or raises TooManyTokens and leaves nothing behind."""
        problem = self._caps.admit(production, max_tokens)
        if problem is not None:
            self._take_out(production)
            raise problem

    def _tidy(self, builder: Builder) -> None:
        """Take away what was made and is of no use in the end: all of it, after an error."""
        for node in reversed(builder.made):
            if self._caps.failed is not None:
                self._caps.mute(node)
            self._wiring.prune(node)

    def subscribe_template(
        self,
        tree: Group | Algebra,
        arguments: Token,
        select: Sequence[str],
        listener: Listener,
        *,
        max_tokens: int = UNLIMITED,
    ) -> tuple[Production, list[tuple[Row, int]]]:
        """Add a query that is a template with these constants in the places of its :class:`rete.Parameter` 0, 1, and so on; returns
        it and the rows that hold already.

        Queries that are equal but for their arguments share one network (:mod:`rete.compile.parameters`).
        Raises BadQuery and TooManyTokens like the others, BadQuery when a parameter has no argument.
        """
        key = (tree, tuple(select), len(arguments))
        template = self._templates.get(key)
        if template is None:
            template = self._template(key, tree, arguments, select)
            self._templates[key] = template
        instance = Instance(template, arguments, listener)
        instance.limit = instance.max_tokens = max_tokens
        if max_tokens < template.least:
            template.least = max_tokens
            for node in nodes_above(template.end):
                node.limit = min(node.limit, max_tokens)
        rows = template.add_query(instance)
        problem = self._caps.over.pop(instance, None)
        if problem is not None:
            instance.ended = True
            self._drop(instance)
            raise problem
        return instance, rows

    def has_template(self, tree: Group | Algebra, arguments: Token, select: Sequence[str]) -> bool:
        """Whether some query like :meth:`subscribe_template` would add is there."""
        return (tree, tuple(select), len(arguments)) in self._templates

    def count_queries(self, tree: Group | Algebra, arguments: Token, select: Sequence[str]) -> int:
        """How many queries there are like :meth:`subscribe_template` would add, of any arguments."""
        template = self._templates.get((tree, tuple(select), len(arguments)))
        return 0 if template is None else template.count_queries()

    def fixed_parameters(self, tree: Group | Algebra, arguments: Token) -> frozenset[int]:
        """The numbers of a template's parameters that are to be constants here (:mod:`rete.compile.sharing`)."""
        return fixed_parameters(tree, arguments, by_feed=self._memories.by_feed)

    def _template(self, key: Hashable, tree: Group | Algebra, arguments: Token, select: Sequence[str]) -> Parameters:
        width = len(arguments)
        names = tuple(Parameter(number).name for number in range(width))
        missing = parameters(of_group(tree)).difference(names)
        if missing:
            raise BadQuery(f"a template has {min(missing)}, but there are {width} arguments, counted from $0")
        if not can_share(tree):
            raise BadQuery("a window on a condition with parameters holds events of all queries; expected each query by itself")
        pairs = zip(conditions_of(tree), conditions_of(bound(tree, arguments)), strict=True)
        closed = {condition.template: filled.template for condition, filled in pairs}

        def estimate(alpha: AlphaSpec) -> int:
            # The first query's constants speak for all: a parameter is bound when its condition is looked at.
            return self._estimate(AlphaSpec(closed.get(alpha.template, alpha.template), alpha.tests, alpha.window))

        template = Parameters(key, names, self._dirty, self._caps)
        builder = Builder(self._root, partial(self.join, for_many=True), estimate, template)
        try:
            stream = builder.tree(_tree_of(tree, select))
            template.finish(stream.node, places_of(select, stream.layout))
        finally:
            self._tidy(builder)
        return template

    def _remove(self, template: Parameters) -> None:
        del self._templates[template.key]
        assert template.dispatch is not None, "its network was built"
        template.end.remove_child(template.dispatch)
        self._wiring.prune(template.end)
        # Its table had a place for every query at a time; it refers to itself, and would wait for the cyclic garbage collector.
        template.collectors.clear()

    def unsubscribe(self, production: Production) -> None:
        """Remove a query with every node, index and memory that nobody else shares. One that has ended is gone already."""
        if production.ended:
            return
        if self._untold:
            self._untold = deque(entry for entry in self._untold if entry[0] is not production)
        self._take_out(production)

    def _take_out(self, production: Production) -> None:
        production.ended = True
        if isinstance(production, Instance):
            self._drop(production)
        elif isinstance(production, ChainEnd):
            production.node.remove_child(production)
            self._wiring.prune(production.node)

    def _drop(self, instance: Instance) -> None:
        template = instance.template
        template.remove_query(instance)
        if template.is_unused:
            self._remove(template)

    def change(self, changes: Iterable[tuple[Fact, int]]) -> None:
        """Facts come (+1) or go (-1), as one transaction: listeners hear the net difference at its end."""
        matching, is_reached = self._memories.matching, False
        for fact, sign in changes:
            memories = matching(fact)
            if memories:
                is_reached = True
                activate(memories, fact, sign)
                if self._caps.over:
                    self._end_muted()
        if is_reached or self._steps or self._caps.over:
            # The latter are left by a query that came or went.
            self._settle()

    def change_memory(self, alpha: AlphaSpec, changes: Iterable[tuple[Fact, int]]) -> None:
        """Like :meth:`change`, for facts of one alpha memory: where memories live at other peers, each is fed on its own."""
        memories = self._memories.fed_by(alpha)
        if not memories:
            return
        for fact, sign in changes:
            self._activate(memories, fact, sign)
        self._settle()

    def is_fed(self, alpha: AlphaSpec) -> bool:
        """Whether :meth:`change_memory` concerns anybody."""
        return bool(self._memories.fed_by(alpha))

    def notify(self, event: Fact, now: float) -> list[tuple[Production, list[tuple[Row, int]]]]:
        """An event: it enters the windows that ask for it, and joins with the facts of this moment without a trace.

        What it changes as a member of windows, listeners hear as of facts. Returns the rows that hold with it and not without it in
        the conditions that have no window, per query; listeners are not told of those. ``now`` are seconds on the clock of
        :meth:`expire`, which is done first.
        """
        if self.expiries:
            self.expire(now)
        if self._memories.has_windows and (memories := self._memories.windows(event)):
            only = [memory.enter(event, now) for memory in memories]
            self._activate(memories, event, 1)
            for memory, is_only in zip(memories, only, strict=True):
                while memory.is_over_full:
                    if memory.is_cut_short:
                        self.cut_short[memory.spec] += 1
                    self._activate([memory], memory.leave(), -1)
                if is_only and (expires := memory.expires) is not None:
                    heappush(self.expiries, (expires, next(self._numbers), memory))
            self._settle()
        return self.flash(event)

    def expire(self, now: float) -> None:
        """Take out of the windows of time what is too old, as one transaction."""
        expiries = self.expiries
        while expiries and expiries[0][0] <= now:
            _, _, memory = heappop(expiries)
            while (expires := memory.expires) is not None and expires <= now:
                self._activate([memory], memory.leave(), -1)
            if expires is not None:
                heappush(expiries, (expires, next(self._numbers), memory))
        self._settle()

    @property
    def has_windows(self) -> bool:
        """Whether a query has a window, or an event that was in one is still to leave it."""
        return self._memories.has_windows or bool(self.expiries)

    def next_expiry(self) -> float | None:
        """When :meth:`expire` should be called next; None while no window of time has an event. It may be found that nothing has
        to be done then: windows that nobody asks for any more are forgotten at their time."""
        return self.expiries[0][0] if self.expiries else None

    def flash(self, event: Fact) -> list[tuple[Production, list[tuple[Row, int]]]]:
        """The half of :meth:`notify` that leaves no trace: what conditions without window make of an event."""
        if not (memories := self._memories.matching(event)):
            return []
        if (rows := rows_of_last_conditions(memories, event)) is not None:
            return rows
        self._activate(memories, event, 1)
        self._tell_groups()
        appeared = list(self._taken())
        self._activate(memories, event, -1)
        self._tell_groups()
        for _ in self._taken():
            pass
        self._settle()
        positive = ((production, [change for change in changes if change[1] > 0]) for production, changes in appeared)
        return [(production, rows) for production, rows in positive if rows]

    def begin(self, production: Production, rows: list[tuple[Row, int]]) -> None:
        """Tell a query that was just added what holds already; it hears of what its listener changes meanwhile after that."""
        if self._telling:
            production.listener(rows)
        else:
            self._untold.append((production, rows))
            self._tell()

    def alphas(self) -> list[AlphaSpec]:
        """The definitions of the alpha memories in use."""
        return [memory.spec for memory in self._memories]

    def tops(self) -> list[Node]:
        """Where its queries begin: the root, and the arguments of each template."""
        return [self._root, *self._templates.values()]

    def memories(self) -> list[AlphaMemory]:
        """The alpha memories in use."""
        return list(self._memories)

    @property
    def is_empty(self) -> bool:
        """Whether no node and no alpha memory is left: so it must be when the last query has gone."""
        return not self._root.children and not self._root.shared and not self._templates and not len(self._memories)

    def _activate(self, memories: Sequence[AlphaMemory], fact: Fact, sign: int) -> None:
        activate(memories, fact, sign)
        if self._caps.over:
            self._end_muted()

    def _tell_groups(self) -> None:
        self._caps.tell_groups()
        if self._caps.over:
            self._end_muted()

    def _end_muted(self) -> None:
        """Take away the queries that turned out too large and are muted. Those of templates go when rows have been told."""
        for production, problem in list(self._caps.over.items()):
            if isinstance(production, ChainEnd):
                del self._caps.over[production]
                self._take_out(production)
                self._ended.append((production, problem))

    def _settle(self) -> None:
        """The end of a transaction."""
        if self._owing:
            self._tell_groups()
        if self._steps:
            self._caps.effort.end_transaction()
        if self._dirty or self._ended or self._caps.over:
            self._deliver()

    def _deliver(self) -> None:
        # All are taken before the first listener runs: one that calls back in must not mix its changes with those under way.
        self._untold.extend(self._taken())
        if self._caps.over:
            self._end_instances()
        if not self._telling:
            self._tell()

    def _tell(self) -> None:
        """Until there is nothing more to tell, what listeners cause meanwhile included."""
        self._telling = True
        try:
            while self._untold or self._ended:
                if self._ended:
                    self._on_end(*self._ended.popleft())
                    continue
                production, changes = self._untold.popleft()
                production.listener(changes)
        finally:
            self._telling = False

    def _end_instances(self) -> None:
        over, self._caps.over = self._caps.over, {}
        for production, problem in over.items():
            self.unsubscribe(production)
            self._ended.append((production, problem))

    def _taken(self) -> Iterator[tuple[Production, list[tuple[Row, int]]]]:
        """The queries that were reached, each with the net difference of its rows."""
        for collector in self._dirty:
            changes = collector.take()
            if changes:
                for production in collector.audience():
                    yield production, changes
        self._dirty.clear()


def _tree_of(query: Group | Algebra, select: Sequence[str]) -> Algebra:
    """A query as a tree. Raises BadQuery for a group that cannot be, or whose conditions do not bind what is selected."""
    if isinstance(query, Group):
        check_group(query)
        binds = [name for name in query.variables() if not is_parameter(name)]
        missing = [name for name in select if name not in binds]
        if missing:
            bound = ", ".join(f"?{name}" for name in binds) or "none"
            raise BadQuery(f"?{missing[0]} is selected but no condition outside NOT binds it; bound are: {bound}")
    return of_group(query)
