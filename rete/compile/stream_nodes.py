"""What a builder makes of streams whatever the tree says: columns, tests, distinct tokens, pairs, branches of what is asked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from itertools import compress, product
from typing import Any

from ..chain import Estimate, JoinSpec
from ..conditions import is_parameter
from ..functions import Test, unnamed
from ..operators.demand import Branch
from ..operators.distinct import Once
from ..operators.filter import Selection
from ..operators.join import Node
from ..operators.operator import Operator, places_of
from ..operators.pair_join import PairJoin
from ..operators.project import Projection
from .parameters import Parameters
from .stream import Stream, Tests, both, by_arguments, pairing_of


class StreamNodes:
    """Nodes below streams, each found where it was made before. ``made`` lists the nodes that were asked for."""

    def __init__(
        self,
        root: Node,
        join: Callable[[Node, JoinSpec], Node],
        estimate: Estimate,
        parameters: Parameters | None = None,
    ) -> None:
        self._root = Stream(root, (), frozenset())
        self._top = self._root if parameters is None else Stream(parameters, parameters.names, frozenset(parameters.names))
        self._tops = [self._root, self._top]
        """Contexts that bind nothing but parameters: what is built there is built as at the root."""
        self._join_below = join
        self._estimate = estimate
        self.made: list[Node] = []

    def _operator(self, kind: Callable[..., Operator], owner: Node, *arguments: object) -> Node:
        """The operator of a kind below a node. Functions that differ in names alone are the same: places say what they read."""

        def make() -> Operator:
            made = kind(owner, *arguments)
            made.made_with = arguments
            return made

        return self._shared(owner, (kind, *map(_unnamed, arguments)), make)

    def _shared(self, owner: Node, key: Hashable, make: Callable[[], Operator]) -> Node:
        node = owner.shared.get(key)
        if node is None:
            node = made = make()
            made.key, owner.shared[key] = key, made
        self.made.append(node)
        return node

    def _filtered(self, stream: Stream, tests: Iterable[Test]) -> Stream:
        for test in tests:
            stream = Stream(self._test(stream, test), stream.layout, stream.certain)
        return stream

    def _test(self, stream: Stream, test: Test) -> Node:
        places = places_of(test.names, stream.layout)
        return self._operator(Selection, stream.node, test, places)

    def _paired(self, left: Stream, right: Stream, tests: Tests = ()) -> Stream:
        """``tests`` are those right below."""
        layout = both(left, right)
        pairing = pairing_of(left, right)
        able = by_arguments(tests, layout, len(pairing.new))
        node = self._operator(PairJoin, left.node, right.node, replace(pairing, tests=able))
        return Stream(node, layout, left.certain | right.certain)

    def _columns(self, stream: Stream, names: Iterable[str]) -> Stream:
        layout = tuple(names)
        if layout == stream.layout:
            return stream
        places = places_of(layout, stream.layout)
        node = self._operator(Projection, stream.node, places)
        return Stream(node, layout, stream.certain & frozenset(layout))

    def _once(self, stream: Stream) -> Stream:
        return Stream(self._operator(Once, stream.node), stream.layout, stream.certain)

    def _narrow(self, context: Stream, names: Iterable[str]) -> Stream:
        """The columns of the context that have these names, each combination once; the root where there is none."""
        wanted = set(names)
        kept = tuple(name for name in context.layout if name in wanted)
        if not kept:
            return self._root
        narrow = context if kept == context.layout else self._once(self._columns(context, kept))
        if all(map(is_parameter, kept)) and not self._is_top(narrow):
            # With the constants in place it would be the root.
            narrow = Stream(narrow.node, narrow.layout, narrow.certain)
            self._tops.append(narrow)
        return narrow

    def _is_top(self, context: Stream) -> bool:
        return any(context is top for top in self._tops)

    def _back(self, context: Stream, narrow: Stream, found: Stream, tests: Tests = ()) -> Stream:
        """What was built below part of a context, below all of it, with the tests that are made there."""
        return self._filtered(found if narrow is context else self._paired(context, found, tests), tests)

    def _branches_of(self, stream: Stream, sure: tuple[str, ...], unsure: tuple[str, ...]) -> Iterator[tuple[Branch[Any], Stream]]:
        """A branch for each set of the ``unsure`` names that a token may bind, each with where its network begins."""
        for bound in product((True, False), repeat=len(unsure)):
            names = (*sure, *compress(unsure, bound))
            branch: Branch[Any] = Branch(stream.node, bound, tuple(map(stream.place, names)))  # Any: what is noted of a demand
            yield branch, Stream(branch.demand, names, frozenset(names))


def _unnamed(argument: object) -> object:
    """What a node is made with; of aggregates, each with its places, all."""
    if isinstance(argument, tuple):
        return tuple(map(_unnamed, argument))
    return unnamed(argument) if hasattr(argument, "with_names") else argument
