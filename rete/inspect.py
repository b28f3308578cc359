"""What a network looks like from outside: the nodes of a query, what they hold, and the whole as a graph.

Views only: nothing here changes a network, and nothing of it is on the way of a fact. Memory is accounted per query: nodes that
several queries share are charged to each of them in full, and beside that stands what is its own, which ending it would give
back. Queries of one template share one network (:mod:`rete.compile.parameters`); the own part of each is an equal share of it.

Bytes are estimates: entries of dicts at their usual filling, tuples of references, no constants and no facts, which belong to the
owner of the network.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from .alpha import WindowMemory
from .compile.parameters import Dispatch, Instance
from .index import Index
from .network import Network
from .operators.demand import Demand
from .operators.join import Join, Node
from .production import ChainEnd, Production
from .token_cap import ends_below, nodes_above

if TYPE_CHECKING:
    import networkx

ENTRY_BYTES = 104
"""A dict's entry with its share of the table, at the usual filling."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a query holds in its network."""

    rows: int
    """Of its answer; they are told, not kept."""
    tokens: int
    bytes: int
    own_tokens: int
    """Of nodes that no other query shares."""
    own_bytes: int
    queries: int = 1
    """How many queries share the network as one template, this one included."""


End: TypeAlias = ChainEnd | Dispatch


def end_of(production: Production) -> End:
    """The end of a query's network, by which a graph knows it: of queries of one template it is the same."""
    end = production.template.dispatch if isinstance(production, Instance) else production
    assert isinstance(end, ChainEnd | Dispatch), "its network was built"
    return end


def nodes_of(production: Production) -> list[Node]:
    """The nodes that a query uses, from the top down, those of the groups that its negations ask included."""
    return sorted(nodes_above(end_of(production).node), key=lambda node: node.level)


def held_by(production: Production) -> Held:
    """What a query holds."""
    nodes = nodes_of(production)
    if isinstance(production, Instance):
        template = production.template
        queries = template.count_queries()
        tokens, size = _sum(nodes)
        rows = template.collectors[production.arguments].count
        return Held(rows, tokens, size, tokens // queries, size // queries, queries)
    own = [node for node in nodes if len(list(islice(ends_below(node), 2))) == 1]
    tokens, size = _sum(nodes)
    own_tokens, own_size = _sum(own, alone=True)
    return Held(production.count, tokens, size, own_tokens, own_size)


def _sum(nodes: Iterable[Node], *, alone: bool = False) -> tuple[int, int]:
    """Tokens and bytes of nodes, with the indexes of their joins; ``alone``: only of indexes that no other join uses."""
    tokens = size = 0
    indexes: dict[Index, int] = {}
    for node in nodes:
        tokens += node.held
        size += bytes_of(node)
        if isinstance(node, Join):
            indexes[node.index] = indexes.get(node.index, 0) + 1
    return tokens, size + sum(index_bytes(index) for index, joins in indexes.items() if not alone or joins == index.joins)


def bytes_of(node: Node) -> int:
    """About how much a node's tokens take."""
    if not node.held:
        return 0
    source = node.parents()[0] if node.parents() else node
    token, _ = next(iter(source.replay()), ((), 0))
    return node.held * (ENTRY_BYTES + sys.getsizeof(token))


def index_bytes(index: Index) -> int:
    """About how much an index takes, without the facts themselves."""
    some = list(islice(index.rows.values(), 32))
    bags = sum(0 if isinstance(bag, tuple) else sys.getsizeof(bag) for bag in some)
    return sys.getsizeof(index.rows) + (bags * len(index.rows) // len(some) if some else 0)


def facts_in(index: Index) -> int:
    """How many facts an index holds, each as often as it counts."""
    return sum(1 if isinstance(bag, tuple) else len(bag) for bag in index.rows.values())


def has_more_nodes(productions: Iterable[Production], most: int) -> bool:
    """Whether the network of some queries has more nodes than that, found without looking at all of them."""
    nodes: set[Node] = set()
    for end in dict.fromkeys(map(end_of, productions)):
        for node in nodes_above(end.node):
            nodes.add(node)
            if len(nodes) > most:
                return True
    return False


def graph(network: Network | Sequence[Network], productions: Iterable[Production] | None = None) -> networkx.DiGraph:
    """The network as a graph, or the part of it that some queries use; also several networks.

    Each node is a number, with these attributes: ``kind`` (the class of the node, ``AlphaMemory`` or ``Query``), ``node`` (it),
    ``level``, ``tokens`` and ``bytes``; an alpha memory has ``alpha`` (its definition), ``facts`` and ``indexes``; a query has
    ``rows``, ``queries`` (more than one for a template) and ``end`` (the :func:`end_of` each of them). Edges have a ``kind``:
    ``tokens`` from node to node, ``facts`` from an alpha memory to its joins, ``asks`` from a negation to the network that it asks,
    ``rows`` to the end of a query.
    """
    import networkx

    networks = (network,) if isinstance(network, Network) else network
    if productions is None:
        ends = dict.fromkeys(end for one in networks for top in one.tops() for end in ends_below(top))
    else:
        ends = dict.fromkeys(map(end_of, productions))
    nodes = {node: None for end in ends for node in nodes_above(end.node)}
    made = networkx.DiGraph()
    numbers: dict[object, int] = {}

    def number(thing: object) -> int:
        return numbers.setdefault(thing, len(numbers))

    for node in sorted(nodes, key=lambda node: node.level):
        attributes = {"kind": type(node).__name__, "node": node, "level": node.level, "tokens": node.held, "bytes": bytes_of(node)}
        if isinstance(node, Demand):
            attributes["tokens"] = len(node.asked)
        made.add_node(number(node), **attributes)
    for node in nodes:
        for parent in node.parents():
            made.add_edge(number(parent), number(node), kind="tokens")
        for top in node.asks():
            if top in nodes:
                made.add_edge(number(node), number(top), kind="asks")
    joins_of: dict[Index, list[Join]] = {}
    for node in nodes:
        if isinstance(node, Join):
            joins_of.setdefault(node.index, []).append(node)
    for memory in (memory for one in networks for memory in one.memories()):
        joins = [join for index in memory.indexes.values() for join in joins_of.get(index, ())]
        if joins:
            indexes = list(memory.indexes.values())
            made.add_node(
                number(memory),
                kind="AlphaMemory",
                alpha=memory.spec,
                level=-1,
                facts=len(memory.events) if isinstance(memory, WindowMemory) else max(map(facts_in, indexes)),
                indexes=len(indexes),
                tokens=0,
                bytes=sum(map(index_bytes, indexes)),
            )
            for join in joins:
                made.add_edge(number(memory), number(join), kind="facts")
    for end in ends:
        made.add_node(number(end), kind="Query", level=end.node.level + 1, tokens=0, bytes=0, end=end, **_query(end))
        made.add_edge(number(end.node), number(end), kind="rows")
    return made


def _query(end: End) -> dict[str, object]:
    if isinstance(end, ChainEnd):
        return {"rows": end.count, "queries": 1}
    rows = sum(collector.count for collector in end.template.collectors.values())
    return {"rows": rows, "queries": end.template.count_queries()}
