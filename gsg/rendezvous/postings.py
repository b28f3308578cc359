"""What is posted under one key: postings by template, and under one template by what their tests demand.

Under one template, what carries a test is found by a constant that the test demands (:mod:`gsg.rendezvous.demands`), so that a
tuple meets those that it may pass, and not all of them; of many that have the same there, by what they require besides
(:mod:`gsg.rendezvous.postings_by_test`). Which of its demands a test is posted under is free; it is the one under which the fewest
are posted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import rete
from rete.predicates import Required

from ..errors import Refused
from ..placement.rules import NOWHERE
from ..tuples.features import Interval, Key, Template
from ..tuples.long_constants import short
from ..tuples.ordered_attributes import OrderedAttributes
from ..tuples.terms import Term, Tuple, Variable
from ..wire.messages import InsertCondition, Test
from .demands import Demand, Path, constants_at
from .feed import Posting
from .postings_by_test import PostingsByTest

MAX_PATHS = 32
"""Paths in use under one template: each costs every tuple a look-up. Beyond, what demands another one is tested every time."""
CROWDED = 8
"""So many under one constant are borne before a path is opened that nothing else uses."""

_ANY_ARITY: Tuple = ()
"""A template without positions asks for events of every arity; this is what it matches."""
_Found: TypeAlias = Posting | PostingsByTest


class TemplatePostings:
    """What is posted under one template, by its test; found by what a tuple holds where tests demand something."""

    __slots__ = ("_by_path", "_undemanding")

    def __init__(self) -> None:
        self._undemanding = PostingsByTest()
        """What demands no constant."""
        self._by_path: dict[Path, dict[Term, _Found]] | None = None
        """By path and by the constant there; most constants find one posting."""

    def __bool__(self) -> bool:
        return bool(self._undemanding or self._by_path)

    def __iter__(self) -> Iterator[Posting]:
        yield from self._undemanding
        for found in (self._by_path or {}).values():
            for constant, some in found.items():
                yield from (posting for posting in _all_of(some) if posting.constants[0] == constant)

    def get(self, test: Test | None, demands: Sequence[Demand]) -> Posting | None:
        """What is posted with this test, which has these demands."""
        posting = self._undemanding.get(test)
        if posting is not None or self._by_path is None:
            return posting
        for demand in demands:
            some = self._by_path.get(demand.path, {}).get(demand.constants[0])
            if isinstance(some, PostingsByTest):
                some = some.get(test)
            if some is not None and some.test == test:
                return some
        return None

    def add(self, posting: Posting, demands: Sequence[Demand]) -> None:
        """Post under the best of the demands, or under none; ``posting.path`` says which."""
        # What the template says already selects nothing under it.
        said = {(position,) for position in posting.template.anchors()}
        demand = self._chosen([demand for demand in demands if demand.path not in said])
        if demand is None:
            self._undemanding.post(posting)
            return
        if self._by_path is None:
            self._by_path = {}
        found = self._by_path.setdefault(demand.path, {})
        # One tuple for the path of all that have it.
        posting.found_by(next(path for path in self._by_path if path == demand.path), demand.constants)
        for constant in demand.constants:
            known = found.get(constant)
            if isinstance(known, PostingsByTest):
                known.post(posting)
            else:
                found[constant] = posting if known is None else PostingsByTest(known, posting)

    def remove(self, posting: Posting) -> None:
        """Take away what was posted."""
        if posting.path is None:
            self._undemanding.remove(posting)
            return
        assert self._by_path is not None, "it is posted under a path"
        found = self._by_path[posting.path]
        for constant in posting.constants:
            known = found[constant]
            if isinstance(known, PostingsByTest):
                known.remove(posting)
            if isinstance(known, Posting) or not known:
                del found[constant]
        if not found:
            del self._by_path[posting.path]
            if not self._by_path:
                self._by_path = None

    def candidates(self, items: Tuple) -> Iterable[Posting]:
        """What a tuple of this template may pass: everything that it passes is among it, once."""
        if self._by_path is None:
            return self._undemanding.candidates(items)
        candidates: list[Posting] = list(self._undemanding.candidates(items))
        for path, found in self._by_path.items():
            if len(path) == 1 and path[0] < len(items):
                constant = items[path[0]]
                some = found.get(constant)
                if some is not None:
                    candidates.extend(_some_of(some, items))
                elif type(constant) is Variable:
                    candidates.extend(_once(found.values(), items))
                continue
            constants = constants_at(items, path)
            if constants is None:
                candidates.extend(_once(found.values(), items))
                continue
            demanded = [some for constant in constants if (some := found.get(constant)) is not None]
            candidates.extend(_some_of(demanded[0], items) if len(demanded) == 1 else _once(demanded, items))
        return candidates

    def _chosen(self, demands: Sequence[Demand]) -> Demand | None:
        paths = self._by_path or {}

        def crowd(demand: Demand) -> tuple[int, bool, int, int]:
            found = paths.get(demand.path, {})
            most = max(_size_of(found.get(constant)) for constant in demand.constants)
            return (most.bit_length() if most > CROWDED else 0, demand.path not in paths, len(demand.path), len(demand.constants))

        possible = demands if len(paths) < MAX_PATHS else [demand for demand in demands if demand.path in paths]
        return min(possible, key=crowd, default=None)


def _all_of(found: _Found) -> Iterable[Posting]:
    return found if isinstance(found, PostingsByTest) else (found,)


def _size_of(found: _Found | None) -> int:
    return len(found) if isinstance(found, PostingsByTest) else int(found is not None)


def _some_of(found: _Found, items: Tuple) -> Iterable[Posting]:
    """Those that a tuple may pass which holds their constant."""
    return found.candidates(items) if isinstance(found, PostingsByTest) else (found,)


def _once(found: Iterable[_Found], items: Tuple) -> Iterable[Posting]:
    """The same of several, each once: one may demand several of the constants."""
    return dict.fromkeys(posting for some in found for posting in _some_of(some, items))


class KeyPostings:
    """What is posted under one key: templates by look-up, and under each what its tests demand."""

    __slots__ = ("key", "size", "sole", "table")

    def __init__(self, key: Key | None) -> None:
        self.sole: Posting | None = None
        """What is posted here, where it is alone and every tuple under the key matches it."""
        self.key = key
        """None for everywhere."""
        self.table: rete.TemplateTable[TemplatePostings] = rete.TemplateTable()
        self.size = 0
        """How many are posted here."""

    def __iter__(self) -> Iterator[Posting]:
        for postings in self.table:
            yield from postings

    def get(self, template: Template, test: Test | None, demands: Sequence[Demand] = ()) -> Posting | None:
        """What is posted under exactly this template and test."""
        postings = self.table.get(template)
        return None if postings is None else postings.get(test, demands)

    def post_template(
        self, template: Template, test: Test | None, demands: Sequence[Demand], requires: Sequence[Required[Path]] = ()
    ) -> Posting:
        """Post what is not there yet, whose test has these demands and requires that of values."""
        postings = self.table.get(template)
        if postings is None:
            postings = TemplatePostings()
            self.table.post(template, postings)
        posting = Posting(template, test, self.key)
        posting.requires = requires
        postings.add(posting, demands)
        self._count(1)
        return posting

    def remove(self, posting: Posting) -> None:
        """Take away what was posted."""
        postings = self.table.get(posting.template)
        assert postings is not None, "a posted template is in its table"
        postings.remove(posting)
        if not postings:
            self.table.remove(posting.template)
        self._count(-1)

    def _count(self, more: int) -> None:
        self.size += more
        self.sole = None
        if self.size == 1 and self.key is not None:
            [only] = self
            if only.test is None and only.matches_all:
                self.sole = only

    def candidates(self, items: Tuple, *, is_event: bool = False) -> list[Posting]:
        """What a tuple may pass; of events, also what is posted for those of any arity."""
        candidates: list[Posting] = []
        for shape in (items, _ANY_ARITY) if is_event else (items,):
            for postings in self.table.matching(shape):
                candidates.extend(postings.candidates(items))
        return candidates


def anchor_key(asked: InsertCondition, ordered: OrderedAttributes) -> Key | None:
    """The key that the condition is posted under; None for everywhere. Raises Refused when the anchor is no constant of it, nor an
    interval of an ordered position at which it has none."""
    pattern = asked.template.pattern
    arity = len(pattern)
    if (not pattern and not asked.events_only) or any(not 0 <= first < later < arity for first, later in asked.template.same):
        raise Refused(f"template {asked.template!r} has no positions, or repeats some that it does not have")
    if any(type(constant) is Variable for constant in pattern):
        raise Refused(f"template {asked.template!r} holds a variable; expected constants and nothing")
    if asked.anchor == NOWHERE and not asked.template.anchors():
        return None
    if asked.interval is not None:
        attribute = ordered.by_place.get((arity, asked.anchor))
        if attribute is None or asked.interval > attribute.of_long or pattern[asked.anchor] is not None:
            raise Refused(f"interval {asked.interval} of position {asked.anchor} of {arity} terms, which has none such here")
        return (arity, asked.anchor, Interval(asked.interval))
    return key_of(asked.template, asked.anchor)


def key_of(template: Template, position: int) -> Key:
    """The key of a position of a template. Raises Refused where it has no constant."""
    constant = template.pattern[position] if 0 <= position < len(template.pattern) else None
    if constant is None:
        raise Refused(f"position {position} is no constant of template {template!r}; expected one of {template.anchors()}")
    return (len(template.pattern), position, short(constant))
