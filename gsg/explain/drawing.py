"""A network as a picture: nodes in layers by their level, alpha memories at the left beside the joins that look into them.

Nodes of a layer are put in the order of their neighbours' (the barycentre heuristic), then as close below what feeds them as there
is room. The picture is SVG without scripts or fonts of its own, light or dark as its reader likes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from .explanations import number_text
from .network_view import NetworkEdge, NetworkNode, NetworkView

LINE_CHARACTERS = 44
LINES = 8
"""Lines of the text that says what a node does; the rest is in its tooltip."""
CHARACTER, LINE, PAD = 7.3, 16, 9
GAP_X, GAP_Y, MARGIN = 28, 46, 24
SWEEPS = 6

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
    # What draws SVG without a scheme has the light one, which stands in attributes.
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.c{fill:#9aa7b4}.ground{fill:#0d1117}.node rect{fill:#161b22}}"
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


def draw(network: NetworkView, *, counts: bool = True) -> str:
    """The picture of a network; ``counts``: with what each node holds."""
    boxes = {node.id: _box(node, counts=counts) for node in network.nodes}
    edges = _Edges(network.edges)
    memories = [box for box in boxes.values() if box.kind == "AlphaMemory"]
    levels = sorted({box.level for box in boxes.values() if box.kind != "AlphaMemory"})
    layers = [[box for box in boxes.values() if box.kind != "AlphaMemory" and box.level == level] for level in levels]
    _order(edges, layers, boxes)
    left = MARGIN + max((box.width for box in memories), default=0.0) + (3 * GAP_X if memories else 0)
    _place(edges, layers, boxes, left)
    _place_memories(edges, memories, boxes)
    width = max((box.x + box.width for box in boxes.values()), default=0.0) + MARGIN
    height = max((box.y + box.height for box in boxes.values()), default=0.0) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<style>{_STYLE}</style>",
        '<rect class="ground" width="100%" height="100%" fill="#ffffff"/>',
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#8a8a8a;stroke:none"/></marker></defs>',
    ]
    parts += [_edge(boxes[edge.source], boxes[edge.target], edge.kind) for edge in network.edges]
    parts += [_shape(box) for box in boxes.values()]
    return "\n".join([*parts, "</svg>", ""])


class _Edges:
    """Which nodes are joined, both ways."""

    def __init__(self, edges: Iterable[NetworkEdge]) -> None:
        self.into: Mapping[int, list[int]] = defaultdict(list)
        self.out_of: Mapping[int, list[int]] = defaultdict(list)
        for edge in edges:
            self.out_of[edge.source].append(edge.target)
            self.into[edge.target].append(edge.source)


def _box(node: NetworkNode, *, counts: bool) -> _Box:
    count = number_text(node.count, node.unit) if counts and node.count is not None else ""
    return _Box(node.id, node.kind, node.title, node.text, _wrapped(node.text), count, node.level)


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


def _neighbours(edges: _Edges, number: int, boxes: dict[int, _Box], *, above: bool) -> list[_Box]:
    found = edges.into[number] if above else edges.out_of[number]
    level = boxes[number].level
    return [boxes[one] for one in found if boxes[one].kind != "AlphaMemory" and (boxes[one].level < level) == above]


def _order(edges: _Edges, layers: list[list[_Box]], boxes: dict[int, _Box]) -> None:
    """Sort each layer by the mean place of what is above, then below, a few times: fewer lines cross."""
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        places = {box.number: place for layer in layers for place, box in enumerate(layer)}
        for layer in layers if down else layers[::-1]:

            def mean(box: _Box, *, down: bool = down, places: dict[int, int] = places) -> float:
                near = [places[one.number] for one in _neighbours(edges, box.number, boxes, above=down)]
                return sum(near) / len(near) if near else places[box.number]

            layer.sort(key=mean)
            places.update({box.number: place for place, box in enumerate(layer)})


def _place(edges: _Edges, layers: list[list[_Box]], boxes: dict[int, _Box], left: float) -> None:
    y = float(MARGIN)
    for layer in layers:
        x = left
        for box in layer:
            near = _neighbours(edges, box.number, boxes, above=True)
            wanted = sum(one.middle for one in near) / len(near) - box.width / 2 if near else x
            box.x = x = max(x, wanted)
            box.y = y
            x += box.width + GAP_X
        y += max(box.height for box in layer) + GAP_Y


def _place_memories(edges: _Edges, memories: list[_Box], boxes: dict[int, _Box]) -> None:
    """Each at the height of the first join that looks into it, or below the one before."""
    joins = {box.number: sorted(boxes[join].y for join in edges.out_of[box.number]) for box in memories}
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
