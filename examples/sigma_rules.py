"""Sigma rules as texts of the predicate language.

A rule says what is conspicuous in a log: ``detection`` has named selections and a ``condition`` that puts them together
(Sigma specification 2.1, "Detection" and "Appendix: Modifiers"). A selection that is a map asks for all of its fields, a list for
one of its entries, a text alone for that text in any field; a field with several values asks for one of them, or with the
modifier ``all`` for all. Texts are compared without regard to case, ``*`` and ``?`` are wildcards.

What is not translated is refused by name: placeholders, which stand for lists that each site has for itself. ``fieldref`` compares
two fields exactly, case included.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Any, Final

from sigma_sources import source_text

MAX_WORDS: Final = 200
"""Of a condition; a longer one is refused."""
MAX_NESTED: Final = 20
"""Brackets within brackets, and lists within lists; a rule with more is refused."""
MAX_SPELLINGS: Final = 1_000
"""Ways in which the dashes of one value may be written; a value with more is refused."""
DASHES: Final = "-/\N{EN DASH}\N{EM DASH}\N{HORIZONTAL BAR}"
"""What ``windash`` takes for one another at the beginning of an option."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, with whom to thank for it, and its condition as a text of the predicate language."""

    id: str
    title: str
    author: str
    level: str
    text: str


class Refused(ValueError):
    """A rule that is not translated: ``kind`` says why, in a word or two that other rules may share."""

    def __init__(self, kind: str, problem: str) -> None:
        super().__init__(f"{kind}: {problem}")
        self.kind = kind


def translated(given: Mapping[str, Any]) -> Rule:
    """A rule read from JSON. Raises Refused."""
    try:
        detection = given["detection"]
        text = f"(and {source_text(given['logsource'])} {_Condition(detection).text()})"
        return Rule(given["id"], given["title"], given["author"], given.get("level", ""), text)
    except KeyError as error:
        raise Refused("incomplete", f"no {error.args[0]!r}; expected id, title, author, logsource and detection") from None


# --- the condition --------------------------------------------------------------------------------------------------------------

_WORD = re.compile(r"\s*([()]|[^\s()]+)")


class _Condition:
    """Reads ``condition``: names of selections with not, and, or (which bind in this order) and ``1 of x*``."""

    def __init__(self, detection: Mapping[str, Any]) -> None:
        self._detection = detection
        self._words: list[str] = _WORD.findall(str(detection["condition"]))[::-1]
        self._said = " ".join(self._words[::-1])
        if len(self._words) > MAX_WORDS:
            raise Refused("condition", f"{len(self._words)} words; expected at most {MAX_WORDS}")

    def text(self) -> str:
        whole = self._or(0)
        if self._words:
            raise Refused("condition", f"{self._words[-1]!r} where {self._said!r} should end")
        return whole

    def _or(self, depth: int) -> str:
        return self._joined("or", lambda: self._joined("and", lambda: self._one(depth)))

    def _joined(self, word: str, part: Callable[[], str]) -> str:
        parts = [part()]
        while self._words and self._words[-1].lower() == word:
            self._words.pop()
            parts.append(part())
        return form(word, parts)

    def _one(self, depth: int) -> str:
        if depth > MAX_NESTED:
            raise Refused("condition", f"brackets and not nested more than {MAX_NESTED} deep")
        word = self._next()
        if word.lower() == "not":
            return f"(not {self._one(depth + 1)})"
        if word == "(":
            inner = self._or(depth + 1)
            if self._next() != ")":
                raise Refused("condition", f"a bracket of {self._said!r} that is never closed")
            return inner
        if self._words and self._words[-1].lower() == "of":
            self._words.pop()
            return self._some(word.lower(), self._next())
        if word in self._detection and word != "condition":
            return selection_text(self._detection[word])
        raise Refused("condition", f"no selection is called {word!r} in {self._said!r}")

    def _some(self, quantity: str, pattern: str) -> str:
        names = [name for name in self._detection if name != "condition"]
        wanted = [name for name in names if (name[0] != "_" if pattern == "them" else fnmatchcase(name, pattern))]
        if quantity not in ("1", "any", "all") or not wanted:
            raise Refused("condition", f"{quantity!r} of {pattern!r}; expected 1 or all, of selections that are there")
        return form("and" if quantity == "all" else "or", [selection_text(self._detection[name]) for name in wanted])

    def _next(self) -> str:
        if not self._words:
            raise Refused("condition", f"{self._said!r} ends too early")
        return self._words.pop()


def form(word: str, parts: list[str]) -> str:
    """Parts joined by ``and`` or ``or``; one alone is itself."""
    return parts[0] if len(parts) == 1 else f"({word} {' '.join(parts)})"


# --- selections -----------------------------------------------------------------------------------------------------------------


def selection_text(selection: Any, depth: int = 0) -> str:  # Any: read from JSON
    """What a selection asks for. Raises Refused."""
    if depth > MAX_NESTED:
        raise Refused("selection", f"lists nested more than {MAX_NESTED} deep")
    if isinstance(selection, Mapping):
        return form("and", [_item(key, value) for key, value in selection.items()])
    if isinstance(selection, list):
        words = [each for each in selection if not isinstance(each, (Mapping, list))]
        parts = [selection_text(each, depth + 1) for each in selection if isinstance(each, (Mapping, list))]
        return form("or", [*parts, _in_any_field(words)] if words else parts)
    return _in_any_field([selection])


def _item(key: str, value: Any) -> str:  # Any: read from JSON
    name, *modifiers = key.split("|")
    values = value if isinstance(value, list) else [value]
    if not values:
        raise Refused("selection", f"no value for {key!r}")
    joined = "or"
    if "all" in modifiers:
        modifiers.remove("all")
        joined = "and"
    if not name:
        if modifiers:
            raise Refused("modifier", f"{key!r} without a field")
        return _in_any_field(values) if joined == "or" else form("and", [_in_any_field([each]) for each in values])
    if joined == "and":
        return form("and", [_one_of(field_text(name), modifiers, [each]) for each in values])
    return _one_of(field_text(name), modifiers, values)


def _in_any_field(values: list[Any]) -> str:  # Any: read from JSON
    return f"(any * {_texts('it', [_Pattern.read(str(each)).within() for each in values])})"


def field_text(name: str) -> str:
    """A field by its whole name, dots included."""
    if re.fullmatch(r"[A-Za-z_]\w*", name) and name not in ("it", "true", "false", "null"):
        return name
    return "|" + re.sub(r"([|\\])", r"\\\1", name) + "|"


def _one_of(field: str, modifiers: list[str], values: list[Any]) -> str:  # Any: read from JSON
    """That a field is as one of some values says."""
    match modifiers:
        case ["re"] | ["re", "i"]:
            return f"(regex{'-ci' if len(modifiers) > 1 else ''} {field} {_constants(values)})"
        case ["cidr"]:
            return f"(cidr {field} {_constants(values)})"
        case ["fieldref"]:
            return form("or", [f"(= {field} {field_text(each)})" for each in values])
        case []:
            texts = [each for each in values if _is_text(each)]
            parts = [_plain(field, each) for each in values if not _is_text(each)]
            return form("or", [*parts, _texts(field, [_Pattern.read(each) for each in texts])] if texts else parts)
    return _texts(field, [pattern for each in values for pattern in _changed(field, modifiers, each)])


def _constants(values: list[Any]) -> str:  # Any: read from JSON
    return " ".join(json.dumps(str(each), ensure_ascii=False) for each in values)


def _changed(field: str, modifiers: list[str], value: Any) -> list[_Pattern]:  # Any: read from JSON
    patterns = [_Pattern.read(str(value))]
    if "wide" in modifiers and _BASE64 & set(modifiers[modifiers.index("wide") :]):
        modifiers = [f"wide|{each}" if each in _BASE64 else each for each in modifiers if each != "wide"]
    for modifier in modifiers:
        change = _CHANGES.get(modifier)
        if change is None:
            kind = "placeholder" if modifier == "expand" else "modifier"
            raise Refused(kind, f"{value!r} of {field} by {modifier!r}; expected one of {', '.join(_CHANGES)}")
        patterns = [changed for pattern in patterns for changed in change(pattern)]
    return patterns


def _is_text(value: Any) -> bool:  # Any: read from JSON
    return isinstance(value, str) and re.fullmatch(r"-?\d{1,18}|\*|", value) is None


def _plain(field: str, value: Any) -> str:  # Any: read from JSON
    """That a field is a value that is more than a text."""
    if value is None:
        return f'(or (not (exists {field})) (in {field} null ""))'
    if value == "":
        return f'(in {field} "" null)'
    if isinstance(value, bool):
        word = str(value).lower()
        return f'(or (= {field} {word}) (=-ci {field} "{word}"))'
    if isinstance(value, (int, float)):
        return f'(in {field} {value} "{value}")'
    if value == "*":
        return f"(and (exists {field}) (not (= {field} null)))"
    return f'(in {field} "{value}" {int(value)})'


# --- values that are texts ------------------------------------------------------------------------------------------------------


class _Wild:
    def __init__(self, sign: str) -> None:
        self.sign = sign


ANY: Final = _Wild("*")
ONE: Final = _Wild("?")


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A value: texts and wildcards by turns."""

    parts: tuple[str | _Wild, ...]

    @classmethod
    def read(cls, value: str) -> _Pattern:
        """A backslash quotes a wildcard or a backslash; before anything else it stands for itself."""
        parts: list[str | _Wild] = []
        for quoted, sign, text in re.findall(r"\\([*?\\])|([*?])|(\\|[^\\*?]+)", value):
            if sign:
                parts.append(ANY if sign == "*" else ONE)
            elif parts and isinstance(parts[-1], str):
                parts[-1] += quoted or text
            else:
                parts.append(quoted or text)
        return cls(tuple(parts))

    def within(self) -> _Pattern:
        return self.after().before()

    def after(self) -> _Pattern:
        """With any text in front."""
        return self if self.parts[:1] == (ANY,) else _Pattern((ANY, *self.parts))

    def before(self) -> _Pattern:
        return self if self.parts[-1:] == (ANY,) else _Pattern((*self.parts, ANY))

    def bytes_of(self, encoding: str) -> bytes:
        if not all(isinstance(part, str) for part in self.parts):
            raise Refused("modifier", "a value with wildcards cannot be written in base64")
        return "".join(part for part in self.parts if isinstance(part, str)).encode(encoding)

    def relation(self) -> tuple[str, str]:
        """The relation of the predicate language that says this, and its constant."""
        inner = self.parts[self.parts[:1] == (ANY,) : len(self.parts) - (self.parts[-1:] == (ANY,))]
        if len(inner) == 1 and isinstance(inner[0], str):
            begins, ends = self.parts[0] is not ANY, self.parts[-1] is not ANY
            return {(True, True): "=-ci", (True, False): "prefix-ci", (False, True): "suffix-ci"}.get(
                (begins, ends), "contains-ci"
            ), inner[0]
        return "wildcard-ci", "".join(
            part.sign if isinstance(part, _Wild) else re.sub(r"([*?\\])", r"\\\1", part) for part in self.parts
        )


def _dashes(pattern: _Pattern) -> list[_Pattern]:
    """All ways to write the dashes that begin options."""
    places = [
        (at, found.start()) for at, part in enumerate(pattern.parts) if isinstance(part, str) for found in _OPTION.finditer(part)
    ]
    if len(DASHES) ** len(places) > MAX_SPELLINGS:
        raise Refused("modifier", f"a value with {len(places)} dashes by 'windash'; expected fewer")
    patterns = []
    for dashes in product(DASHES, repeat=len(places)):
        parts = list(pattern.parts)
        for (at, offset), dash in zip(places, dashes, strict=True):
            text = str(parts[at])
            parts[at] = text[:offset] + dash + text[offset + 1 :]
        patterns.append(_Pattern(tuple(parts)))
    return patterns


_OPTION = re.compile(r"\B[-/]\b")


def _base64_anywhere(pattern: _Pattern, encoding: str) -> list[_Pattern]:
    """What a text is in base64, wherever it begins among three bytes: without the characters that depend on its neighbours."""
    raw = pattern.bytes_of(encoding)
    written = []
    for offset, begin in enumerate((0, 2, 3)):
        end = (None, -3, -2)[(len(raw) + offset) % 3]
        written.append(_Pattern((b64encode(b" " * offset + raw)[begin:end].decode(),)))
    return written


def _base64(pattern: _Pattern, encoding: str) -> list[_Pattern]:
    return [_Pattern((b64encode(pattern.bytes_of(encoding)).decode(),))]


_BASE64: Final = {"base64", "base64offset"}
_CHANGES: Final[Mapping[str, Callable[[_Pattern], list[_Pattern]]]] = {
    "contains": lambda pattern: [pattern.within()],
    "startswith": lambda pattern: [pattern.before()],
    "endswith": lambda pattern: [pattern.after()],
    "windash": _dashes,
    "base64": lambda pattern: _base64(pattern, "utf-8"),
    "base64offset": lambda pattern: _base64_anywhere(pattern, "utf-8"),
    "wide|base64": lambda pattern: _base64(pattern, "utf-16-le"),
    "wide|base64offset": lambda pattern: _base64_anywhere(pattern, "utf-16-le"),
}


def _texts(field: str, patterns: list[_Pattern]) -> str:
    """That a field is as one of some patterns says."""
    by_relation: dict[str, list[str]] = {}
    for pattern in patterns:
        relation, constant = pattern.relation()
        by_relation.setdefault(relation, []).append(json.dumps(constant, ensure_ascii=False))
    return form("or", [f"({relation} {field} {' '.join(constants)})" for relation, constants in by_relation.items()])
