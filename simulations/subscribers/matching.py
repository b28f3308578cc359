"""Which templates tuples match, counted: how often each template is met, in how many messages, and how many copies a tuple makes.

Templates that give constants at the same places are found together: one constant by its code, several by 64 bits of their keys, so
that a tuple takes one look-up for each set of places. Of templates with bounds those that give the same constants lie in a group,
and the tuples of a chunk that meet a group are sorted by their number, so that each template finds its own by two searches.
Nothing is drawn from a sample: counts are exact, and those of several chunks add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..engine import kernels
from ..engine.kernels import Whole
from ..engine.randomness import Words
from ..load_balance.counted_tuples import SortedKeys
from ..workload.workload import CHUNK, OBJECT, Constants, Subscriptions
from .repetitions import Repetitions

_FINE = 64
"""Copies of a tuple that are counted apart; above, as many of them as make it a fifth more lie in one class."""
_CLASSES_PER_OCTAVE = 4
CLASSES = _FINE + 58 * _CLASSES_PER_OCTAVE
_RANK_BITS = 32


def class_of(copies: Whole) -> Whole:
    """The class that a number of copies lies in."""
    above = np.maximum(copies, _FINE) / _FINE
    return np.where(copies < _FINE, copies, _FINE + np.floor(_CLASSES_PER_OCTAVE * np.log2(above)).astype(np.int64))


def least_of(classes: Whole) -> NDArray[np.float64]:
    """The least number of copies that lies in a class, rounded down."""
    octaves = (classes - _FINE) / _CLASSES_PER_OCTAVE
    return np.where(classes < _FINE, classes, np.floor(_FINE * np.exp2(np.maximum(octaves, 0))))


class Matches(NamedTuple):
    """What was counted; all add up over chunks."""

    met: Whole
    """Tuples that each template matches, shape (templates,)."""
    messages: Whole
    """Batches of a publisher that have one of these at least, shape (templates,)."""
    spread: Whole
    """Tuples by the class of the copies that they make, shape (CLASSES,)."""
    repeated: Whole
    """Of events, what each peer would get too often from itself, and then from others, shape (2 * peers,); of facts empty."""

    @classmethod
    def zero(cls, templates: int, peers: int = 0) -> Self:
        """Nothing yet; ``peers`` of events."""
        return cls(*(np.zeros(size, dtype=np.int64) for size in (templates, templates, CLASSES, 2 * peers)))


@dataclass(frozen=True, slots=True)
class _Places:
    """Templates, or groups of them, that give constants at the same places."""

    places: tuple[int, ...]
    keys: tuple[Words, ...]
    """The keys of each place, by code; none where one constant is given at most."""
    numbers: Whole
    """The number of each template or group: by the code of the only constant, -1 for none; else in the order of ``sorted``."""
    sorted: SortedKeys | None

    def find(self, codes: tuple[NDArray[np.integer], ...]) -> Whole:
        """The number that each tuple meets, -1 for none."""
        if not self.places:
            return np.full(len(codes[0]), self.numbers[0])
        if self.sorted is None:
            numbers: Whole = self.numbers[codes[self.places[0]]]
            return numbers
        found = self.sorted.find(_joint([keys[codes[place]] for place, keys in zip(self.places, self.keys, strict=True)]))
        return np.where(found < 0, -1, self.numbers[found])


def _joint(keys: list[Words]) -> Words:
    """64 bits for the constants of several places together."""
    words = keys[0]
    for other in keys[1:]:
        words = kernels.scattered(words, other)
    return words


def _indexed(codes: Whole, numbers: Whole, constants: tuple[Constants, ...]) -> Iterator[_Places]:
    """The templates of these codes, no two alike, by the places of their constants."""
    given = (codes >= 0).T
    for pattern in np.unique(given, axis=0):
        mine = np.flatnonzero((given == pattern).all(axis=1))
        places = tuple(int(place) for place in np.flatnonzero(pattern))
        if len(places) > 1:
            keys = tuple(constants[place].keys for place in places)
            joint = _joint([known[codes[place, mine]] for place, known in zip(places, keys, strict=True)])
            order = np.argsort(joint)
            yield _Places(places, keys, numbers[mine[order]], SortedKeys(joint[order]))
        elif places:
            by_code = np.full(len(constants[places[0]].keys), -1, dtype=np.int64)
            by_code[codes[places[0], mine]] = numbers[mine]
            yield _Places(places, (), by_code, None)
        else:
            yield _Places((), (), numbers[mine], None)


class TemplateIndex:
    """Distinct templates that have no bounds, by what they give."""

    def __init__(self, templates: Subscriptions, constants: tuple[Constants, ...]) -> None:
        plain = np.flatnonzero(~templates.bounded)
        self._parts = list(_indexed(templates.codes[:, plain], plain, constants))

    def found(self, codes: tuple[NDArray[np.integer], ...]) -> Iterator[Whole]:
        """For each set of places the template that each tuple matches, -1 for none: no tuple matches two of one set."""
        for part in self._parts:
            yield part.find(codes)


class _Bounded:
    """Templates with bounds, by the constants that they give besides."""

    def __init__(self, templates: Subscriptions, copies: Whole, objects: Constants, constants: tuple[Constants, ...]) -> None:
        self.numbers = np.flatnonzero(templates.bounded)
        assert templates.bounds is not None, "some have bounds"
        assert objects.values is not None, "where there are bounds there are numbers"
        codes = templates.codes[:, self.numbers]
        groups, group = np.unique(codes, axis=1, return_inverse=True)
        self._parts = list(_indexed(groups, np.arange(groups.shape[1]), constants))
        values = np.unique(objects.values)
        self._rank_of = np.searchsorted(values, objects.values)
        low, high = templates.bounds[:, self.numbers]
        base = group.reshape(-1).astype(np.int64) << _RANK_BITS
        self._low = base + np.searchsorted(values, low)
        """The first word of a group and a number that each template holds; and the first one that it does not."""
        self._above = np.maximum(base + np.searchsorted(values, high, side="right"), self._low)
        self._opening, self._opened = _weighed(self._low, copies[self.numbers])
        self._closing, self._closed = _weighed(self._above, copies[self.numbers])

    def count(self, codes: tuple[NDArray[np.integer], ...], batch: Whole | None) -> tuple[Whole, Whole, Whole]:
        """Of each template the tuples that it matches and the batches that they are in, and the copies that each tuple makes."""
        met, messages = (np.zeros(len(self.numbers), dtype=np.int64) for _ in range(2))
        copies = np.zeros(len(codes[0]), dtype=np.int64)
        rank = self._rank_of[codes[OBJECT]]
        for part in self._parts:
            group = part.find(codes)
            there = np.flatnonzero(group >= 0)
            word = (group[there] << _RANK_BITS) + rank[there]
            # Templates of other groups have opened and closed before, or do so after.
            copies[there] += self._opened[np.searchsorted(self._opening, word, side="right")]
            copies[there] -= self._closed[np.searchsorted(self._closing, word, side="right")]
            order = np.argsort(word, kind="stable")
            ordered = word[order]
            begin, end = np.searchsorted(ordered, self._low), np.searchsorted(ordered, self._above)
            met += end - begin
            if batch is not None:
                messages += _distinct(batch[there[order]], begin, end)
        return met, met if batch is None else messages, copies


def _weighed(words: Whole, weights: Whole) -> tuple[Whole, Whole]:
    """Words in order, and how much weighs what lies before each place among them."""
    order = np.argsort(words, kind="stable")
    return words[order], np.concatenate(([0], np.cumsum(weights[order])))


def _distinct(values: Whole, begin: Whole, end: Whole) -> Whole:
    """How many distinct values lie in each of some slices."""
    return np.array([len(np.unique(values[one:other])) for one, other in zip(begin, end, strict=True)], dtype=np.int64)


class MatchCounter:
    """Counts tuples by templates, each of which makes so many ``copies`` of a tuple that it matches.

    Tuples whose numbers divided by ``batch`` give the same are of one message of a publisher. With ``repetitions`` they are events.
    """

    def __init__(
        self,
        templates: Subscriptions,
        copies: Whole,
        constants: tuple[Constants, ...],
        *,
        batch: int = 1,
        repetitions: Repetitions | None = None,
    ) -> None:
        self._copies = copies
        self._batch = batch
        self._index = TemplateIndex(templates, constants)
        self._bounded = _Bounded(templates, copies, constants[OBJECT], constants) if templates.bounded.any() else None
        self._repetitions = repetitions
        self.matches = Matches.zero(len(templates), 0 if repetitions is None else repetitions.peers)
        """What all chunks so far came to."""

    def count_chunk(self, codes: tuple[NDArray[np.integer], ...], begin: int) -> None:
        """Count tuples from number ``begin`` on; no message is in two chunks."""
        copies = np.zeros(len(codes[0]), dtype=np.int64)
        batch = (np.arange(len(copies)) + begin % self._batch) // self._batch if self._batch > 1 else None
        met, messages, spread, repeated = self.matches
        each = list(self._index.found(codes))
        for found in each:
            there = np.flatnonzero(found >= 0)
            numbers = found[there]
            copies[there] += self._copies[numbers]
            _count(met, numbers)
            _count(messages, numbers if batch is None else _once(numbers, batch[there]))
        if self._bounded is not None:
            counted, in_messages, made = self._bounded.count(codes, batch)
            met[self._bounded.numbers] += counted
            messages[self._bounded.numbers] += in_messages
            copies += made
        if self._repetitions is not None:
            too_many, by_peer = self._repetitions.count(each, codes)
            copies -= too_many
            repeated += by_peer.reshape(-1)
        spread += np.bincount(class_of(copies), minlength=CLASSES)


def _once(numbers: Whole, batch: Whole) -> Whole:
    """The number of each pair of a number and a batch, once."""
    width = int(batch.max(initial=0)) + 1
    return np.unique(numbers * width + batch) // width


def _count(counts: Whole, numbers: Whole) -> None:
    if len(counts) <= 2 * len(numbers):
        counts += np.bincount(numbers, minlength=len(counts))
    else:
        np.add.at(counts, numbers, 1)


def chunks_of_batches(tuples: int, batch: int, *, parts: int = 1) -> list[tuple[int, int]]:
    """Where each chunk begins and how many tuples it has, so that no message is in two: CHUNK at most, ``parts`` of them at least
    where there are so many messages."""
    messages = -(-tuples // batch)
    most = max(1, CHUNK // batch)
    number = min(messages, parts * -(-messages // (parts * most)))
    edges = [min(tuples, messages * edge // number * batch) for edge in range(number + 1)]
    return [(begin, end - begin) for begin, end in pairwise(edges)]
