"""Sets of characters, as a pattern of XPath names them: categories and blocks of Unicode, name characters of XML, differences.

A set is its ranges of code points, sorted and apart. The engine knows no subtraction, no blocks and no unassigned characters, so
what a class means is worked out here and written as ranges. Where case does not matter, a set has its characters' variants too:
XPath F&O 5.6.1.1 has two characters match where their lower or their upper case is the same.
"""

from __future__ import annotations

import sys
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import chain
from typing import TypeAlias

from .unicode_blocks import blocks

Ranges: TypeAlias = tuple[tuple[int, int], ...]

_LAST = sys.maxunicode
ALL: Ranges = ((0, _LAST),)
SPACE: Ranges = ((0x9, 0xA), (0xD, 0xD), (0x20, 0x20))
NAME_START: Ranges = (
    *((0x3A, 0x3A), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2FF), (0x370, 0x37D)),
    *((0x37F, 0x1FFF), (0x200C, 0x200D), (0x2070, 0x218F), (0x2C00, 0x2FEF), (0x3001, 0xD7FF), (0xF900, 0xFDCF)),
    *((0xFDF0, 0xFFFD), (0x10000, 0xEFFFF)),
)
"""``\\i``: what an XML name may begin with (XML 1.0, production 4)."""


def united(sets: Iterable[Ranges]) -> Ranges:
    """The characters of any of the sets."""
    made: list[tuple[int, int]] = []
    for first, last in sorted(chain.from_iterable(sets)):
        if made and first <= made[-1][1] + 1:
            made[-1] = made[-1][0], max(made[-1][1], last)
        else:
            made.append((first, last))
    return tuple(made)


def complement(ranges: Ranges) -> Ranges:
    """All other characters."""
    made = []
    begin = 0
    for first, last in ranges:
        if begin < first:
            made.append((begin, first - 1))
        begin = last + 1
    return (*made, (begin, _LAST)) if begin <= _LAST else tuple(made)


def difference(one: Ranges, other: Ranges) -> Ranges:
    """The characters of one set that are not in the other."""
    return complement(united((complement(one), other)))


NAME: Ranges = united((NAME_START, ((0x2D, 0x2E), (0x30, 0x39), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040))))
"""``\\c``: what an XML name may go on with (XML 1.0, production 4a)."""


@cache
def categories() -> dict[str, Ranges]:
    """Every category of Unicode, such as ``Lu``, and each of their families, such as ``L``. Takes a tenth of a second, once."""
    kinds: dict[str, list[tuple[int, int]]] = {}
    first, kind = 0, unicodedata.category(chr(0))
    for code in range(1, _LAST + 1):
        found = unicodedata.category(chr(code))
        if found != kind:
            kinds.setdefault(kind, []).append((first, code - 1))
            first, kind = code, found
    kinds.setdefault(kind, []).append((first, _LAST))
    made = {name: tuple(ranges) for name, ranges in kinds.items() if name != "Cs"}  # no text has half of a pair
    families = {name[0] for name in made}
    return made | {family: united(ranges for name, ranges in made.items() if name[0] == family) for family in families}


def property_named(name: str) -> Ranges | None:
    """``Lu`` or ``IsBasicLatin``; None for a name that there is not."""
    if name.startswith("Is"):
        block = blocks().get(name[2:])
        return None if block is None else (block,)
    return categories().get(name)


def digits() -> Ranges:
    """``\\d``."""
    return categories()["Nd"]


@cache
def word() -> Ranges:
    """``\\w``: everything but punctuation, separators and others."""
    return united(categories()[family] for family in "LMNS")


@lru_cache(maxsize=256)
def with_variants(ranges: Ranges) -> Ranges:
    """The set with each character's variants in upper and lower case. 256 answers are kept: those of categories, mostly."""
    cased, variants = _cased()
    found: list[tuple[int, int]] = []
    for first, last in ranges:
        at = bisect_left(cased, first)
        while at < len(cased) and cased[at] <= last:
            found.extend((code, code) for code in variants[cased[at]])
            at += 1
    return united((ranges, tuple(found))) if found else ranges


@cache
def _cased() -> tuple[list[int], dict[int, tuple[int, ...]]]:
    """The characters that have a case, in order, and what each matches where case does not matter."""
    families: dict[str, set[int]] = {}
    codes = []
    # No ideograph and no Hangul syllable has a case, and nothing beyond the second plane.
    for code in chain(range(0x3400), range(0xA000, 0xAC00), range(0xF900, 0x20000)):
        character = chr(code)
        lower, upper = character.lower(), character.upper()
        if lower != character or upper != character:
            codes.append(code)
            for form in {lower, upper}:
                families.setdefault(form, set()).add(code)
                if len(form) == 1:
                    families[form].add(ord(form))
    variants = {}
    for code in codes:
        character = chr(code)
        variants[code] = tuple(sorted(families[character.lower()] | families[character.upper()]))
    return codes, variants
