"""A network as a picture: nodes in layers by their level, alpha memories at the left beside the joins that look into them.

Nodes of a layer are put in the order of their neighbours' (the barycentre heuristic), then as close below what feeds them as there
is room. The picture is SVG without scripts or fonts of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import rete
from rete import algebra
from rete.inspect import end_of, nodes_of
from rete.operators.join import Join, Node, Root
from rete.operators.operator import Operator

from ..errors import LocalError
from ..languages.notation import NODES, alpha_text, is_negated, naming, node_detail
from ..tuples.escaping import one_line
from .explanations import number_text

if TYPE_CHECKING:
    import networkx

MAX_NODES = 400
"""Nodes that one picture shows; a network with more is refused, since nobody could read it."""
LINE_CHARACTERS = 34
LINES = 3
"""Lines of the text that says what a node does; the rest is in its tooltip."""
CHARACTER, LINE, PAD = 7.3, 16, 9
GAP_X, GAP_Y, MARGIN = 28, 46, 24
SWEEPS = 6
NAMED = 6
"""Subscriptions of one template whose numbers stand in the box of their rows."""

_COLOURS = {
    "AlphaMemory": ("#eef4fb", "#5b84b1"),
    "Query": ("#eaf6ea", "#4c9153"),
    "Root": ("#f4f4f4", "#8a8a8a"),
    "Parameters": ("#f4f4f4", "#8a8a8a"),
    "Demand": ("#f4f4f4", "#8a8a8a"),
    "Existence": ("#fdeeee", "#b45a5a"),
    "Removal": ("#fdeeee", "#b45a5a"),
    "Selection": ("#fdf7e7", "#a98a3c"),
}
_COLOUR = ("#ffffff", "#6b6b6b")
_STYLE = (
    "text{font:12px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#222}.t{font-weight:bold}.c{fill:#666}"
    "path{fill:none;stroke:#8a8a8a;stroke-width:1.2}.facts{stroke:#9db8d6}.asks{stroke-dasharray:4 3;stroke:#b45a5a}"
    "rect{stroke-width:1.3}"
)


@dataclass(slots=True)
class _Box:
    """A node as it is drawn; ``x`` and ``y`` are its upper left corner."""

    number: int
    kind: str
    title: str
    detail: str
    lines: list[str]
    count: str
    level: int
    x: float = 0.0
    y: float = 0.0
    width: float = field(init=False)
    height: float = field(init=False)

    def __post_init__(self) -> None:
        longest = max(map(len, [self.title, self.count, *self.lines]))
        self.width = longest * CHARACTER + 2 * PAD
        self.height = (1 + len(self.lines) + bool(self.count)) * LINE + 2 * PAD - 4

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Shown:
    """A subscription whose network is drawn: by what number and text it is known, and the tree that its nodes are named by."""

    production: rete.Production
    number: int
    text: str
    tree: algebra.Algebra


def draw(graph: networkx.DiGraph, *, counts: bool = True, shown: Iterable[Shown] = ()) -> str:
    """The picture of a graph of :func:`rete.inspect.graph`; ``counts``: with what each node holds; ``shown``: whose it is, where
    that is known. Raises LocalError for one too large."""
    if len(graph) > MAX_NODES:
        raise LocalError(
            f"the network has {len(graph):,} nodes, and a picture shows at most {MAX_NODES}; name a subscription, or a query"
        )
    # Names that the languages make up may be the same in several queries, and mean something else: each node has those of its own.
    trees: dict[Node, algebra.Algebra] = {}
    ends: dict[object, list[Shown]] = {}
    for one in shown:
        ends.setdefault(end_of(one.production), []).append(one)
        for node in nodes_of(one.production):
            trees.setdefault(node, one.tree)
    boxes = {}
    for number, data in graph.nodes(data=True):
        tree = trees.get(data.get("node"))
        with nullcontext() if tree is None else naming(tree):
            boxes[number] = _box(number, data, ends.get(data.get("end"), ()), counts=counts)
    memories = [box for box in boxes.values() if box.kind == "AlphaMemory"]
    levels = sorted({box.level for box in boxes.values() if box.kind != "AlphaMemory"})
    layers = [[box for box in boxes.values() if box.kind != "AlphaMemory" and box.level == level] for level in levels]
    _order(graph, layers, boxes)
    left = MARGIN + max((box.width for box in memories), default=0.0) + (3 * GAP_X if memories else 0)
    _place(graph, layers, boxes, left)
    _place_memories(graph, memories, boxes)
    width = max((box.x + box.width for box in boxes.values()), default=0.0) + MARGIN
    height = max((box.y + box.height for box in boxes.values()), default=0.0) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#8a8a8a;stroke:none"/></marker></defs>',
    ]
    parts += [_edge(boxes[one], boxes[other], kind) for one, other, kind in graph.edges(data="kind")]
    parts += [_shape(box) for box in boxes.values()]
    return "\n".join([*parts, "</svg>", ""])


def _box(number: int, data: dict[str, Any], shown: Sequence[Shown], *, counts: bool) -> _Box:  # Any: a graph's attributes
    kind = data["kind"]
    if kind == "AlphaMemory":
        title, detail, count = "alpha memory", alpha_text(data["alpha"]), number_text(data["facts"], "tuple")
    elif kind == "Query":
        queries = data["queries"]
        title, detail, count = "query" if queries == 1 else f"{queries:,} queries", "", number_text(data["rows"], "row")
        if shown:
            named = ", ".join(str(one.number) for one in shown[:NAMED]) + (", …" if len(shown) > NAMED else "")
            title, detail = f"subscription{'' if len(shown) == 1 else 's'} {named}", " ".join(shown[0].text.split())
    else:
        node = data["node"]
        title = "join" if isinstance(node, Join) else NODES.get(kind, kind)
        title = "NOT" if is_negated(node) else title
        detail, count = node_detail(node), number_text(data["tokens"], "token") if _keeps_tokens(node) else ""
    detail = one_line(detail)  # SVG is XML, which has no control characters
    return _Box(number, kind, title, detail, _wrapped(detail), count if counts else "", data["level"])


def _keeps_tokens(node: Node) -> bool:
    """Whether a count of tokens says something: a node that passes them on keeps none."""
    return node.remembers if isinstance(node, Operator) else not isinstance(node, Root)


def _wrapped(text: str) -> list[str]:
    lines: list[str] = []
    for word in text.split(" "):
        while len(word) > LINE_CHARACTERS:
            lines.append(word[:LINE_CHARACTERS])
            word = word[LINE_CHARACTERS:]
        if lines and len(lines[-1]) + len(word) < LINE_CHARACTERS:
            lines[-1] += " " + word
        else:
            lines.append(word)
    lines = [line for line in lines if line]
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], lines[LINES - 1][: LINE_CHARACTERS - 1] + "…"]


def _neighbours(graph: networkx.DiGraph, number: int, boxes: dict[int, _Box], *, above: bool) -> list[_Box]:
    found = graph.predecessors(number) if above else graph.successors(number)
    level = boxes[number].level
    return [boxes[one] for one in found if boxes[one].kind != "AlphaMemory" and (boxes[one].level < level) == above]


def _order(graph: networkx.DiGraph, layers: list[list[_Box]], boxes: dict[int, _Box]) -> None:
    """Sort each layer by the mean place of what is above, then below, a few times: fewer lines cross."""
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        places = {box.number: place for layer in layers for place, box in enumerate(layer)}
        for layer in layers if down else layers[::-1]:

            def mean(box: _Box, *, down: bool = down, places: dict[int, int] = places) -> float:
                near = [places[one.number] for one in _neighbours(graph, box.number, boxes, above=down)]
                return sum(near) / len(near) if near else places[box.number]

            layer.sort(key=mean)
            places.update({box.number: place for place, box in enumerate(layer)})


def _place(graph: networkx.DiGraph, layers: list[list[_Box]], boxes: dict[int, _Box], left: float) -> None:
    y = float(MARGIN)
    for layer in layers:
        x = left
        for box in layer:
            near = _neighbours(graph, box.number, boxes, above=True)
            wanted = sum(one.middle for one in near) / len(near) - box.width / 2 if near else x
            box.x = x = max(x, wanted)
            box.y = y
            x += box.width + GAP_X
        y += max(box.height for box in layer) + GAP_Y


def _place_memories(graph: networkx.DiGraph, memories: list[_Box], boxes: dict[int, _Box]) -> None:
    """Each at the height of the first join that looks into it, or below the one before."""
    joins = {box.number: sorted(boxes[join].y for join in graph.successors(box.number)) for box in memories}
    y = float(MARGIN)
    for box in sorted(memories, key=lambda box: joins[box.number][:1]):
        box.x = MARGIN
        box.y = y = max(y, joins[box.number][0] if joins[box.number] else y)
        y += box.height + GAP_X / 2


def _edge(one: _Box, other: _Box, kind: str) -> str:
    if kind == "facts":
        x1, y1, x2, y2 = one.x + one.width, one.y + one.height / 2, other.x, other.y + other.height / 2
        bend = max(30.0, (x2 - x1) / 2)
        path = f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    elif kind == "asks":
        x1, y1, x2, y2 = one.x + one.width, one.y + one.height / 2, other.x + other.width, other.y + other.height / 2
        side = max(x1, x2) + GAP_X
        path = f"M{x1:.1f} {y1:.1f}C{side:.1f} {y1:.1f} {side:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    else:
        x1, y1, x2, y2 = one.middle, one.y + one.height, other.middle, other.y
        bend = max(16.0, (y2 - y1) / 2)
        path = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
    return f'<path class="{kind}" d="{path}" marker-end="url(#a)"/>'


def _shape(box: _Box) -> str:
    fill, stroke = _COLOURS.get(box.kind, _COLOUR)
    radius = 12 if box.kind in ("AlphaMemory", "Query") else 4
    y = box.y + PAD + 10
    texts = []
    for style, line in [("t", box.title), *(("d", line) for line in box.lines), *([("c", box.count)] if box.count else [])]:
        texts.append(f'<text class="{style}" x="{box.x + PAD:.1f}" y="{y:.1f}">{escape(line)}</text>')
        y += LINE
    return (
        f'<g id="n{box.number}" class="node" data-kind={quoteattr(box.kind)}>'
        f"<title>{escape(f'{box.title} {box.detail}'.strip())}</title>"
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius}" '
        f'fill="{fill}" stroke="{stroke}"/>{"".join(texts)}</g>'
    )
