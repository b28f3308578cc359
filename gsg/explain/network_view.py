"""A Rete network as data, for people: what each node is and does, what it holds, and how nodes are joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

import rete
from rete import algebra
from rete.inspect import end_of, has_more_nodes, nodes_of
from rete.operators.join import Join, Node, Root
from rete.operators.operator import Operator

from ..errors import LocalError
from ..languages.notation import NODES, alpha_text, is_negated, naming, node_detail, written_as
from ..tuples.escaping import one_line
from ..tuples.terms import n3

if TYPE_CHECKING:
    import networkx

MAX_NODES = 400
"""Nodes that one view has; a network with more is refused, since nobody could read it."""
MAX_TEXT = 1_000
"""Characters of the text of one node; the rest is cut off, which a … says."""
MAX_NUMBERS = 6
"""Subscriptions of one template whose numbers are said."""


class NetworkNode(msgspec.Struct, frozen=True):
    """An alpha memory, a node of the beta network, or the end of one or several queries."""

    id: int
    kind: str
    """The class of the node (:mod:`rete.operators`), ``AlphaMemory`` or ``Query``."""
    title: str
    """What it is called."""
    text: str
    """What it does, in the notation of GSG script: the pattern of an alpha memory, the text of a subscription; MAX_TEXT characters
    of it at most."""
    level: int
    """How far it is from the beginning; -1 for alpha memories."""
    count: int | None
    """How much it holds; None for a node that keeps nothing."""
    unit: str
    """Of what: ``tuple``, ``token`` or ``row``."""
    bytes: int
    """About how much that takes."""
    subscriptions: tuple[int, ...] = ()
    """The numbers of those that end here, MAX_NUMBERS at most."""
    query: str = ""
    """Of an alpha memory, in GSG script: what matches its pattern, whatever its tests say."""


class NetworkEdge(msgspec.Struct, frozen=True):
    """From one node to another; ``kind`` as of :func:`rete.inspect.graph`."""

    source: int
    target: int
    kind: str


class NetworkView(msgspec.Struct, frozen=True):
    """The network of some subscriptions as it is now. A node has the same id in the next view while the same queries use it."""

    nodes: tuple[NetworkNode, ...]
    edges: tuple[NetworkEdge, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A subscription whose network is shown: by what number and text it is known, and the tree that its nodes are named by."""

    production: rete.Production
    number: int | None
    """None for one that nobody has subscribed to."""
    text: str
    tree: algebra.Algebra


def check_can_be_shown(productions: Iterable[rete.Production]) -> None:
    """Raises LocalError for queries whose network has more than MAX_NODES, before a graph is made of it."""
    if has_more_nodes(productions, MAX_NODES):
        raise _too_large()


def _too_large() -> LocalError:
    return LocalError(f"the network has more nodes than a picture shows, {MAX_NODES}; name a subscription, or a query")


def view_of(graph: networkx.DiGraph, shown: Iterable[Shown] = ()) -> NetworkView:
    """The view of a graph of :func:`rete.inspect.graph`; ``shown``: whose it is, where that is known. Raises LocalError for one too
    large."""
    if len(graph) > MAX_NODES:
        raise _too_large()
    # Names that the languages make up may be the same in several queries, and mean something else: each node has those of its own.
    trees: dict[Node, algebra.Algebra] = {}
    ends: dict[object, list[Shown]] = {}
    known = list(shown)
    for one in known:
        ends.setdefault(end_of(one.production), []).append(one)
        for node in nodes_of(one.production):
            trees.setdefault(node, one.tree)
    alike: dict[int, tuple[algebra.Algebra | None, list[int]]] = {}
    for number, node in graph.nodes(data="node"):
        # An alpha memory is shared: it has the names of a query that is shown alone.
        tree = trees.get(node, known[0].tree if len(known) == 1 else None)
        alike.setdefault(id(tree), (tree, []))[1].append(number)
    made: dict[int, NetworkNode] = {}
    for tree, numbers in alike.values():
        with nullcontext() if tree is None else _named_by(tree):
            for number in numbers:
                data = graph.nodes[number]
                made[number] = _node(number, data, ends.get(data.get("end"), ()))
    nodes = [made[number] for number in graph]
    return NetworkView(tuple(nodes), tuple(NetworkEdge(one, other, kind) for one, other, kind in graph.edges(data="kind")))


@contextmanager
def _named_by(tree: algebra.Algebra) -> Iterator[None]:
    with naming(tree), written_as(tree):
        yield


def _node(number: int, data: dict[str, Any], shown: Sequence[Shown]) -> NetworkNode:  # Any: a graph's attributes
    kind, count, query = data["kind"], None, ""
    numbers = tuple(one.number for one in shown[:MAX_NUMBERS] if one.number is not None)
    if kind == "AlphaMemory":
        title, text, count, unit = "alpha memory", alpha_text(data["alpha"]), data["facts"], "tuple"
        query = _pattern(data["alpha"])
    elif kind == "Query":
        queries = data["queries"]
        title, text, count, unit = "query" if queries == 1 else f"{queries:,} queries", "", data["rows"], "row"
        text = " ".join(shown[0].text.split()) if shown else ""
        if numbers:
            named = ", ".join(map(str, numbers)) + (", …" if len(shown) > MAX_NUMBERS else "")
            title = f"subscription{'' if len(shown) == 1 else 's'} {named}"
    else:
        node = data["node"]
        title = "join" if isinstance(node, Join) else NODES.get(kind, kind)
        title = "NOT" if is_negated(node) else title
        text, unit = node_detail(node), "token"
        if _keeps_tokens(node):
            count = data["tokens"]
    text = one_line(text)
    text = text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
    return NetworkNode(number, kind, title, text, data["level"], count, unit, data["bytes"], numbers, query)


def _pattern(alpha: rete.AlphaSpec) -> str:
    """Nothing for a pattern that is too long to be sent to and fro."""
    repeated = {later: place for place, later in alpha.template.same}
    items = [
        f"?v{repeated.get(place, place) + 1}" if wanted is None else n3(wanted)
        for place, wanted in enumerate(alpha.template.pattern)
    ]
    text = f"({', '.join(items)})"
    return text if len(text) <= MAX_TEXT else ""


def _keeps_tokens(node: Node) -> bool:
    """Whether a count of tokens says something: a node that passes them on keeps none."""
    return node.remembers if isinstance(node, Operator) else not isinstance(node, Root)
