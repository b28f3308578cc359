"""REGEX and REPLACE: XPath's regular expressions in linear time (SPARQL 1.1, 17.4.3.14 and 17.4.3.15; XPath F&O 5.6).

A pattern is written anew for RE2 (syntax.py), whose time is at most the length of the text times the size of the pattern,
whatever either says.

What is bounded, for a pattern may come from a stranger's text or from data, is the pattern (its length, size and memory), the
patterns that are kept, and the steps of one search: beyond, the expression is an error, for the same texts at every peer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from ..errors import ExpressionError
from .syntax import BadPattern, Reader

MAX_PATTERN = 2000
"""Characters of a pattern; a longer one is an error of the expression."""
MAX_BYTES = 512 * 1024
"""Memory of one compiled pattern; one that needs more is an error of the expression, and one that would go faster with more is
slower."""
MAX_KEPT = 64
"""Compiled patterns that are kept, so 32 MiB of them at most; that which was not used for the longest time goes. RE2's wrapper
keeps up to 128, under the same limit each."""
MAX_STEPS = 30_000_000
"""Steps of one REGEX or REPLACE, about a tenth of a second at worst: items of the pattern times bytes of the text that are looked
at. Where a text may need more, the expression is an error."""

_STEPS_OF_MATCH, _STEPS_OF_PART = 1000, 20
"""What REPLACE spends on each match and on each piece of the replacement, in steps of the search."""

_SPECIAL = re.compile(r"\\(.?)|\$([0-9]*)", re.DOTALL)


def compiled(pattern: str, flags: str) -> Pattern:
    """The pattern, ready to be searched for. Raises BadPattern for what is no pattern or no flags."""
    if len(pattern) > MAX_PATTERN:
        raise BadPattern(f"a pattern of {len(pattern):,} characters; expected at most {MAX_PATTERN:,}")
    if flags:
        flags = "".join(sorted(set(flags)))
        strange = flags.strip("imqsx")
        if strange:
            raise BadPattern(f"unknown flag {strange[0]!r}; expected some of s, m, i, x and q")
    found = _compiled(pattern, flags)
    if isinstance(found, BadPattern):
        raise BadPattern(found.problem, found.position)
    return found


@lru_cache(maxsize=MAX_KEPT)
def _compiled(pattern: str, flags: str) -> Pattern | BadPattern:
    """What is no pattern is kept too: from data it may come with every row."""
    reader = Reader(pattern, flags)
    try:
        written = reader.read()
        return Pattern(_engine(written), reader.size, reader.reach)
    except BadPattern as error:
        return error.with_traceback(None)


def _engine(written: str) -> Any:  # Any: RE2's wrapper has no types
    import re2  # when the first pattern is met: it takes a hundredth of a second

    options = re2.Options()
    options.max_mem = MAX_BYTES
    options.log_errors = False
    try:
        return re2.compile(written.encode(), options)
    except re2.error as error:
        said = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise BadPattern(f"a pattern that needs more than {MAX_BYTES // 1024} KiB ({said}); expected fewer repetitions") from None


class Pattern:
    """A compiled pattern. Texts are searched as UTF-8."""

    __slots__ = ("_engine", "_reach", "_size", "groups", "matches_nothing")

    def __init__(self, engine: Any, size: int, reach: float) -> None:  # Any: RE2's wrapper has no types
        self._engine = engine
        self._size = size
        self._reach = reach
        self.groups: int = engine.groups
        self.matches_nothing = engine.search(b"") is not None
        """Whether an empty text matches."""

    def matches(self, text: str) -> bool:
        """Whether the pattern is in the text. Raises ExpressionError for a text that is too long for it."""
        return self._engine.search(self._searchable(text)) is not None

    def _searchable(self, text: str) -> bytes:
        try:
            encoded = text.encode()
        except UnicodeEncodeError:
            raise ExpressionError from None
        if self._size * len(encoded) > MAX_STEPS:
            raise ExpressionError
        return encoded

    def replaced(self, text: str, by: tuple[str | int, ...], longest: int) -> str:
        """The text with a replacement for each match: texts, and numbers of groups.

        Raises ExpressionError where that takes too many steps or the result has more than ``longest`` characters.
        """
        encoded = self._searchable(text)
        parts = [part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in by]
        made: list[bytes] = []
        steps = length = at = 0
        for match in self._engine.finditer(encoded):
            start, end = match.span()
            # To find a match, the engine may have looked further than where it ends.
            looked_at = min(end - at + self._reach, len(encoded) - at)
            steps += self._size * int(looked_at) + _STEPS_OF_MATCH + _STEPS_OF_PART * len(parts)
            pieces = [encoded[at:start], *(part if isinstance(part, bytes) else match[part] or b"" for part in parts)]
            length += sum(map(len, pieces))
            if steps > MAX_STEPS or length > 4 * longest:  # a character has four bytes at most
                raise ExpressionError
            made.extend(pieces)
            at = end
        made.append(encoded[at:])
        result = b"".join(made).decode("utf-8", "surrogatepass")
        if len(result) > longest:
            raise ExpressionError
        return result


def replacement(template: str, groups: int) -> tuple[str | int, ...]:
    """A replacement as texts and numbers of groups (``$1``; a backslash escapes). Raises BadPattern."""
    parts: list[str | int] = []
    at = 0
    for found in _SPECIAL.finditer(template):
        if found.start() < at:
            continue
        parts.append(template[at : found.start()])
        at = found.end()
        if found[2] is None:
            if found[1] not in ("\\", "$"):
                raise BadPattern("a backslash in a replacement stands before \\ or $ only", found.start())
            parts.append(found[1])
            continue
        if not found[2]:
            raise BadPattern('a "$" in a replacement stands before the number of a group; expected \\$ for the sign', found.start())
        digits = 1
        # Further digits belong to the number as long as there is such a group.
        while digits < len(found[2]) and int(found[2][: digits + 1]) <= groups:
            digits += 1
        number = int(found[2][:digits])
        parts.append(number if number <= groups else "")
        at = found.start() + 1 + digits
    parts.append(template[at:])
    return tuple(part for part in parts if part != "")
