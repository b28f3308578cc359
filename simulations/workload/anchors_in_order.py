"""Anchors as peers chose them: subscription by subscription, by the loads of the moment at which each was posted.

A plan takes the loads as known (plan.py), as if all subscriptions came last. A trace has tuples and subscriptions in their order,
so what was rarest then is decided here as peers decide it, one by one, by the function that they call; where two constants are
equally rare, the templates that lie there by then decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gsg.placement.rules import NOWHERE, choose_anchor
from gsg.tuples.features import Load, Template

from ..engine.kernels import Whole

Signs: TypeAlias = NDArray[np.int8]
"""What each tuple did to the facts: 1 it came, -1 it went, 0 nothing."""


@dataclass(frozen=True, slots=True)
class Step:
    """A subscription begins or ends, after so many tuples."""

    after: int
    number: int
    begins: bool = True


def rarest_in_order(
    tuples: Sequence[NDArray[np.integer]], signs: Signs, templates: Whole, kinds: Whole, untested: Whole, steps: Sequence[Step]
) -> Whole:
    """The anchor of each template, NOWHERE for one without constants.

    ``tuples`` has a column of codes for each position, ``templates`` the codes of shape (positions, templates), -1 where anything
    may stand. Templates of equal codes and ``kinds`` are the same; ``untested`` is the kind that each would be without its test.
    """
    columns = [column.tolist() for column in tuples]
    changes = signs.tolist()
    wanted = [tuple(codes) for codes in templates.T.tolist()]
    most = [max(max(column, default=-1), int(codes.max(initial=-1))) for column, codes in zip(columns, templates, strict=True)]
    facts = [[0] * (last + 1) for last in most]
    posted: dict[tuple[int, int], dict[tuple[tuple[int, ...], int], int]] = {}
    """Position and code of a key -> the templates under it -> how many have each."""
    anchors = np.full(templates.shape[1], NOWHERE, dtype=np.int64)
    done = 0

    def load(number: int, position: int) -> Load:
        code = wanted[number][position]
        there = posted.get((position, code), _NOTHING)
        return Load(facts[position][code], len(there), (wanted[number], int(untested[number])) in there)

    for step in steps:
        for counts, column in zip(facts, columns, strict=True):
            for place in range(done, step.after):
                counts[column[place]] += changes[place]
        done = max(done, step.after)
        codes, kind = wanted[step.number], int(kinds[step.number])
        template: Template = Template(tuple(None if code < 0 else code for code in codes))
        if step.begins:
            anchors[step.number] = choose_anchor(
                template, {position: load(step.number, position) for position in template.anchors()}
            )
        anchor = int(anchors[step.number])
        if anchor == NOWHERE:
            continue
        key = anchor, codes[anchor]
        there = posted.setdefault(key, {})
        there[codes, kind] = there.get((codes, kind), 0) + (1 if step.begins else -1)
        if not there[codes, kind]:
            del there[codes, kind]
    return anchors


_NOTHING: dict[tuple[tuple[int, ...], int], int] = {}


def changes_of(tuples: Sequence[NDArray[np.integer]], asked: Sequence[int]) -> Signs:
    """What each tuple did, where it was to come (1), to go (-1) or to pass as an event (0): facts are a set."""
    held: set[tuple[int, ...]] = set()
    signs = np.zeros(len(asked), dtype=np.int8)
    for number, (codes, sign) in enumerate(zip(zip(*(column.tolist() for column in tuples), strict=True), asked, strict=True)):
        if sign > 0 and codes not in held:
            held.add(codes)
            signs[number] = 1
        elif sign < 0 and codes in held:
            held.remove(codes)
            signs[number] = -1
    return signs
