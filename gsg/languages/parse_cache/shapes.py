"""What a query's text says wherever its constants are others: found by one probe, then filled in without a parser.

A *probe* is a text with a marker of its own in the place of each constant. A marker that stands in the probe's conditions, tests,
computations or inline data, and nowhere else, is where a constant may be put; with the constants of the text put back there, the
probe must say just what the text says. Everything else of a text belongs to its shape.

A place whose constants have been seen to differ becomes a :class:`rete.Parameter`, so that such queries are one template with
arguments (see :class:`gsg.languages.query.Query`); in which of them queries of one network differ, the network decides. The others
stay what they are, since a memory of few facts is a better one; and so do predicates, and one constant of each condition.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import TypeAlias

import rete
from rete import algebra

from ...errors import GsgError
from ...tuples.terms import Term
from ..query import Query
from ..result_form import ResultForm
from .constants import Make, Markers, Skeleton, content

DECIDE_AT = 8
"""Variants of a shape that are kept; when there is one more, the places where they differ become parameters, or the oldest goes."""

Parse: TypeAlias = Callable[[str], Query]
Body: TypeAlias = rete.Group | algebra.Algebra


class Shape:
    """Queries that are made from constants.

    ``body`` has parameter number n in the place ``places[n]``. A *variant* is a body in which only those places that were chosen
    are parameters, numbered anew, and the others have their constants.
    """

    __slots__ = ("_arguments", "_body", "_chosen", "_kept", "_makes", "_result", "_select", "_variants", "places")

    def __init__(self, body: Body, select: tuple[str, ...], makes: dict[int, Make], result: ResultForm | None) -> None:
        self.places = tuple(makes)
        self._makes = makes
        self._body = body
        self._select = select
        self._result = result
        self._variants: OrderedDict[tuple[str, ...], Body] = OrderedDict()
        self._chosen: frozenset[int] = frozenset()
        self._arguments: tuple[tuple[int, Make], ...] = ()
        self._kept = self.places

    def query(self, constants: Sequence[str]) -> Query:
        """The query of these constants."""
        kept = tuple([constants[place] for place in self._kept])
        body = self._variants.get(kept)
        if body is None:
            body = self._variant(constants, kept)
        return Query(body, self._select, tuple([make(constants[place]) for place, make in self._arguments]), self._result)

    def _variant(self, constants: Sequence[str], kept: tuple[str, ...]) -> Body:
        if len(self._variants) >= DECIDE_AT:
            seen = [*self._variants, kept]
            self._choose(place for number, place in enumerate(self._kept) if len({one[number] for one in seen}) > 1)
            kept = tuple(constants[place] for place in self._kept)
        numbers = {place: number for number, (place, _) in enumerate(self._arguments)}
        fillers: list[Term | rete.Parameter] = [
            rete.Parameter(numbers[place]) if place in numbers else make(constants[place]) for place, make in self._makes.items()
        ]
        body = self._variants[kept] = rete.bound(self._body, tuple(fillers))
        return body

    def _choose(self, differing: Iterator[int]) -> None:
        wanted = self._chosen.union(differing)
        chosen = wanted - self._keepers(wanted)
        if chosen == self._chosen:
            self._variants.popitem(last=False)
            return
        self._chosen = chosen
        self._arguments = tuple((place, make) for place, make in self._makes.items() if place in chosen)
        self._kept = tuple(place for place in self.places if place not in chosen)
        self._variants.clear()

    def _keepers(self, wanted: frozenset[int]) -> set[int]:
        """Places that stay constants: a condition without any asks for everything."""
        keepers: set[int] = set()
        for condition in rete.conditions_of(self._body):
            places = [self.places[item.number] for item in condition.pattern if isinstance(item, rete.Parameter)]
            others = any(not isinstance(item, rete.Variable) and item is not rete.WILDCARD for item in condition.pattern)
            if places and not others and wanted.issuperset(places) and keepers.isdisjoint(places):
                keepers.add(places[0])
        return keepers


def probed(skeleton: Skeleton, constants: list[str], query: Query, places: tuple[int, ...], parse: Parse) -> Shape | None:
    """The shape of a text that says ``query``, by means of two probes at most; None where it has none.

    ``places`` are those where another constant may be put as far as is known.
    """
    markers = Markers(skeleton.text(constants))
    if not markers.are_new:
        return None
    said = _said(query.body)
    places = tuple(place for place in places if _stands_in(skeleton.kinds[place], constants[place], said))
    for _ in range(2):
        marked = list(constants)
        for place in places:
            marked[place] = markers.constant(skeleton.kinds[place], place)
        try:
            probe = parse(skeleton.text(marked))
        except GsgError:
            return None
        makes = _plain_places(skeleton, probe, markers)
        if len(makes) < len(places):
            # A marker was where it is more than a constant: the constant itself stands there in the next probe.
            places = tuple(makes)
            continue
        shape = Shape(_opened(probe.body, markers, places), probe.select, makes, probe.result)
        if probe.select != query.select or probe.result != query.result or shape.query(constants).body != query.body:
            return None
        return shape
    return None


def _said(body: Body) -> list[str]:
    """The constants that may be taken out, as text."""
    return [str(item) for item, is_open in _items(body) if is_open]


def _stands_in(kind: str, constant: str, said: list[str]) -> bool:
    """Whether a constant may be one of those: most of the other places need no probe."""
    inside = content(kind, constant)
    return any(one.endswith(inside) for one in said) if kind.endswith(":") else inside in said


def _is_predicate(position: int) -> bool:
    """Whether what stands at a position tells apart what tuples are about: such constants are never taken out."""
    return position == 1


def _plain_places(skeleton: Skeleton, probe: Query, markers: Markers) -> dict[int, Make]:
    """The places whose markers stand where constants may be taken out, and nowhere else."""
    makes: dict[int, Make] = {}
    elsewhere = {*markers.places_in(probe.select), *markers.places_in(probe.result)}
    for item, is_open in _items(probe.body):
        for place in markers.places_in(item):
            make = markers.make(skeleton.kinds[place], place, item) if is_open else None
            if make is None:
                elsewhere.add(place)
            else:
                makes[place] = make
    return {place: makes[place] for place in sorted(makes) if place not in elsewhere}


def _opened(body: Body, markers: Markers, places: tuple[int, ...]) -> Body:
    """The probe with a parameter in the place of each marker."""

    def opened(item: object) -> object:
        found = [] if isinstance(item, rete.Variable) else markers.places_in(item)
        return rete.Parameter(places.index(found[0])) if found else item

    return rete.replaced(body, opened)


def _items(part: object) -> Iterator[tuple[object, bool]]:
    """Everything that a query is made of, down to what has no parts that we know, and whether another constant may stand there."""
    if isinstance(part, rete.Condition):
        for position, item in enumerate(part.pattern):
            yield item, not _is_predicate(position)
        yield part.window, False
    elif isinstance(part, algebra.Path):
        yield from ((end, True) for end in (part.subject, part.object))
        yield from _items(part.path)
    elif isinstance(part, algebra.Values):
        yield from ((name, False) for name in part.names)
        yield from ((term, True) for row in part.rows for term in row)
    elif isinstance(part, algebra.Slice):
        yield part.limit, True
        for each in (part.child, part.order, part.offset):
            yield from _items(each)
    elif hasattr(part, "with_constants"):
        shown: list[object] = []
        rest = part.with_constants(shown.append)
        yield from ((term, True) for term in shown)
        yield from _items(rest.expression)
    elif isinstance(part, tuple):
        for each in part:
            yield from _items(each)
    elif is_dataclass(part):
        for field in fields(part):
            yield from _items(getattr(part, field.name))
    else:
        yield part, False
