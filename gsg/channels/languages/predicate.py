"""The predicate language: conditions on the values of one event, of events within it, and of its environment.

    condition   := (and condition...) | (or condition...) | (not condition) | true | false
                 | (COMPARISON value value...)           = != < <= > >=, between each value and the next
                 | (in value constant...)                equal to one of them
                 | (RELATION value text...)              contains prefix suffix wildcard regex cidr, with -ci but for case, and =-ci
                 | (exists field)
                 | (any list condition) | (all list condition) | (exactly number list condition)
    list        := field | *                               *: the values of all fields at the top level
    value       := constant | field | (+ value...) and - * / mod min max abs
    field       := name | name.name | (field name name...) | (env name) | it | it.name      it: the element, in any, all and exactly
    constant    := 12 | 2.5 | "text" | 'text | true | false | null

(Filman and Lee, section "Subscription languages".) What is unknown is refused with its place, and what to write instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Final

from ...languages.bad_text import Mistake, bad_text
from .expressions import (
    EVERY_FIELD,
    FALSE,
    TRUE,
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
from .relations import BadConstant, Relations
from .syntax import Atom, Form, Kind, Node, read

MIRRORED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""What a comparison says when its sides are changed."""
ARITHMETIC: Final = {
    "+": (1, 99),
    "-": (1, 99),
    "*": (1, 99),
    "/": (2, 2),
    "mod": (2, 2),
    "min": (1, 99),
    "max": (1, 99),
    "abs": (1, 1),
}
"""Operators on numbers, and how many operands each takes."""
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_STANDARD: Final = Relations()


def parse(text: str, relations: Relations = _STANDARD) -> Condition:
    """The condition of a text, normalized. Raises BadText."""
    try:
        return PredicateReader(relations).condition(read(text))
    except Mistake as mistake:
        raise bad_text(text, mistake.position, mistake.problem, what="predicate") from None


class PredicateReader:
    """From lists and atoms to conditions. Methods raise Mistake. Nesting is bounded by that of the lists (syntax.MAX_DEPTH)."""

    def __init__(self, relations: Relations = _STANDARD) -> None:
        self._relations = relations
        self._elements = 0
        """How many any, all and exactly are around."""
        self._forms: dict[str, Callable[[Form], Condition]] = {
            "and": self._and,
            "or": self._or,
            "not": self._not,
            "exists": self._exists,
            "in": self._in,
            "any": self._quantified,
            "all": self._quantified,
            "exactly": self._quantified,
            **dict.fromkeys(MIRRORED, self._comparison),
        }

    def condition(self, node: Node) -> Condition:
        """What a list or atom says."""
        if isinstance(node, Atom):
            if node.is_keyword("true", "false"):
                return TRUE if node.value == "true" else FALSE
            raise Mistake(node.start, f"{node.value!r} is no condition; expected a list such as (exists {node.value})")
        operator = node.operator
        if operator is None:
            raise Mistake(node.start, "a list that begins with no operator; expected and, or, not, a comparison or a relation")
        if operator in self._forms:
            return self._forms[operator](node)
        if operator in self._relations:
            return self._relation(node, operator)
        if operator in ARITHMETIC or operator in ("field", "env"):
            raise Mistake(
                node.start,
                f"({operator} ...) is a value and no condition; expected a comparison of it, such as (> ({operator} ...) 0)",
            )
        known = [*self._forms, *self._relations.names()]
        raise Mistake(
            node.start, f"unknown operator {operator!r}{did_you_mean(operator, known)}; expected one of {', '.join(known)}"
        )

    def _parts(self, form: Form) -> tuple[Condition, ...]:
        return tuple(self.condition(item) for item in form.items[1:])

    def _and(self, form: Form) -> Condition:
        return all_of(self._parts(form))

    def _or(self, form: Form) -> Condition:
        return any_of(self._parts(form))

    def _not(self, form: Form) -> Condition:
        expect_operands(form, 1, 1)
        return negation(self.condition(form.items[1]))

    def _exists(self, form: Form) -> Condition:
        expect_operands(form, 1, 1)
        return Exists(self.field(form.items[1]))

    def _comparison(self, form: Form) -> Condition:
        expect_operands(form, 2, None)
        operator = str(form.operator)
        operands = [self.value(item) for item in form.items[1:]]
        for item, operand in zip(form.items[1:], operands, strict=True):
            if operator not in ("=", "!=") and isinstance(operand, Constant) and type(operand.value) not in (str, int, float):
                raise Mistake(item.start, f"{word(operand.value)} is in no order; expected a number or a text, or = and !=")
        pairs = list(itertools.pairwise(operands))
        return all_of(tuple(self._compared(form, operator, left, right) for left, right in pairs))

    def _compared(self, form: Form, operator: str, left: Expression, right: Expression) -> Condition:
        if isinstance(left, Constant):
            if isinstance(right, Constant):
                raise Mistake(
                    form.start,
                    f"({operator} {word(left.value)} {word(right.value)}) compares two constants; "
                    "expected a field: names of fields stand without quotes",
                )
            left, right, operator = right, left, MIRRORED[operator]
        return Comparison(operator, left, right)

    def _in(self, form: Form) -> Condition:
        expect_operands(form, 2, None)
        value = self._not_constant(form.items[1])
        return any_of(tuple(Comparison("=", value, self.constant(item)) for item in form.items[2:]))

    def _relation(self, form: Form, name: str) -> Condition:
        expect_operands(form, 2, None)
        value = self._not_constant(form.items[1])
        constants = [self.constant(item) for item in form.items[2:]]
        try:
            self._relations.make(name, [one.value for one in constants])
        except BadConstant as error:
            raise Mistake(form.items[2 + error.number].start, str(error)) from None
        return Relation(name, (value, *constants))

    def _quantified(self, form: Form) -> Condition:
        quantity = Quantity(form.operator)
        expect_operands(form, *((3, 3) if quantity is Quantity.EXACTLY else (2, 2)))
        count = 0
        if quantity is Quantity.EXACTLY:
            number = form.items[1]
            if not isinstance(number, Atom) or type(number.value) is not int or number.value < 0:
                raise Mistake(
                    number.start, "no count; expected (exactly NUMBER FIELD CONDITION), such as (exactly 2 tags (= it 'new))"
                )
            count = number.value
        over = self._list(form.items[-2])
        self._elements += 1
        try:
            return Quantified(quantity, over, self.condition(form.items[-1]), count)
        finally:
            self._elements -= 1

    def _list(self, node: Node) -> Field:
        over = EVERY_FIELD if isinstance(node, Atom) and node.is_keyword("*") else self.field(node)
        if self._elements and over.origin is not Origin.ELEMENT:
            # The elements of elements are no more than an event has values; all elements once for each element may be very many.
            raise Mistake(
                node.start, "a list of the event within any, all or exactly; expected it, or a field of it, such as it.tags"
            )
        return over

    # --- values ---------------------------------------------------------------------------------------------------------------

    def value(self, node: Node) -> Expression:
        """A constant, a field or what is computed."""
        if isinstance(node, Atom):
            return self.constant(node) if is_constant(node) else self.field(node)
        operator = node.operator
        if operator in ("field", "env"):
            return self.field(node)
        if operator not in ARITHMETIC:
            raise Mistake(
                node.start,
                f"({operator or '...'} ...) is no value{did_you_mean(str(operator), list(ARITHMETIC))}; "
                f"expected a constant, a field, or one of {', '.join(ARITHMETIC)}",
            )
        least, most = ARITHMETIC[operator]
        expect_operands(node, least, most)
        operands = tuple(self.value(item) for item in node.items[1:])
        for item, operand in zip(node.items[1:], operands, strict=True):
            if isinstance(operand, Constant) and type(operand.value) not in (int, float):
                raise Mistake(item.start, f"{word(operand.value)} is no number; expected one, or a field")
        return Arithmetic(operator, operands)

    def _not_constant(self, node: Node) -> Expression:
        value = self.value(node)
        if isinstance(value, Constant):
            raise Mistake(node.start, f"{word(value.value)} is a constant; expected a field, whose name stands without quotes")
        return value

    def constant(self, node: Node) -> Constant:
        """A constant."""
        if isinstance(node, Form):
            raise Mistake(node.start, 'a list where a constant is expected, such as 12 or "text"')
        if not is_constant(node):
            raise Mistake(
                node.start, f'{word(node.value)} is a name; expected a constant, such as "{node.value}", which is in quotes'
            )
        return Constant(_CONSTANTS[str(node.value)] if node.kind is Kind.SYMBOL else node.value)

    def field(self, node: Node) -> Field:
        """The field of a name, ``(field name...)`` or ``(env name)``."""
        if isinstance(node, Form):
            if node.operator not in ("field", "env"):
                raise Mistake(
                    node.start, f"({node.operator or '...'} ...) is no field; expected a name, (field name...) or (env name)"
                )
            expect_operands(node, 1, None)
            path = tuple(name for item in node.items[1:] for name in self._names(item))
            return Field(path, Origin.ENVIRONMENT if node.operator == "env" else Origin.EVENT)
        names = self._names(node)
        if node.bare and names[0] == "it":
            if not self._elements:
                raise Mistake(
                    node.start,
                    '"it" is the element of a list; expected it in any, all or exactly, or |it| for a field of that name',
                )
            return Field(names[1:], Origin.ELEMENT)
        return Field(names)

    def _names(self, node: Node) -> Path:
        if isinstance(node, Atom) and node.kind is Kind.VARIABLE:
            raise Mistake(node.start, f"the variable ?{node.value}; expected a field: variables belong to the temporal language")
        if not isinstance(node, Atom) or node.kind is not Kind.SYMBOL or (node.bare and node.value in _CONSTANTS):
            what = "a list" if isinstance(node, Form) else word(node.value)
            raise Mistake(
                node.start, f"{what} is no name of a field; expected one without quotes, or in | |, such as |response time|"
            )
        names = tuple(str(node.value).split(".")) if node.bare else (str(node.value),)
        if not all(names):
            raise Mistake(
                node.start, f"{node.value!r} has a part without a name; expected name.name, or |{node.value}| for one name"
            )
        return names


def is_constant(atom: Atom) -> bool:
    """Whether an atom is a text, a number, true, false or null."""
    return atom.kind in (Kind.TEXT, Kind.NUMBER) or (atom.kind is Kind.SYMBOL and atom.bare and atom.value in _CONSTANTS)


def word(value: object) -> str:
    """A constant as it is written."""
    written = next((name for name, meant in _CONSTANTS.items() if meant is value), None)
    return written or (f'"{value}"' if isinstance(value, str) else str(value))


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A hint, where a name is like one that is known."""
    near = get_close_matches(name.lower(), known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def expect_operands(form: Form, least: int, most: int | None) -> None:
    """Raises Mistake where a list has fewer or more operands."""
    count = len(form.items) - 1
    if count < least or (most is not None and count > most):
        wanted = str(least) if least == most else f"{least} or more" if most is None or most == 99 else f"{least} to {most}"
        raise Mistake(form.start, f"({form.operator} ...) with {count} operands; expected {wanted}")


# --- trees that say the same in fewer nodes -------------------------------------------------------------------------------------


def all_of(parts: Sequence[Condition]) -> Condition:
    """All of some conditions: without repetitions, and one alone by itself."""
    flat = dict.fromkeys(inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,)))
    if FALSE in flat:
        return FALSE
    return next(iter(flat)) if len(flat) == 1 else And(tuple(flat))


def any_of(parts: Sequence[Condition]) -> Condition:
    """One of some conditions: without repetitions, and one alone by itself."""
    flat = dict.fromkeys(inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,)))
    if TRUE in flat:
        return TRUE
    return next(iter(flat)) if len(flat) == 1 else Or(tuple(flat))


def negation(part: Condition) -> Condition:
    """That a condition does not hold."""
    if part in (TRUE, FALSE):
        return FALSE if part == TRUE else TRUE
    return part.part if isinstance(part, Not) else Not(part)
