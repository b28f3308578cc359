"""Conditions of the predicate language within a program, in which ``?name`` stands for the value of the agent's variable.

    (recent (and (= type 'error) (= user ?user)) 10)

They are read with the program, so that what is wrong in them is refused there; one with variables is read again when their values
are others than the last time.
"""

from __future__ import annotations

import re
from typing import Final

from ...languages.bad_text import Mistake
from ..events import Event
from ..languages.expressions import And, Comparison, Condition, Constant, Not, Or, Quantified, Relation, fields_of
from ..languages.predicate import PredicateReader
from ..languages.relations import Relations
from ..languages.source import Test, compiled
from ..languages.syntax import Atom, Form, Kind, Node
from ..values import Fields, value_at
from .data import List, Record
from .limits import MAX_RECENT, mistake
from .lists import record_of
from .numbers import number, shown
from .run import Run

TEXT_STAND_IN: Final = "x"
"""What a variable is taken for while the text is read; where it does not fit, :data:`NUMBER_STAND_IN` is."""
NUMBER_STAND_IN: Final = 1
COMPILE_STEPS: Final = 200
"""What making a test of a condition costs, beside its length."""
COMPILE_STEPS_PER_CHARACTER: Final = 2
"""Of all texts in the condition: patterns are compiled."""
COMPILE_STEPS_PER_WORD: Final = 16
SMALL_PATTERN: Final = 256
"""States of a regular expression that RE2 keeps an automaton for."""
MAX_STATES: Final = 10_000
"""States that a regular expression is taken to have at most, as relations bounds its memory."""
_COUNTS = re.compile(r"\{(?:\d+,)?(\d+)", re.ASCII)
MAX_NEW_TESTS: Final = 16
"""Values of variables for which a condition's tests are remembered; beyond, they are made anew."""


class Query:
    """One condition of a program, and what it takes to test it."""

    def __init__(self, node: Node, relations: Relations) -> None:
        """Raises Mistake."""
        self._node = node
        self._relations = relations
        self.variables = tuple(dict.fromkeys(_variables(node)))
        """Atoms ``?name``, whose values it is given in this order."""
        words, characters = _extent(node)
        self._compile_steps = COMPILE_STEPS + COMPILE_STEPS_PER_WORD * words + COMPILE_STEPS_PER_CHARACTER * characters
        self._tests: dict[tuple[tuple[type, object], ...], Tested] = {}
        if not self.variables:
            self._tests[()] = Tested(PredicateReader(relations).condition(node), relations)
            return
        self._check()

    def _check(self) -> None:
        try:
            self._read([TEXT_STAND_IN] * len(self.variables))
        except Mistake:
            self._read([NUMBER_STAND_IN] * len(self.variables))

    def _read(self, values: list[object]) -> Condition:
        names = {atom.value: value for atom, value in zip(self.variables, values, strict=True)}
        return PredicateReader(self._relations).condition(_with_values(self._node, names))

    def tested(self, run: Run, values: tuple[object, ...]) -> Tested:
        """The condition with these values for its variables, ready. Raises Stop."""
        key = tuple([(type(value), value) for value in values])
        found = self._tests.get(key)
        if found is None:
            run.charge(self._compile_steps + COMPILE_STEPS_PER_CHARACTER * sum(len(v) for v in values if isinstance(v, str)))
            for value in values:
                if value is not None and not isinstance(value, (str, int, float)):
                    raise mistake(f"{shown(value)} in a condition; expected a text, a number, true, false or null")
            try:
                condition = self._read(list(values))
            except Mistake as error:
                raise mistake(f"a condition that has no meaning with these values: {error.problem}") from None
            if len(self._tests) >= MAX_NEW_TESTS:
                self._tests.clear()
            found = self._tests[key] = Tested(condition, self._relations)
        return found


class Tested:
    """A condition, its test, and what the test costs."""

    def __init__(self, condition: Condition, relations: Relations) -> None:
        self.condition = condition
        self.test: Test = compiled(condition, relations)
        self.size = size_of_condition(condition)
        self._paths = tuple({field.path for field in fields_of(condition) if field.path})

    def holds(self, run: Run, fields: Fields, environment: Fields) -> bool:
        """Whether the condition holds, charged by how much is compared."""
        characters = 0
        for path in self._paths:
            value = value_at(fields, path)
            if isinstance(value, str):
                characters += len(value)
            elif isinstance(value, (list, dict)):
                characters += 64 * len(value) + sum(len(each) for each in value if isinstance(each, str))
        run.charge(1 + self.size * (16 + characters) // 512)
        return self.test(fields, environment)


def size_of_condition(condition: Condition) -> int:
    """How many comparisons and constants a condition has."""
    match condition:
        case And(parts) | Or(parts):
            return sum(map(size_of_condition, parts))
        case Not(part):
            return size_of_condition(part)
        case Quantified():
            return 4 * (1 + size_of_condition(condition.condition))
        case Relation():
            texts = [one.value for one in condition.operands if isinstance(one, Constant) and isinstance(one.value, str)]
            if condition.name.startswith("regex"):
                return sum(map(_size_of_pattern, texts))
            return len(condition.operands) + sum(text.count("*") for text in texts if condition.name.startswith("wildcard"))
        case Comparison() | _:
            return 1


def _size_of_pattern(pattern: str) -> int:
    """What a regular expression counts for: RE2 takes a step of its own automaton for each character, or, where it becomes
    too large, one for each of its states."""
    states = len(pattern)
    for most in _COUNTS.findall(pattern):
        states = min(MAX_STATES, states * max(1, int(most[-5:])))
    return states if states <= SMALL_PATTERN else 8 * states


def recent_events(run: Run, tested: Tested, count: object) -> List:
    """The latest of the recent events of which a condition holds, oldest first, at most so many."""
    wanted = min(MAX_RECENT, run.limits.items, max(0, int(number(count)) if number(count) == number(count) else 0))
    found: list[Event] = []
    for event in reversed(run.recent):
        if len(found) >= wanted:
            break
        if tested.holds(run, event.fields, event.environment):
            found.append(event)
    return run.made_list(tuple([Record(event.fields) for event in reversed(found)]))


def matches(run: Run, tested: Tested, value: object) -> bool:
    """Whether a condition holds of an event."""
    return tested.holds(run, record_of(value).fields, run.environment)


def _variables(node: Node) -> list[Atom]:
    found, todo = [], [node]
    while todo:
        each = todo.pop()
        if isinstance(each, Form):
            todo.extend(reversed(each.items))
        elif each.kind is Kind.VARIABLE:
            found.append(each)
    names: dict[object, Atom] = {}
    for atom in found:
        names.setdefault(atom.value, atom)
    return list(names.values())


def _extent(node: Node) -> tuple[int, int]:
    """How many words a condition has, and how many characters its texts."""
    words = characters = 0
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, Form):
            todo.extend(each.items)
        else:
            words += 1
            characters += len(each.value) if isinstance(each.value, str) and each.kind is Kind.TEXT else 0
    return words, characters


def _with_values(node: Node, values: dict[str | int | float, object]) -> Node:
    """The lists and atoms with constants for variables; as deep as the text."""
    if isinstance(node, Form):
        return Form(tuple([_with_values(item, values) for item in node.items]), node.start)
    if node.kind is not Kind.VARIABLE:
        return node
    value = values[node.value]
    if value is None or isinstance(value, bool):
        return Atom(Kind.SYMBOL, "null" if value is None else str(value).lower(), node.start)
    if isinstance(value, str):
        return Atom(Kind.TEXT, value, node.start)
    return Atom(Kind.NUMBER, value, node.start)  # type: ignore[arg-type]  # a number
