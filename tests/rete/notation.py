"""Conditions and facts as short texts: ``?x`` a variable, ``*`` a wildcard, any other word a constant."""

from __future__ import annotations

import rete
from rete import algebra

WORDS = {"?": lambda word: rete.Variable(word[1:]), "*": lambda _: rete.WILDCARD}


def condition(text: str) -> rete.Condition:
    """``condition("?x on *")``."""
    return rete.Condition(tuple(WORDS.get(word[0], str)(word) for word in text.split()))


def group(*parts: str | rete.Group) -> rete.Group:
    """Texts are its conditions; groups inside are its negated groups."""
    return rete.Group(
        tuple(condition(part) for part in parts if isinstance(part, str)),
        tuple(part for part in parts if isinstance(part, rete.Group)),
    )


def basic(*texts: str) -> algebra.Basic:
    """The conditions of a tree's basic graph pattern."""
    return algebra.Basic(tuple(map(condition, texts)))


none_of = group
"""Reads as NOT where it stands inside another group."""


def fact(text: str) -> tuple[str, ...]:
    """``fact("B1 on B2")``."""
    return tuple(text.split())


def template(text: str) -> rete.AnyTemplate:
    """The template of a condition."""
    return condition(text).template


def alpha(text: str) -> rete.AlphaSpec:
    """The alpha memory of a condition."""
    return rete.AlphaSpec(template(text))
