"""Where tuples and subscriptions go: the strategies that are compared, by name, and which of them go together.

A strategy is written as its parts joined by ``+``, such as ``rarest+hot-split-10+demand``:

    predicate, random, rarest   the constant that a subscription is posted at; rarest where none is said
    composite                   tuples also go to the keys of two constants together, and subscriptions with two to one of those
    popular-1000                RDFPeers: constants of more than a thousandth of all tuples are no keys at all
    halves                      a tuple goes to one of two keys for each constant, by its hash, and a subscription to both
    epochs-24                   a key of its own for each of so many ranges of time, in all of which a subscription is posted
    hot-split-10                keys of more than 10 times a peer's mean load are split by tuples; subscriptions are in each part
    grid-10                     as hot-split, and split by subscriptions as well: tuples to a row, subscriptions to a column
    ordered-64                  objects are numbers in so many intervals, and have the key of their interval; a subscription with
                                bounds and no constant is posted under the intervals between its bounds
    maan                        MAAN: objects are numbers in order around the ring of ids, and a subscription with bounds and no
                                constant is posted at all peers between its bounds
    demand                      tuples go only to keys under which some subscription is posted
    virtual-8                   each peer takes part under so many ids
    replicas-3                  tuples lie at so many holders of each key; subscriptions are posted, and meet them, at the closest
    choices-2                   a key lies at the least loaded of so many peers, and at the others a pointer to that one
    bounded-1.25                a key lies at the closest peer that carries no more than 1.25 times its share with it
    early-10                    facts are known from the first 10 per cent of the time, and taken for those of all of it
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from gsg.placement.rules import REPLICAS, Anchor
from gsg.tuples.ordered_attributes import MAX_INTERVALS

from ..errors import BadParameter


class Spread(StrEnum):
    """How a key is spread over several."""

    NONE = ""
    HALVES = "halves"
    EPOCHS = "epochs"
    HOT_SPLIT = "hot-split"
    GRID = "grid"


HUNDREDTHS = 100
"""Of the mean load, in which bounds are said: so they are whole numbers, and exact."""
ALL_DAY = 100


@dataclass(frozen=True, slots=True)
class Strategy:
    """The parts of a strategy; ``amount`` is the number of epochs, or the load that is bearable in times of the mean."""

    anchor: Anchor = Anchor.RAREST
    composite: bool = False
    spread: Spread = Spread.NONE
    amount: int = 1
    popular: int = 0
    demand: bool = False
    virtual: int = 1
    replicas: int = 1
    ordered: int = 0
    maan: bool = False
    choices: int = 1
    bounded: int = 0
    """In hundredths of the mean; 0 for no bound."""
    early: int = 100
    """Per cent of the time that facts are known from."""

    @property
    def assigned(self) -> bool:
        """Whether keys go to peers one after the other, by what these carry already."""
        return self.choices > 1 or self.bounded > 0

    @property
    def name(self) -> str:
        """As it is written in options, reports and files alike: with every number, and with ``rarest`` only where that is all."""
        spread = str(self.spread) if self.spread in (Spread.NONE, Spread.HALVES) else f"{self.spread}-{self.amount}"
        parts = [
            str(self.anchor),
            "composite" if self.composite else "",
            f"popular-{self.popular}" if self.popular else "",
            spread,
            f"ordered-{self.ordered}" if self.ordered else "",
            "demand" if self.demand else "",
            f"virtual-{self.virtual}" if self.virtual > 1 else "",
            f"replicas-{self.replicas}" if self.replicas > 1 else "",
            "maan" if self.maan else "",
            f"choices-{self.choices}" if self.choices > 1 else "",
            f"bounded-{self.bounded / HUNDREDTHS:g}" if self.bounded else "",
            f"early-{self.early}" if self.early < ALL_DAY else "",
        ]
        said = [part for part in parts if part]
        return "+".join(said[1:] if self.anchor is Anchor.RAREST and len(said) > 1 else said)


STANDARD = (
    "predicate",
    "random",
    "rarest",
    "popular-1000",
    "demand",
    "halves",
    "composite",
    "epochs-24",
    "hot-split-10",
    "grid-10+demand",
    "virtual-8",
    "hot-split-10+demand+virtual-8",
)
"""What a comparison of all has."""

_NUMBERED = {
    "popular": (1000, 1_000_000_000),
    "epochs": (24, 10_000),
    "hot-split": (10, 1_000_000),
    "grid": (10, 1_000_000),
    "virtual": (8, 1_000),
    "replicas": (REPLICAS, 64),
    "ordered": (64, MAX_INTERVALS),
    "choices": (2, 16),
    "early": (10, ALL_DAY),
}
"""Parts with a number: the one that is meant where none is said, and the largest."""
_FLAGS = ("composite", "demand", "maan")
_BOUND = 125
"""Hundredths of the mean that a bound is where none is said."""
_MOST_BOUND = 100_000
_KNOWN = [*map(str, Anchor), "halves", *_FLAGS, *_NUMBERED, "bounded"]


def parse(text: str) -> Strategy:
    """The strategy that a text names. Raises BadParameter for an unknown part, and for parts that do not go together."""
    strategy = Strategy()
    seen: dict[str, str] = {}
    for part in text.split("+"):
        name, number = _numbered(part.strip())
        group = "anchor" if name in list(Anchor) else "spread" if name in list(Spread) else name
        if group in seen:
            raise BadParameter(f"strategy {text!r}: {seen[group]!r} and {part.strip()!r} cannot both hold; keep one of them")
        seen[group] = part.strip()
        if name in list(Anchor):
            strategy = replace(strategy, anchor=Anchor(name))
        elif name in list(Spread):
            strategy = replace(strategy, spread=Spread(name), amount=number)
        else:
            strategy = replace(strategy, **{name: name in _FLAGS or number})  # type: ignore[arg-type]  # fields
    for one, other, why in _CLASHES:
        if one in seen and other in seen:
            raise BadParameter(f"strategy {text!r}: {seen[one]!r} does not go with {seen[other]!r}: {why}")
    if "popular" in seen and strategy.anchor is not Anchor.RAREST:
        raise BadParameter(
            f"strategy {text!r}: {seen['popular']!r} looks for a rare constant; expected no other anchor than 'rarest'"
        )
    if strategy.ordered and strategy.spread is Spread.GRID:
        raise BadParameter(
            f"strategy {text!r}: {seen['ordered']!r} does not go with {seen['spread']!r}: templates of a key are counted by "
            "number, not by interval; expected 'hot-split', which splits by tuples alone"
        )
    return strategy


_CLASHES = (
    ("popular", "spread", "what it leaves as keys is not hot"),
    ("popular", "composite", "no peer counts how often two constants come together"),
    ("composite", "spread", "no peer counts how often two constants come together"),
    ("virtual", "replicas", "two ids of one peer would count as two holders"),
    ("ordered", "popular", "an interval that is no key would lose all that is posted there with bounds"),
    ("ordered", "composite", "keys of two constants are not by interval"),
    ("ordered", "demand", "templates of a key are counted by number, not by interval"),
    ("maan", "ordered", "either puts numbers in an order of its own"),
    ("maan", "spread", "the parts of a key lie anywhere, and not between bounds"),
    ("maan", "composite", "keys of two constants have no order"),
    ("maan", "popular", "a number that is no key would lose all that is posted there with bounds"),
    ("maan", "demand", "templates are counted by number, not by what lies between bounds"),
    ("maan", "virtual", "a peer that has several places on the ring holds several ranges"),
    ("maan", "replicas", "holders on a ring are others than the closest by XOR"),
    ("maan", "choices", "a peer of another choice does not lie between bounds"),
    ("maan", "bounded", "a peer that has room does not lie between bounds"),
    ("choices", "bounded", "either says where a key lies"),
    ("choices", "composite", "nobody knows the facts of two constants together, which choices weigh"),
    ("bounded", "composite", "nobody knows the facts of two constants together, which bounds weigh"),
    ("choices", "replicas", "the other holders of a key are the next closest to it"),
    ("bounded", "replicas", "the other holders of a key are the next closest to it"),
    ("bounded", "virtual", "several ids even out what a bound does"),
)


def _numbered(part: str) -> tuple[str, int]:
    name, dash, digits = part.rpartition("-")
    if dash and name == "bounded":
        return name, _bound(part, digits)
    if dash and name in _NUMBERED:
        _, most = _NUMBERED[name]
        if not digits.isascii() or not digits.isdigit() or not 0 < int(digits) <= most:
            raise BadParameter(f"strategy part {part!r}: expected a number from 1 to {most} after {name!r}")
        return name, int(digits)
    if part not in _KNOWN:
        close = difflib.get_close_matches(part, _KNOWN, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise BadParameter(f"unknown strategy {part!r}; expected {', '.join(_KNOWN)}, joined by '+'{hint}")
    return part, _BOUND if part == "bounded" else _NUMBERED.get(part, (1, 1))[0]


def _bound(part: str, text: str) -> int:
    """So many times the mean, in hundredths."""
    found = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,2}))?", text)
    bound = int(found[1]) * HUNDREDTHS + int((found[2] or "").ljust(2, "0")) if found else 0
    if not HUNDREDTHS < bound <= _MOST_BOUND:
        raise BadParameter(
            f"strategy part {part!r}: expected a number above 1 and up to {_MOST_BOUND // HUNDREDTHS} after 'bounded', in "
            "hundredths at most, such as bounded-1.25"
        )
    return bound
