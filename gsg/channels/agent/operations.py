"""The operators of a program: those that evaluate all of their operands, and those of which a part is a name or a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...languages.bad_text import Mistake
from ..languages.predicate import expect_operands
from ..languages.syntax import Atom, Form, Kind, Node
from .acts import ACTS, after, env_at, event_of, subscribe
from .code import Operator
from .conditions import Query, ReadyConditions, matches, recent_events
from .limits import MAX_RECENT
from .lists import LISTS, field_at, has_at
from .numbers import NUMBERS
from .run import Run
from .texts import TEXTS

OPERATORS: Final = {name: Operator(name, *rest) for table in (NUMBERS, TEXTS, LISTS, ACTS) for name, rest in table.items()}
"""Operators that evaluate all of their operands, and can be given to map and others as functions."""
WITH_LITERALS: Final = ("field", "has", "env", "event", "recent", "matches", "subscribe", "after")
"""Forms of which a part is no form: a name, a condition."""
LOOKING: Final = ("field", "has", "matches", "get", "fields", "length")
"""Operators that look at an event and do not give it on."""
Operation = tuple[Callable[..., object], Sequence[Node]]
"""What an operator does, and the forms whose values it is given."""


def form_operands(form: Form) -> Sequence[Node]:
    """Those parts of an operator's form that are forms, but for functions made of them."""
    items = form.items[1:]
    match form.operator:
        case "field" | "has" | "matches":
            return (*items[:1], *items[2:])
        case "env":
            return ()
        case "event":
            return [item.items[1] for item in items if isinstance(item, Form) and len(item.items) == 2]
        case "recent" | "subscribe":
            return items[1:]
        case "after":
            return items[:1]
    return items


def operation(form: Form, ready: ReadyConditions) -> Operation:
    """What an operator's form does. Raises Mistake."""
    name = str(form.operator)
    items = form.items[1:]
    known = OPERATORS.get(name)
    if known is not None:
        expect_operands(form, known.least, known.most)
        return known.function, items
    match name:
        case "field" | "has":
            expect_operands(form, 2, 3 if name == "field" else 2)
            path = _path(items[1])
            return (field_at(path) if name == "field" else has_at(path)), (items[0], *items[2:])
        case "env":
            expect_operands(form, 1, 1)
            return env_at(_path(items[0])), ()
        case "event":
            return _event(form)
        case "after":
            expect_operands(form, 2, None)
            function = Form((Atom(Kind.SYMBOL, "lambda", form.start), Form((), form.start), *items[1:]), form.start)
            return after, (items[0], function)
        case "recent":
            expect_operands(form, 1, 2)
            count = items[1] if len(items) == 2 else Atom(Kind.NUMBER, MAX_RECENT, form.start)
            return _query(items[0], ready, [count], recent_events)
        case "matches":
            expect_operands(form, 2, 2)
            return _query(items[1], ready, [items[0]], matches)
        case _:
            expect_operands(form, 2, 2)
            return _query(items[0], ready, [items[1]], subscribe)


def _query(condition: Node, ready: ReadyConditions, operands: list[Node], act: Callable[..., object]) -> Operation:
    query = Query(condition, ready)
    values = [Atom(Kind.SYMBOL, atom.value, atom.start, bare=False) for atom in query.variables]

    def apply(run: Run, operand: object, *variables: object) -> object:
        return act(run, query.tested(run, variables), operand)

    return apply, [*operands, *values]


def _event(form: Form) -> Operation:
    names: list[str] = []
    for item in form.items[1:]:
        name = item.items[0] if isinstance(item, Form) and len(item.items) == 2 else None
        if not isinstance(name, Atom) or name.kind not in (Kind.SYMBOL, Kind.TEXT) or not name.value or name.value in names:
            raise Mistake(item.start, 'no field, or one twice; expected (name form), such as (type "alarm")')
        names.append(str(name.value))
    return event_of(names), form_operands(form)


def _path(node: Node) -> tuple[str, ...]:
    if not isinstance(node, Atom) or node.kind not in (Kind.SYMBOL, Kind.TEXT):
        raise Mistake(node.start, "no name of a field; expected one, such as user or user.name; (get event form) computes it")
    names = tuple(str(node.value).split(".")) if node.kind is Kind.SYMBOL and node.bare else (str(node.value),)
    if not all(names):
        raise Mistake(node.start, f"{node.value!r} has a part without a name; expected name.name, or |{node.value}| for one name")
    return names
