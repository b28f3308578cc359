"""From a condition to Python: an expression over one event, in which what the language says is spelled out.

A comparison with a constant, by far the most frequent test, becomes a few instructions on the value's class; the rest calls the
definitions of :mod:`.evaluation`. Only constants and names go into the text, as Python's own literals of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from typing import Any, Final, TypeAlias

from ..values import MISSING, Fields, number_of, value_at
from .evaluation import compared, computed, quantified
from .expressions import (
    EVERY_FIELD,
    And,
    Arithmetic,
    Comparison,
    Condition,
    Constant,
    Exists,
    Expression,
    Field,
    Not,
    Or,
    Origin,
    Path,
    Quantified,
    Quantity,
    Relation,
)
from .relations import CI, STANDARD, Relations

Test: TypeAlias = Callable[[Fields, Fields], bool]
"""Whether a condition holds of the fields of an event and its environment."""

BETWEEN: Final = "\0"
"""Stands between the texts of fields that are searched together."""
_ON_TEXTS: Final = ("contains", "prefix", "suffix", "wildcard", "=")


class Source:
    """Writes expressions that share one set of names. What they read: ``get`` (of the fields), ``fields`` and ``environment``."""

    def __init__(self, relations: Relations) -> None:
        self.names: dict[str, Any] = {  # Any: whatever the expressions call
            "MISSING": MISSING,
            "all_texts": _all_texts,
            "at": value_at,
            "compared": compared,
            "computed": computed,
            "count_met": _count_met,
            "number": number_of,
        }
        """What the expressions call, by name."""
        self._relations = relations
        self._made: dict[object, str] = {}
        self._depth = 0
        self.values: dict[str, str] = {}
        """Names of variables that hold the values of fields at the top level, by the names of the fields."""
        self.folded: dict[str, str] = {}
        """The same for their folded texts, or None where a value is no text."""

    def condition(self, condition: Condition) -> str:
        """An expression that is true where the condition holds."""
        match condition:
            case And(parts) | Or(parts):
                word = " and " if isinstance(condition, And) else " or "
                tests = map(self.condition, parts if isinstance(condition, And) else _united(parts))
                return f"({word.join(tests)})" if parts else str(isinstance(condition, And))
            case Not(part):
                return f"(not {self.condition(part)})"
            case Exists(field):
                return f"({self.value(field)} is not MISSING)"
            case Comparison(operator, left, right):
                return self._comparison(operator, left, right)
            case Relation():
                return self._relation(condition)
            case Quantified(
                Quantity.ANY, over, Relation("contains" | "contains-ci" as name, (Field((), Origin.ELEMENT), *rest))
            ) if over == EVERY_FIELD and _can_be_searched_together(rest):
                return f"{self._holds(name, _values(rest))}(all_texts(fields))"
            case Quantified(quantity, over, inner, count):
                values = "list(fields.values())" if over == EVERY_FIELD else self.value(over)
                self._depth += 1
                test = self.condition(inner)
                self._depth -= 1
                named = self._named(quantity, Quantity)
                return f"count_met({named}, {values}, lambda it{self._depth + 1}: {test}, {count})"

    def _comparison(self, operator: str, left: Expression, right: Expression) -> str:
        value = self.value(left)
        if isinstance(right, Constant):
            constant = right.value
            if operator == "=":
                if constant is None or isinstance(constant, bool):
                    return f"({value} is {constant})"
                if constant not in (0, 1):
                    return f"({value} == {self.value(right)})"
                return f"((v := {value}) == {constant} and v.__class__ is not bool)"
            if operator != "!=" and type(constant) in (int, float):
                number = self.value(right)
                return (
                    f"(v {operator} {number} if (c := (v := {value}).__class__) is int or c is float"
                    f" else c is str and compared({operator!r}, v, {number}))"
                )
        return f"compared({operator!r}, {value}, {self.value(right)})"

    def _relation(self, relation: Relation) -> str:
        first, *rest = relation.operands
        constants = _values(rest)
        plain = relation.name.removesuffix(CI)
        if plain not in _ON_TEXTS:
            return f"((v := {self.value(first)}) is not MISSING and {self._holds(relation.name, constants)}(v))"
        if plain == relation.name:
            return f"((v := {self.value(first)}).__class__ is str and {self._text_test(plain, constants, 'v')})"
        texts = list(dict.fromkeys(str(one).casefold() for one in constants))
        known = self.folded.get(first.path[0]) if isinstance(first, Field) and _is_at_top(first) else None
        if known is not None:
            return f"({known} is not None and {self._text_test(plain, texts, known)})"
        return f"((v := {self.value(first)}).__class__ is str and {self._text_test(plain, texts, 'v.casefold()')})"

    def _text_test(self, name: str, texts: list[Any], text: str) -> str:
        """An expression for a relation of TEXT_RELATIONS, of a text, with others."""
        match name, texts:
            case "contains", [only]:
                return f"{only!r} in {text}"
            case "=", [only]:
                return f"{text} == {only!r}"
            case "=", _:
                return f"{text} in {self._named(frozenset(texts), frozenset)}"
            case (("prefix" | "suffix"), _):
                return f"{text}.{'startswith' if name == 'prefix' else 'endswith'}({self._named(tuple(texts), tuple)})"
            case _:
                return f"{self._holds(name, texts)}({text})"

    def _holds(self, name: str, constants: list[Any]) -> str:
        key = name + repr(constants)
        return self._made.get(key) or self._name(key, self._relations.make(name, constants))

    def value(self, expression: Expression) -> str:
        """An expression for a value."""
        match expression:
            case Constant(value):
                if isinstance(value, float) and not isfinite(value):
                    return self._named(value, float)
                return f"({value!r})" if isinstance(value, (int, float)) else repr(value)
            case Field(path, origin):
                return self._field(path, origin)
            case Arithmetic(operator, operands):
                return f"computed({operator!r}, [{', '.join(map(self.value, operands))}])"

    def _field(self, path: Path, origin: Origin) -> str:
        if origin is Origin.ELEMENT:
            return f"at(it{self._depth}, {path!r})" if path else f"it{self._depth}"
        if origin is Origin.EVENT and len(path) == 1:
            return self.values.get(path[0]) or f"get({path[0]!r}, MISSING)"
        return f"at({'fields' if origin is Origin.EVENT else 'environment'}, {path!r})"

    def _named(self, value: object, kind: type) -> str:
        return self._made.get((kind, value)) or self._name((kind, value), value)

    def _name(self, key: object, value: object) -> str:
        name = f"n{len(self._made)}"
        self._made[key] = name
        self.names[name] = value
        return name


def _united(parts: Sequence[Condition]) -> list[Condition]:
    """The parts of an ``or``, those that are one relation of one value as one: it holds if it does for one of its constants."""
    united: dict[object, Condition] = {}
    for part in parts:
        key: object = part
        if isinstance(part, Relation) and part.name in STANDARD:
            key = part.name, part.operands[0]
            known = united.get(key)
            if isinstance(known, Relation):
                part = Relation(part.name, (*known.operands, *part.operands[1:]))
        united[key] = part
    return list(united.values())


def _is_at_top(field: Field) -> bool:
    return field.origin is Origin.EVENT and len(field.path) == 1


def folded_fields(condition: Condition) -> Iterator[str]:
    """Names of fields at the top level, as often as their texts are folded."""
    match condition:
        case Relation(name, (Field((field,), Origin.EVENT), *_)):
            if name.endswith(CI) and name.removesuffix(CI) in _ON_TEXTS:
                yield field
        case And(parts) | Or(parts):
            for part in parts:
                yield from folded_fields(part)
        case Not(part) | Quantified(_, _, part):
            yield from folded_fields(part)


def _values(operands: Iterable[Expression]) -> list[Any]:
    return [one.value for one in operands if isinstance(one, Constant)]


def _can_be_searched_together(operands: Iterable[Expression]) -> bool:
    return all(one and BETWEEN not in one for one in map(str, _values(operands)))


def _all_texts(fields: Fields) -> str:
    """The texts of all fields: one that is without BETWEEN is in this where it is in one of them."""
    return BETWEEN.join([value for value in fields.values() if value.__class__ is str])


def _count_met(quantity: Quantity, values: object, test: Callable[[object], bool], count: int) -> bool:
    if type(values) is not list:
        return False
    if quantity is Quantity.ANY:
        return any(test(value) for value in values)
    return quantified(quantity, sum(1 for value in values if test(value)), len(values), count)


def compiled(condition: Condition, relations: Relations) -> Test:
    """A function for one condition. It takes about 0.1 ms to make."""
    source = Source(relations)
    text = source.condition(condition)
    made: Test = eval(f"lambda fields, environment: (get := fields.get, {text})[1]", source.names)  # our own text
    return made


class LazyTest:
    """A condition as a function that is made when it is called for the first time."""

    __slots__ = ("_condition", "_relations", "_test")

    def __init__(self, condition: Condition, relations: Relations) -> None:
        self._condition = condition
        self._relations = relations
        self._test: Test | None = None

    def __call__(self, fields: Fields, environment: Fields) -> bool:
        """Whether the condition holds."""
        test = self._test
        if test is None:
            test = self._test = compiled(self._condition, self._relations)
        return test(fields, environment)
