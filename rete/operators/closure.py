"""Transitive closure of a stream of edges, from the sources that are asked for: each pair (source, reached) once.

What a source reaches is kept, and beside it which sources reach a node. An edge that comes concerns the sources that reach its
start and not yet its end: they are extended by walking from there. An edge that goes concerns the sources that reach its start,
and none of them if its end is reached from its start on another way (as on a cycle's chord); else each of them walks again over
all that it reaches.

Tokens may begin with a graph: then walks are within a graph, and what is said here of a node is said of a graph and a node.

So an insertion costs what it adds, times the number of edges of those nodes; a retraction at worst the edges reached by each
source that reached the lost edge. Memory is the size of the closure from the sources asked for. Not promised: better than that for
retractions in large strongly connected graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..bag import FEW
from ..index import Token
from .join import Node
from .operator import Operator, RightPort, add_weight, entries
from .pair_join import enter


class Reach(Operator):
    """Tokens (source,) at the first input, (start, end) at the second; gives (source, reached) for one or more edges.

    ``by_graph``: each token begins with a graph.
    """

    __slots__ = ("_by_graph", "_edges", "_reached", "_reached_by", "_sources")

    def __init__(self, sources: Node, edges: Node, by_graph: bool = False) -> None:
        super().__init__(sources, edges)
        self._by_graph = by_graph
        self._edges: dict[Any, dict[Token, int]] = {}  # Any: opaque constants, here and below
        self._sources: dict[Token, int] = {}
        self._reached: dict[Any, set[Any]] = {}
        self._reached_by: dict[Any, set[Any]] = {}
        self.connect((sources, self), (edges, RightPort(self, self.edge)))

    def left(self, token: Token, weight: int) -> None:
        after = add_weight(self._sources, token, weight)
        self.count_tokens(entries(after, weight))
        source: Any = token if self._by_graph else token[0]  # Any: a node, or a graph and a node
        if after > 0 >= after - weight:
            self._reached[source] = set()
            self._gain(source, self._walk(source))
        elif after <= 0 < after - weight:
            self._lose(source, self._reached[source])
            del self._reached[source]

    def edge(self, token: Token, weight: int) -> None:
        """An edge comes or goes at the second input."""
        if self._by_graph:
            graph, one, other = token
            token = (graph, one), (graph, other)
        start, end = token
        before = self._edges.get(start, {}).get(token, 0)
        self.count_tokens(enter(self._edges, start, token, weight))
        after = before + weight
        if after > 0 >= before:
            for source in self._concerned(start):
                reached = self._reached[source]
                if end not in reached:
                    self._gain(source, self._walk(end, reached) | {end})
        elif after <= 0 < before:
            concerned = self._concerned(start)
            if concerned and end not in self._walk(start):
                for source in concerned:
                    self._lose(source, self._reached[source] - self._walk(source))

    def _concerned(self, start: Any) -> list[Any]:
        sources = list(self._reached_by.get(start, ()))
        if len(sources) > FEW:
            self.count_steps(len(sources))
        if start in self._reached and start not in self._reached[start]:
            sources.append(start)
        return sources

    def _walk(self, start: Any, known: frozenset[Any] | set[Any] = frozenset()) -> set[Any]:
        """What one or more edges lead to from ``start``, going through no node that is known."""
        found: set[Any] = set()
        waiting = [start]
        while waiting:
            edges = self._edges.get(waiting.pop())
            if edges is None:
                continue
            self.count_steps(len(edges))
            for (_, end), count in edges.items():
                if count > 0 and end not in found and end not in known:
                    found.add(end)
                    waiting.append(end)
        return found

    def _gain(self, source: Any, nodes: set[Any]) -> None:
        self._reached[source] |= nodes
        self.count_tokens(len(nodes))
        for node in nodes:
            self._reached_by.setdefault(node, set()).add(source)
        for node in nodes:
            self.emit(self._pair(source, node), 1)

    def _lose(self, source: Any, nodes: set[Any]) -> None:
        self._reached[source] = self._reached[source] - nodes
        self.held -= len(nodes)
        for node in nodes:
            sources = self._reached_by[node]
            sources.remove(source)
            if not sources:
                del self._reached_by[node]
        for node in nodes:
            self.emit(self._pair(source, node), -1)

    def _pair(self, source: Any, node: Any) -> Token:  # Any: as above
        return (*source, node[1]) if self._by_graph else (source, node)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for source, reached in self._reached.items():
            for node in reached:
                yield self._pair(source, node), 1
