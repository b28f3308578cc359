"""The syntax of XPath's regular expressions, written as RE2 reads it (XPath F&O 5.6.1; XML Schema, appendix F).

What differs is bridged: a class may subtract another, ``\\i``, ``\\c``, ``\\p{IsBlock}`` and XPath's ``\\w`` exist (characters.py),
and ``$`` matches at the very end unless the flag m says otherwise. What XPath has and RE2 cannot do, back-references, is refused by
name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from ..errors import ExpressionError
from . import characters
from .characters import Ranges

MAX_SIZE = 3000
"""Items of a pattern, each as often as ``{n}`` repeats it; a larger one is an error of the expression. A class of hundreds of
ranges, such as ``\\w``, counts for several."""
MAX_REPEATS = 1000
"""What ``{n}`` and ``{n,m}`` may say, RE2's own limit; more is an error of the expression."""

_PROPERTY = re.compile(r"\{([A-Za-z0-9-]{1,60})\}")
_QUANTIFIER = re.compile(r"[?*+]|\{([0-9]{1,9})(,([0-9]{1,9})?)?\}")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}
_ITSELF = "\\|.?*+(){}$-[]^"
"""Characters that a backslash may stand before."""


class BadPattern(ExpressionError):
    """What is no pattern, or one that cannot be: ``problem`` says what is wrong at ``position`` of it."""

    def __init__(self, problem: str, position: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.position = position


@dataclass(slots=True)
class _Open:
    """A group that is being read: what is written of it, its size, and how wide a match of its present branch may be."""

    opening: str
    written: list[str] = field(default_factory=list)
    size: int = 1
    width: float = 0
    widest: float = 0
    last: tuple[int, float, bool] | None = None
    """Size and width of what a quantifier here would repeat, and whether it is one character; None where there is nothing."""


class Reader:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str, flags: str) -> None:
        self._pattern = pattern
        self._flags = flags
        self._at = 0
        self._begun = 0
        self._open = [_Open("")]
        self._run_ends: int | None = None
        """Where the only repetition without an end stops, if that is of one character and outside of groups."""
        self.size = 0
        """Items, as often as they are repeated."""
        self.reach: float = 0
        """Bytes after the end of a match that a search for it may look at."""

    def read(self) -> str:
        while self._at < len(self._pattern):
            self._begun = self._at
            self._item()
        if len(self._open) > 1:
            raise self._bad('a "(" is never closed')
        whole = self._open[0]
        self.size = whole.size
        self.reach = 4 * max(whole.width, whole.widest)
        if self._run_ends not in (None, len(self._pattern)):
            self.reach = math.inf
        return "".join(whole.written)

    def _bad(self, problem: str) -> BadPattern:
        return BadPattern(problem, min(self._begun, max(len(self._pattern) - 1, 0)))

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        if not character:
            raise self._bad("the pattern ends too early")
        self._at += 1
        return character

    def _item(self) -> None:
        character = self._next()
        if "q" in self._flags:
            self._characters(self._plain(character))
        elif character == "[":
            self._characters(self._class())
        elif character == "\\":
            found = self._escape()
            self._characters(self._plain(found) if isinstance(found, str) else found)
        elif character == ".":
            self._characters(characters.ALL if "s" in self._flags else _ANY_BUT_LINE_END)
        elif character in "^$":
            multiline = "m" in self._flags
            self._add(("(?m:^)" if multiline else "^") if character == "^" else ("(?m:$)" if multiline else r"\z"), 0, None)
        elif character == "(":
            self._begin_group()
        elif character == ")":
            self._end_group()
        elif character == "|":
            group = self._open[-1]
            group.widest, group.width = max(group.widest, group.width), 0
            self._add("|", 0, None)
        elif character in "?*+{":
            self._quantifier()
        elif character in "]}":
            raise self._bad(f'this "{character}" closes nothing; expected \\{character} for the sign')
        elif not ("x" in self._flags and character in " \t\n\r"):
            self._characters(self._plain(character))

    def _add(self, written: str, width: float, last: tuple[int, float, bool] | None) -> None:
        group = self._open[-1]
        group.written.append(written)
        group.size += 1
        group.width += width
        group.last = last
        self._check_size(group.size)

    def _check_size(self, size: int) -> None:
        if size > MAX_SIZE:
            raise self._bad(f"a pattern of more than {MAX_SIZE:,} items, repetitions included; expected a smaller one")

    def _characters(self, ranges: Ranges) -> None:
        """One character of a set."""
        size = 1 + len(ranges) // 100
        self._open[-1].size += size - 1
        self._add(_written(ranges), 1, (size, 1, True))

    def _plain(self, first: str, last: str = "") -> Ranges:
        """A character or a range of them, with their variants where case does not matter: escapes are as they are (F&O 5.6.1.1)."""
        ranges = ((ord(first), ord(last or first)),)
        return characters.with_variants(ranges) if "i" in self._flags else ranges

    def _begin_group(self) -> None:
        opening = "("
        if self._peek() == "?":
            if self._pattern[self._at : self._at + 2] != "?:":
                said = self._pattern[self._at - 1 : self._at + 2]
                raise self._bad(f'"{said}" is no group of XPath; expected "(" or "(?:" (no lookaround, no names, no flags inside)')
            self._at += 2
            opening = "(?:"
        self._open.append(_Open(opening))

    def _end_group(self) -> None:
        if len(self._open) == 1:
            raise self._bad('this ")" closes nothing; expected \\) for the sign')
        group = self._open.pop()
        width = max(group.width, group.widest)
        outer = self._open[-1]
        outer.size += group.size - 1
        self._add(f"{group.opening}{''.join(group.written)})", width, (group.size, width, False))

    def _quantifier(self) -> None:
        found = _QUANTIFIER.match(self._pattern, self._at - 1)
        if found is None:
            raise self._bad('a "{" that begins no number of repetitions, such as {2} or {2,5}; expected \\{ for the sign')
        group = self._open[-1]
        if group.last is None:
            raise self._bad(f'there is nothing before "{found[0]}" that could be repeated')
        self._at = found.end()
        least, most = 0, 1
        if found[1] is not None:
            least = int(found[1])
            most = least if found[2] is None else int(found[3]) if found[3] is not None else -1
        elif found[0] != "?":
            most = -1
        if max(least, most) > MAX_REPEATS:
            raise self._bad(f'"{found[0]}" repeats more than {MAX_REPEATS:,} times; expected fewer')
        if 0 <= most < least:
            raise self._bad(f'"{found[0]}" ends before it begins; expected the lower number first')
        reluctant = self._peek() == "?"
        self._at += reluctant
        if self._peek() in ("?", "*", "+", "{"):
            raise self._bad("one quantifier after another; expected a group around what the first repeats")
        size, width, one_character = group.last
        group.last = None
        group.size += size * (max(least, most, 1) - 1)
        self._check_size(group.size)
        if most >= 0:
            group.width += width * (most - 1)
        elif one_character and not reluctant and len(self._open) == 1 and self._run_ends is None:
            group.width += max(least - 1, 0)
            self._run_ends = self._at
        else:
            group.width = math.inf
        group.written.append(found[0] + "?" * reluctant)

    def _escape(self) -> Ranges | str:
        """What follows a backslash: a set of characters, or one character."""
        character = self._next()
        if character in "pP":
            found = self._property()
        elif character in "sSiIcCdDwW":
            found = _SETS[character.lower()]()
        elif character in _CONTROL:
            return _CONTROL[character]
        elif character in _ITSELF:
            return character
        elif "0" <= character <= "9":
            raise self._bad(f'the back-reference "\\{character}" is not supported: it cannot be matched in linear time')
        else:
            raise self._bad(
                f'"\\{character}" is no escape of XPath; expected one of \\n \\r \\t \\s \\d \\w \\i \\c \\p{{..}} or a sign'
            )
        return characters.complement(found) if character.isupper() else found

    def _property(self) -> Ranges:
        found = _PROPERTY.match(self._pattern, self._at)
        named = None if found is None else characters.property_named(found[1])
        if found is None or named is None:
            shown = self._pattern[self._at : self._at + 20]
            raise self._bad(f'"{shown}" names no category or block of Unicode; expected such as \\p{{Lu}} or \\p{{IsGreek}}')
        self._at = found.end()
        return named

    def _class(self) -> Ranges:
        """The set of a class, after its opening bracket."""
        if self._pattern.find("]", self._at) < 0:
            raise self._bad('this "[" is never closed; expected \\[ for the sign')
        # Classes inside each other are read by a stack, not by recursion.
        stack: list[tuple[bool, list[Ranges]]] = []
        negated = self._negated()
        parts: list[Ranges] = []
        while True:
            character = self._next()
            if character == "]":
                if not parts:
                    raise self._bad("a class without a character; expected \\] for the sign")
                made = characters.united(dict.fromkeys(parts))
                made = characters.complement(made) if negated else made
                if not stack:
                    return made
                negated, parts = stack.pop()
                if self._peek() != "]":
                    raise self._bad('a class that is subtracted stands last; expected "]" after it')
                one = characters.united(dict.fromkeys(parts))
                parts = [characters.difference(characters.complement(one) if negated else one, made)]
                negated = False
                continue
            if character == "-" and self._peek() == "[" and parts:
                self._at += 1
                stack.append((negated, parts))
                negated, parts = self._negated(), []
                continue
            if character == "[":
                raise self._bad('a "[" inside a class; expected \\[ for the sign, or "-[" to subtract a class')
            parts.append(self._class_item(character))

    def _negated(self) -> bool:
        negated = self._peek() == "^"
        self._at += negated
        return negated

    def _class_item(self, character: str) -> Ranges:
        """A character, an escape or a range of characters in a class."""
        first = self._escape() if character == "\\" else character
        ahead = self._pattern[self._at : self._at + 2]
        if ahead[:1] != "-" or ahead[1:] in ("]", "[", "") or character == "-":
            return self._plain(first) if isinstance(first, str) else first
        self._at += 1
        character = self._next()
        last = self._escape() if character == "\\" else character
        if not (isinstance(first, str) and isinstance(last, str)):
            raise self._bad("a range of what is no single character; expected such as a-z")
        if last < first:
            raise self._bad(f'the range "{first}-{last}" ends before it begins')
        return self._plain(first, last)


_ANY_BUT_LINE_END = characters.complement(((10, 10),))
_SETS: dict[str, Callable[[], Ranges]] = {
    "s": lambda: characters.SPACE,
    "i": lambda: characters.NAME_START,
    "c": lambda: characters.NAME,
    "d": characters.digits,
    "w": characters.word,
}


@lru_cache(maxsize=64)
def _written(ranges: Ranges) -> str:
    """The set as RE2 reads it. 64 are kept: categories are long to write."""
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _character(ranges[0][0])
    if not ranges:
        return r"[^\x{0}-\x{10FFFF}]"
    return "[" + "".join(_character(first) + (f"-{_character(last)}" if last > first else "") for first, last in ranges) + "]"


def _character(code: int) -> str:
    character = chr(code)
    return character if character.isascii() and character.isalnum() else rf"\x{{{code:X}}}"
