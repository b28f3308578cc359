"""REGEX and REPLACE: XPath's regular expressions in terms of Python's (SPARQL 1.1, 17.4.3.14 and 17.4.3.15; XPath F&O 5.6).

A pattern is read item by item and written as Python means it; what only Python knows (lookaheads, named groups, ``\\b``) is an
error. Differences that are bridged: ``$`` matches at the very end only, ``\\s`` and ``\\w`` are XPath's, ``\\i``, ``\\c`` and
``\\p{..}`` exist, and a class may subtract another. Both engines backtrack, so a pattern is bounded in length, not in time.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from itertools import groupby

from .errors import ExpressionError

MAX_PATTERN = 2000
"""Characters of a pattern; a longer one is an error of the expression."""

_SPACE_CLASS = r" \t\n\r"
_NAME_START = (
    r":A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C-\u200D\u2070-\u218F\u2C00-\u2FEF"
    r"\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
_NAME_REST = _NAME_START + r"\-.0-9\u00B7\u0300-\u036F\u203F-\u2040"
_CLASSES = {"s": _SPACE_CLASS, "i": _NAME_START, "c": _NAME_REST}
_CATEGORY = re.compile(r"\{([A-Z][a-z]?)\}")
_QUANTIFIER = re.compile(r"[?*+]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\}")
_CONTROL = {"n": r"\n", "r": r"\r", "t": r"\t"}


@lru_cache(maxsize=512)
def compiled(pattern: str, flags: str) -> re.Pattern[str]:
    """The pattern as Python's; raises ExpressionError for what is no pattern or no flags."""
    if len(pattern) > MAX_PATTERN or not set(flags) <= set("smixq"):
        raise ExpressionError
    options = 0
    if "i" in flags:
        options |= re.IGNORECASE
    if "q" in flags:
        return re.compile(re.escape(pattern), options)
    if "s" in flags:
        options |= re.DOTALL
    try:
        return re.compile(_Reader(pattern, multiline="m" in flags, spaced="x" in flags).read(), options)
    except (re.error, OverflowError, RecursionError):
        raise ExpressionError from None


@lru_cache(maxsize=512)
def replacement(template: str, groups: int) -> tuple[str | int, ...]:
    """A replacement as texts and numbers of groups (``$1``; a backslash escapes). Raises ExpressionError."""
    parts: list[str | int] = []
    position = 0
    while position < len(template):
        character = template[position]
        following = template[position + 1 : position + 2]
        if character == "\\":
            if following not in ("\\", "$") or not following:
                raise ExpressionError
            parts.append(following)
            position += 2
        elif character == "$":
            if not ("0" <= following <= "9"):
                raise ExpressionError
            number = int(following)
            position += 2
            # Further digits belong to the number as long as there is such a group.
            while "0" <= template[position : position + 1] <= "9" and number * 10 + int(template[position]) <= groups:
                number = number * 10 + int(template[position])
                position += 1
            parts.append(number if number <= groups else "")
        else:
            parts.append(character)
            position += 1
    return tuple(parts)


@lru_cache(maxsize=64)
def category(name: str) -> str:
    """The characters of a Unicode category such as ``Lu`` or ``L``, as the inside of a class."""
    if name not in _categories() and name not in {known[0] for known in _categories()}:
        raise ExpressionError
    codes = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith(name)]
    ranges = []
    for _, run in groupby(enumerate(codes), key=lambda entry: entry[1] - entry[0]):
        members = [code for _, code in run]
        ranges.append(f"\\U{members[0]:08X}-\\U{members[-1]:08X}" if len(members) > 1 else f"\\U{members[0]:08X}")
    return "".join(ranges)


@lru_cache(maxsize=1)
def _categories() -> frozenset[str]:
    return frozenset(
        [
            "Lu",
            "Ll",
            "Lt",
            "Lm",
            "Lo",
            "Mn",
            "Mc",
            "Me",
            "Nd",
            "Nl",
            "No",
            "Pc",
            "Pd",
            "Ps",
            "Pe",
            "Pi",
            "Pf",
            "Po",
            "Zs",
            "Zl",
            "Zp",
            "Sm",
            "Sc",
            "Sk",
            "So",
            "Cc",
            "Cf",
            "Co",
            "Cn",
        ]
    )


class _Reader:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str, *, multiline: bool, spaced: bool) -> None:
        self._pattern = pattern
        self._multiline = multiline
        self._spaced = spaced
        self._at = 0

    def read(self) -> str:
        made = []
        while self._at < len(self._pattern):
            made.append(self._item())
        return "".join(made)

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        if not character:
            raise ExpressionError
        self._at += 1
        return character

    def _item(self) -> str:
        character = self._next()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        if character == "^":
            return r"(?:^|(?<=\n))" if self._multiline else "^"
        if character == "$":
            return r"(?=\n|\Z)" if self._multiline else r"\Z"
        if character == "(":
            if self._peek() == "?" and self._pattern[self._at : self._at + 2] != "?:":
                raise ExpressionError
            if self._peek() == "?":
                self._at += 2
                return "(?:"
            return "("
        if character in "?*+{":
            return self._quantifier()
        if character in "]}":
            raise ExpressionError
        if self._spaced and character in " \t\n\r":
            return ""
        return character if character in "|)." else re.escape(character)

    def _quantifier(self) -> str:
        found = _QUANTIFIER.match(self._pattern, self._at - 1)
        if found is None:
            raise ExpressionError
        self._at = found.end()
        reluctant = self._peek() == "?"
        self._at += reluctant
        if self._peek() in ("?", "*", "+", "{"):
            raise ExpressionError  # Python would take a possessive quantifier, which XPath has not
        return found[0] + "?" * reluctant

    def _escape(self) -> str:
        character = self._next()
        if character in "pP":
            return f"[{'^' if character == 'P' else ''}{self._category()}]"
        if character in "dD":
            return "\\" + character
        if character in "wW":
            # XPath: everything but punctuation, separators and others.
            inside = category("P") + category("Z") + category("C")
            return f"[{'^' if character == 'w' else ''}{inside}]"
        if character.lower() in _CLASSES:
            return f"[{'^' if character.isupper() else ''}{_CLASSES[character.lower()]}]"
        if "1" <= character <= "9":
            return f"(?:\\{character})"
        return self._character(character)

    def _character(self, character: str) -> str:
        if character in _CONTROL:
            return _CONTROL[character]
        if character in "\\|.?*+(){}$-[]^":
            return "\\" + character
        raise ExpressionError

    def _category(self) -> str:
        found = _CATEGORY.match(self._pattern, self._at)
        if found is None:
            raise ExpressionError
        self._at = found.end()
        return category(found[1])

    def _class(self) -> str:
        negated = self._peek() == "^"
        self._at += negated
        inside: list[str] = []
        subtracted = ""
        while self._peek() != "]" or not inside:
            character = self._next()
            if character == "-" and self._peek() == "[" and inside:
                self._at += 1
                subtracted = f"(?!{self._class()})"
                if self._peek() != "]":
                    raise ExpressionError
                break
            if character == "[" or (character == "]" and not inside):
                raise ExpressionError
            inside.append(self._class_escape() if character == "\\" else "-" if character == "-" else re.escape(character))
        self._at += 1
        return f"{subtracted}[{'^' if negated else ''}{''.join(inside)}]"

    def _class_escape(self) -> str:
        character = self._next()
        if character == "p":
            return self._category()
        if character in "dD":
            return "\\" + character
        if character == "W":
            return category("P") + category("Z") + category("C")
        if character == "w":
            return "".join(category(name) for name in "LMNS")
        if character in _CLASSES:
            return _CLASSES[character]
        if character == "S":
            return r"\S"
        return self._character(character)
