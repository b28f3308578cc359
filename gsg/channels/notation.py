"""Events as texts: JSON, and the notation of name-value pairs.

    userid: Fred; time: 12:40:18; type: error; message: read unhappy maknam

A value without marks is a text, as in Filman and Lee (section "Events"): whoever compares it with a number has it read as one. The
marks tell the other kinds: ``#5`` a number, ``#true #false #null``, ``<gsg://host:1/name>`` a reference, ``[a, #2]`` a list,
``{name: value; name: value}`` an event, and ``"a; b"``, with JSON's escapes, a text that would read otherwise. In JSON a reference
is ``{"$ref": "gsg://host:1/name"}``, and a number without a form there ``{"$number": "NaN"}``; an event that is one such name alone
has one ``$`` more there.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from ..errors import BadTerm
from ..languages.bad_text import Mistake, bad_text
from .events import MAX_CHARACTERS, MAX_DEPTH, fields_of
from .values import Reference, Value

REFERENCE: Final = "$ref"
NUMBER: Final = "$number"
"""The names by which JSON says a reference, and a number that it has no form for."""
MAX_JSON: Final = 8 * MAX_CHARACTERS
"""Characters of an event as a text, marks and escapes counted; a longer one is refused."""
_MARK = re.compile(r"\$+(?:ref|number)")
_PLAIN_END = re.compile(r"[;,\]}]")
_ENDS: Final = {"": re.compile(";"), "}": re.compile("[;}]"), "]": re.compile(r"[,\]]")}
"""Where a text without marks ends: at the top, in an event, in a list."""
_NAME = re.compile(r"""[^:;\s"{}\[\]<>#][^:;]*""")
"""A name without marks; spaces at its end are not a part of it."""
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[^\s;,\]}]+")


def to_json(fields: Mapping[str, Value]) -> str:
    """An event as JSON."""
    return json.dumps(_plain(fields), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:  # Any: JSON's values
    if isinstance(value, Reference):
        return {REFERENCE: value.address}
    if isinstance(value, Mapping):
        plain = {name: _plain(each) for name, each in value.items()}
        return {f"${name}": each for name, each in plain.items()} if _is_marked(plain) else plain
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {NUMBER: json.dumps(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _is_marked(found: Mapping[str, Any]) -> bool:  # Any: as above
    """Whether an object of JSON reads as something else, but for one more $ before its only name."""
    return len(found) == 1 and _MARK.fullmatch(next(iter(found))) is not None


def from_json(text: str | bytes) -> dict[str, Value]:
    """The event of a JSON object. Raises BadTerm for what is none, or too large a one."""
    if len(text) > MAX_JSON:
        raise BadTerm(f"an event of {len(text):,} characters as JSON; expected at most {MAX_JSON:,}")
    return fields_of(decode_json(text))


def decode_json(text: str | bytes) -> dict[str, Value]:
    """The same, of any size, for what is known to be an event. Raises BadTerm for what is none."""
    try:
        found = json.loads(text, object_hook=_unmarked)
    except (ValueError, RecursionError) as error:
        raise BadTerm(f'an event that is no JSON: {error}; expected an object such as {{"type": "error"}}') from None
    if not isinstance(found, dict):
        raise BadTerm(f"an event that is a JSON {type(found).__name__}; expected an object from names to values")
    return found


def _unmarked(found: dict[str, Any]) -> Any:  # Any: as above
    if not _is_marked(found):
        return found
    (name, value), *_ = found.items()
    if name == REFERENCE and isinstance(value, str):
        return Reference(value)
    if name == NUMBER and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    return {name[1:]: value} if name.startswith("$$") else found


def read_any(text: str) -> dict[str, Value]:
    """The event of a text in either notation: JSON begins with a brace. Raises BadTerm, BadText."""
    return from_json(text) if text.lstrip()[:1] == "{" else read(text)


def write(fields: Mapping[str, Value]) -> str:
    """An event in the notation of name-value pairs."""
    return "; ".join(f"{_name(name)}: {_value(value)}" for name, value in fields.items())


def _name(name: str) -> str:
    is_plain = _NAME.fullmatch(name) is not None and not name[-1].isspace()
    return name if is_plain else json.dumps(name, ensure_ascii=False)


def _value(value: Value) -> str:
    match value:
        case str():
            is_plain = value.strip() == value != "" and value[0] not in '"#<[{' and not _PLAIN_END.search(value)
            return value if is_plain else json.dumps(value, ensure_ascii=False)
        case Reference(address):
            return f"<{json.dumps(address)}>" if ">" in address or address[:1] == '"' else f"<{address}>"
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return f"{{{write(value)}}}"
        case _:
            return "#" + json.dumps(value)


def read(text: str) -> dict[str, Value]:
    """The event of a text of name-value pairs. Raises BadText, and BadTerm for too large a one."""
    if len(text) > MAX_JSON:
        raise BadTerm(f"an event of {len(text):,} characters; expected at most {MAX_JSON:,}")
    reader = _Reader(text)
    try:
        found = reader.fields(0, end="")
    except Mistake as mistake:
        raise bad_text(text, mistake.position, mistake.problem, what="event") from None
    return fields_of(found)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def fields(self, depth: int, *, end: str) -> dict[str, Value]:
        if depth > MAX_DEPTH:
            raise Mistake(self._at, f"values nested more than {MAX_DEPTH} deep; expected fewer")
        found: dict[str, Value] = {}
        while not self._is_at(end):
            name = self._name()
            found[name] = self._value(depth, _ENDS[end])
            if not self._is_at(end) and not self._take(";"):
                raise Mistake(self._skip(), 'something after a value; expected ";" and the next name, or the end')
        self._at += len(end)
        return found

    def _name(self) -> str:
        begin = self._skip()
        if self._text.startswith('"', begin):
            name = self._text_of(begin)
        else:
            found = _NAME.match(self._text, begin)
            name = "" if found is None else found.group().rstrip()
            self._at = begin if found is None else found.end()
        if not name or not self._take(":"):
            raise Mistake(begin, 'no "name: value"; expected one, such as "type: error"')
        return name

    def _value(self, depth: int, ends: re.Pattern[str]) -> Value:
        begin = self._skip()
        match self._text[begin : begin + 1]:
            case '"':
                return self._text_of(begin)
            case "#":
                return self._marked(begin)
            case "<":
                return self._reference(begin)
            case "[":
                self._at += 1
                return self._list(depth + 1)
            case "{":
                self._at += 1
                return self.fields(depth + 1, end="}")
        found = ends.search(self._text, begin)
        self._at = len(self._text) if found is None else found.start()
        return self._text[begin : self._at].strip()

    def _list(self, depth: int) -> list[Value]:
        if depth > MAX_DEPTH:
            raise Mistake(self._at, f"values nested more than {MAX_DEPTH} deep; expected fewer")
        found: list[Value] = []
        while not self._is_at("]"):
            found.append(self._value(depth, _ENDS["]"]))
            if not self._is_at("]") and not self._take(","):
                raise Mistake(self._skip(), 'something after an element; expected "," and the next, or "]"')
        self._at += 1
        return found

    def _text_of(self, begin: int) -> str:
        found = _QUOTED.match(self._text, begin)
        if found is None:
            raise Mistake(begin, "a text that is never closed")
        self._at = found.end()
        try:
            return str(json.loads(found.group(), strict=False))
        except ValueError:
            raise Mistake(begin, "a text with an escape that JSON has not") from None

    def _marked(self, begin: int) -> Value:
        found = _WORD.match(self._text, begin + 1)
        word = "" if found is None else found.group()
        self._at = begin + 1 + len(word)
        try:
            value = json.loads(word)
        except ValueError:
            value = word
        if isinstance(value, (str, list, dict)):
            raise Mistake(begin, f"#{word} is neither a number nor #true, #false or #null; a text has no mark") from None
        return value  # type: ignore[no-any-return]  # a simple value

    def _reference(self, begin: int) -> Reference:
        if self._text.startswith('<"', begin):
            address = self._text_of(begin + 1)
            if not self._take(">"):
                raise Mistake(begin, 'a reference that is never closed; expected ">"')
            return Reference(address)
        end = self._text.find(">", begin)
        if end < 0:
            raise Mistake(begin, 'a reference that is never closed; expected ">"')
        self._at = end + 1
        return Reference(self._text[begin + 1 : end])

    def _skip(self) -> int:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at

    def _is_at(self, end: str) -> bool:
        begin = self._skip()
        return self._text.startswith(end, begin) if end else begin == len(self._text)

    def _take(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._skip()):
            return False
        self._at += 1
        return True
