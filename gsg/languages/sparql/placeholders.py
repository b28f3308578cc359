"""A query's text made ready for rdflib's parser, and the way back to the text that the user wrote.

rdflib computes with the numbers that it reads (``01`` becomes 1) and drops the IRI of ``!^:p``. Both are replaced by
placeholders that survive: a number by an integer of 19 digits, an inverse in a negated set by an IRI, each with an index into
what stood there. So no global switch of rdflib is touched, which an application that embeds us may depend on. Codepoint escapes
are resolved here too (SPARQL 1.1, section 19.2), and what is no token at all is found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace

from ..bad_text import Mistake

_NAME = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff"
)
_NAME += "\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff_"
_REST = _NAME + "\\-0-9\u00b7\u0300-\u036f\u203f-\u2040"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_LOCAL = rf"(?:[{_NAME}:0-9]|{_ESCAPED})(?:(?:[{_REST}.:]|{_ESCAPED})*(?:[{_REST}:]|{_ESCAPED}))?"
TOKEN = re.compile(
    r"(?P<space>(?:[ \t\r\n]++|\#[^\r\n]*+)++)"
    r"|(?P<iri><[^<>\"{}|^`\\\x00-\x20]*>)"
    r"|(?P<string>\"\"\"(?:\"{0,2}(?:[^\"\\]|\\.))*\"\"\"|'''(?:'{0,2}(?:[^'\\]|\\.))*'''"
    r"|\"(?:[^\"\\\n\r]|\\.)*\"|'(?:[^'\\\n\r]|\\.)*')"
    rf"|(?P<blank>_:[{_NAME}0-9](?:[{_REST}.]*[{_REST}])?)"
    rf"|(?P<variable>[?$][{_NAME}0-9][{_NAME}0-9\u00b7\u0300-\u036f\u203f-\u2040]*)"
    r"|(?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)"
    rf"|(?P<name>(?:[{_NAME.replace('_', '')}](?:[{_REST}.]*[{_REST}])?)?:(?:{_LOCAL})?)"
    r"|(?P<number>(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+)"
    rf"|(?P<word>[{_NAME}][{_NAME}0-9]*)"
    r"|(?P<sign>\^\^|&&|\|\||!=|<=|>=|[{}()\[\],;.=<>!|/^*+?\-])",
    re.DOTALL,
)
_NOT_A_NAME = re.compile(TOKEN.pattern.replace("(?P<name>", "(?P<name>(?!)"), re.DOTALL)
_PREFIX = re.compile(rf"[{_REST}.]*+")
"""As far as a prefix could go on. Where no colon follows, none of the words in it begins a name: to look for the colon once more
from each of them would take quadratic time."""
_ESCAPE_PAIR = re.compile(r"\\(.)", re.DOTALL)
_CODEPOINT = re.compile(r"\\\\|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")

_REPETITION = re.compile(rf"\*|\+(?![0-9.])|\?(?![{_NAME}0-9])")
"""A sign that repeats a path: neither that of a number nor that of a variable."""

_FIRST_NUMBER = 7_000_000_000_000_000_000
_INVERSE = "urn:x-gsg-inverse:"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text as the user wrote it (codepoint escapes resolved), with its offset there."""

    kind: str
    text: str
    position: int


@dataclass(slots=True)
class Source:
    """A text for rdflib, and what its placeholders stand for."""

    text: str
    tokens: list[Token]
    _numbers: list[tuple[str, bool]] = field(default_factory=list)
    _inverses: list[str] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _originals: list[int] = field(default_factory=list)

    def original(self, position: int) -> int:
        """The offset in the user's text of an offset in ours."""
        at = bisect_right(self._starts, position) - 1
        if at < 0:
            return position
        end = self._originals[at + 1] if at + 1 < len(self._originals) else None
        offset = self._originals[at] + position - self._starts[at]
        return offset if end is None else min(offset, end)

    def part(self, tokens: list[Token]) -> Source:
        """The same text, of which just these tokens are looked at."""
        return replace(self, tokens=tokens)

    def number(self, value: int) -> tuple[str, bool] | None:
        """The digits that a placeholder stands for, and whether a plus sign stood directly before them."""
        index = abs(value) - _FIRST_NUMBER
        return self._numbers[index] if 0 <= index < len(self._numbers) else None

    def inverse(self, iri: str) -> str | None:
        """The token after ``^`` in a negated set that an IRI stands for."""
        return self._inverses[int(iri.removeprefix(_INVERSE))] if iri.startswith(_INVERSE) else None


def read(text: str) -> Source:
    """The text for rdflib; raises Mistake."""
    resolved, pieces = _resolved(text)
    source = Source("", [])
    made: list[str] = []
    length = 0
    position = without_names = 0
    negated = _NegatedSets()
    while position < len(resolved):
        found = (TOKEN if position >= without_names else _NOT_A_NAME).match(resolved, position)
        if found is None:
            raise Mistake(_back(pieces, position), _strange(resolved, position))
        kind, piece = found.lastgroup or "", found[0]
        if kind == "word" and position >= without_names:
            prefix = _PREFIX.match(resolved, position)
            assert prefix is not None  # it may be empty
            without_names = prefix.end()
        token = Token(kind, piece, _back(pieces, position))
        if kind != "space":
            written = _written(source, token, negated, made)
            source.tokens.append(token)
        else:
            # A comment is written as a space: a "#" that rdflib would take for one inside a long string stays what it is.
            written = "" if _is_left_out(source.tokens, resolved, found.end()) else " " if "#" in piece else piece
        source._starts.append(length)
        source._originals.append(token.position)
        made.append(written)
        length += len(written)
        position = found.end()
    source.text = "".join(made)
    return source


def _written(source: Source, token: Token, negated: _NegatedSets, made: list[str]) -> str:
    inverse = negated.sees(token)
    if inverse == "caret":
        return ""
    if inverse == "iri":
        source._inverses.append(token.text)
        return f"<{_INVERSE}{len(source._inverses) - 1}>"
    if token.kind == "string":
        return _string(token)
    if token.kind == "variable":
        # Without a gap rdflib takes the "?" of `:p?x` for one that repeats the path.
        return f" {token.text}"
    if token.kind != "number":
        return token.text
    plus = bool(made) and made[-1] == "+"
    source._numbers.append((token.text, plus))
    return str(_FIRST_NUMBER + len(source._numbers) - 1)


def _is_left_out(tokens: list[Token], text: str, position: int) -> bool:
    """Whether a gap stands where rdflib takes none: around ``^^``, and before a language or the repetition of a path."""
    if not tokens:
        return False
    last = tokens[-1]
    if last.text == "^^":
        return True
    if last.kind == "string":
        return text.startswith(("^^", "@"), position)
    # In an expression a gap before "*" or "+" says nothing.
    return (last.kind in ("iri", "name") or last.text in (")", "a")) and _REPETITION.match(text, position) is not None


def _string(token: Token) -> str:
    """The string as rdflib takes it: without a backslash before a quote of the other kind."""
    other = "'" if token.text[0] == '"' else '"'

    def written(pair: re.Match[str]) -> str:
        if pair[1] not in "tbnrf\\\"'":
            raise Mistake(
                token.position + pair.start(),
                f'"{pair[0]}" is no escape; expected one of \\t \\b \\n \\r \\f \\" \\\' \\\\ \\uXXXX',
            )
        return other if pair[1] == other else pair[0]

    return _ESCAPE_PAIR.sub(written, token.text)


class _NegatedSets:
    """Follows the tokens through ``!^:p`` and ``!(:p|^:q)``."""

    def __init__(self) -> None:
        self._before = ""
        self._inside = False
        self._pending = False

    def sees(self, token: Token) -> str:
        """``caret`` and ``iri`` for the two tokens of an inverse in a negated set, else nothing."""
        before, self._before = self._before, token.text
        if self._pending:
            self._pending = False
            return "iri" if token.kind in ("iri", "name") or token.text == "a" else ""
        if token.text == "(" and before == "!":
            self._inside = True
        elif self._inside and token.text not in ("|", "^", "a") and token.kind not in ("iri", "name"):
            self._inside = False
        if token.text == "^" and (before == "!" or (self._inside and before in ("(", "|"))):
            self._pending = True
            return "caret"
        return ""


def _resolved(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without codepoint escapes, and where offsets shift: pairs of an offset in it and in the user's."""
    pieces = [(0, 0)]
    made = []
    length = last = 0
    for found in _CODEPOINT.finditer(text):
        if found[0] == "\\\\":
            continue
        code = int(found[1] or found[2], 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise Mistake(found.start(), f'"{found[0]}" is no character; expected a code up to 10FFFF that is no surrogate')
        made.append(text[last : found.start()])
        length += found.start() - last + 1
        made.append(chr(code))
        last = found.end()
        pieces.append((length, last))
    made.append(text[last:])
    return "".join(made), pieces


def _back(pieces: list[tuple[int, int]], position: int) -> int:
    start, original = pieces[bisect_right(pieces, position, key=lambda piece: piece[0]) - 1]
    return original + position - start


def _strange(text: str, position: int) -> str:
    character = text[position]
    if character in "\"'":
        closing = character * 3 if text.startswith(character * 3, position) else character
        return f"the string that begins here has no end; expected a closing {closing}"
    if character == "\\":
        return "a backslash outside of a string; expected it in a string or a prefixed name only"
    shown = f'"{character}"' if character.isprintable() else f"character U+{ord(character):04X}"
    return f"unexpected {shown}; no part of a query begins with it"
