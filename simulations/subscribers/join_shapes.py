"""Subscriptions of several conditions: their shapes, and how many tokens and rows each makes at its subscriber's peer, counted.

Shapes are those that benchmarks of graph queries tell apart (Aluç and others 2014, "Diversified Stress Testing of RDF Data
Management Systems", section 3): conditions around one variable, one after the other, and a star whose arms go on:

    star        (?x p ?a), (?x q ?b), (?x r C)
    chain       (?a p ?b), (?b q ?c), (?c r C)
    snowflake   (?x p ?a), (?x q ?b), (?a r ?c), (?b t C)

Predicates are drawn by their law, as people ask for what is common. The last condition has a constant with a given chance, and then
the object of a tuple that has its predicate, so that it is of use. An object is the entity that is the subject of the same number:
what is often mentioned says much itself. Joins are made in the order of the peers' own planner (rete/chain.py), which looks at the
facts of each condition. Tokens are not made but counted: no variable has two ways to another, so products of counts from the leaves
on are exact, however many tokens there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import rete
from rete.chain import ordered

from ..engine.kernels import Whole
from ..engine.randomness import Stream
from ..workload.workload import Chunk

Term: TypeAlias = str | int
"""A variable by its name, or a constant by its code."""
Weights: TypeAlias = NDArray[np.float64]
"""How many solutions of a part of a query there are for each entity; whole numbers, exact up to 2**53."""


class Shape(StrEnum):
    """How the conditions of a subscription hang together."""

    STAR = "star"
    CHAIN = "chain"
    SNOWFLAKE = "snowflake"


_ENDS: dict[Shape, tuple[tuple[str, str], ...]] = {
    Shape.STAR: (("x", "a"), ("x", "b"), ("x", "c")),
    Shape.CHAIN: (("a", "b"), ("b", "c"), ("c", "d")),
    Shape.SNOWFLAKE: (("x", "a"), ("x", "b"), ("a", "c"), ("b", "d")),
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One condition."""

    subject: Term
    predicate: int
    object: Term

    @property
    def template(self) -> tuple[int, int, int]:
        """Its constants, -1 where there is none: entities by their numbers."""
        return (_code(self.subject), self.predicate, _code(self.object))

    def condition(self) -> rete.Condition:
        """As rete has it."""
        return rete.Condition(tuple(rete.Variable(term) if isinstance(term, str) else term for term in self.terms))

    @property
    def terms(self) -> tuple[Term, int, Term]:
        """Subject, predicate and object."""
        return self.subject, self.predicate, self.object


def _code(term: Term) -> int:
    return term if isinstance(term, int) else -1


@dataclass(frozen=True, slots=True)
class Counted:
    """What a subscription comes to at its peer."""

    facts: int
    """Of its alpha memories, those of equal templates once: what its feeds bring."""
    tokens: int
    """Kept between its joins, as rete counts them: the empty one, and those of all joins but the last."""
    most: int
    """Of one join; of the last too."""
    rows: int


class FactTable:
    """Distinct triples, found by predicate. An entity has one number as subject and object, from 0; ``codes`` are theirs."""

    def __init__(self, chunk: Chunk) -> None:
        subject, predicate, object_ = (column.astype(np.int64) for column in chunk.codes)
        self.codes, numbers = np.unique(np.concatenate([subject, object_]), return_inverse=True)
        facts = np.unique(np.stack([predicate, *np.split(numbers.astype(np.int64), 2)]), axis=1)
        self._predicate, self._subject, self._object = facts

    @property
    def entities(self) -> int:
        """How many entities there are."""
        return len(self.codes)

    def __len__(self) -> int:
        """How many facts there are."""
        return len(self._predicate)

    def matching(self, pattern: Pattern) -> tuple[Whole, Whole]:
        """The subjects and objects of all facts that have the constants of a condition."""
        begin, end = np.searchsorted(self._predicate, [pattern.predicate, pattern.predicate + 1])
        subject, object_ = self._subject[begin:end], self._object[begin:end]
        fits = np.ones(end - begin, dtype=bool)
        for term, column in ((pattern.subject, subject), (pattern.object, object_)):
            if isinstance(term, int):
                fits &= column == term
        return subject[fits], object_[fits]

    def count(self, pattern: Pattern) -> int:
        """How many facts have the constants of a condition."""
        return len(self.matching(pattern)[0])


def subscriptions(shape: Shape, count: int, table: FactTable, predicates: Whole, constant: float, seed: int) -> list[list[Pattern]]:
    """So many of one shape, given predicates to choose from by chance, as many as the conditions of all of them."""
    ends = _ENDS[shape]
    has_constant = Stream(seed, "constant", shape).uniform(0, count) < constant
    chosen = Stream(seed, "object", shape).words(0, count)
    made = []
    for number in range(count):
        first = number * len(ends)
        patterns = [
            Pattern(subject, int(predicate), object_)
            for (subject, object_), predicate in zip(ends, predicates[first : first + len(ends)], strict=True)
        ]
        last = patterns[-1]
        objects = table.matching(last)[1]
        if has_constant[number] and len(objects):
            patterns[-1] = Pattern(last.subject, last.predicate, int(objects[int(chosen[number]) % len(objects)]))
        made.append(patterns)
    return made


def conditions_of(shape: Shape) -> int:
    """How many conditions a shape has."""
    return len(_ENDS[shape])


def in_order(patterns: Sequence[Pattern], table: FactTable) -> list[Pattern]:
    """The conditions in the order in which a peer would join them, by the facts that each of them has."""
    by_condition = {pattern.condition(): pattern for pattern in patterns}
    facts = {condition: table.count(pattern) for condition, pattern in by_condition.items()}
    return [by_condition[one] for one in ordered(tuple(pattern.condition() for pattern in patterns), set(), facts.__getitem__)]


def counted(patterns: Sequence[Pattern], table: FactTable) -> Counted:
    """What a subscription comes to, given its conditions in the order of their joins."""
    tokens = [_solutions(patterns[: end + 1], table) for end in range(len(patterns))]
    facts = sum(table.count(pattern) for pattern in {pattern.template: pattern for pattern in patterns}.values())
    return Counted(facts, 1 + sum(tokens[:-1]), max(tokens), tokens[-1])


def _solutions(patterns: Sequence[Pattern], table: FactTable) -> int:
    """How many solutions some conditions have together, which hang together."""
    root = next((term for pattern in patterns for term in (pattern.subject, pattern.object) if isinstance(term, str)), None)
    if root is None:
        return int(all(table.count(pattern) for pattern in patterns))
    return int(_weights(root, list(patterns), table).sum())


def _weights(variable: str, patterns: list[Pattern], table: FactTable) -> Weights:
    """For each entity that a variable may be, the solutions of the conditions that hang on it."""
    weights = np.ones(table.entities)
    for pattern in [one for one in patterns if variable in (one.subject, one.object)]:
        rest = [one for one in patterns if one is not pattern]
        subject, object_ = table.matching(pattern)
        here, there, other = (
            (subject, object_, pattern.object) if pattern.subject == variable else (object_, subject, pattern.subject)
        )
        beyond = _weights(other, _apart(other, rest, variable), table)[there] if isinstance(other, str) else np.ones(len(there))
        weights *= np.bincount(here, weights=beyond, minlength=table.entities)
    return weights


def _apart(variable: str, patterns: list[Pattern], without: str) -> list[Pattern]:
    """The conditions that hang on a variable, not by way of another one."""
    found: list[Pattern] = []
    known, waiting = {without, variable}, [variable]
    while waiting:
        here = waiting.pop()
        for pattern in patterns:
            ends = [term for term in (pattern.subject, pattern.object) if isinstance(term, str)]
            if here in ends and pattern not in found and without not in ends:
                found.append(pattern)
                waiting += [term for term in ends if term not in known]
                known.update(ends)
    return found
