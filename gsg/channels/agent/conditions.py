"""Conditions of the predicate language within a program, in which ``?name`` stands for the value of the agent's variable.

    (recent (and (= type 'error) (= user ?user)) 10)

They are read with the program, so that what is wrong in them is refused there; one with variables is read again when their values
are others than the last time.
"""

from __future__ import annotations

from typing import Final

from ...languages.bad_text import Mistake
from ..events import Event
from ..languages.expressions import Condition
from ..languages.predicate import PredicateReader
from ..languages.relations import Relations
from ..languages.source import Test, compiled
from ..languages.syntax import Atom, Form, Kind, Node
from ..values import Fields
from .costs import PARTS, Cost, compile_steps_of, weight_of_condition
from .data import List, Record
from .limits import MAX_RECENT, mistake
from .lists import record_of
from .numbers import shown, whole
from .run import Run

TEXT_STAND_IN: Final = "x"
"""What a variable is taken for while the text is read; where it does not fit, :data:`NUMBER_STAND_IN` is."""
NUMBER_STAND_IN: Final = 1
COMPILE_STEPS: Final = 200
"""What making a test of a condition costs, beside its length."""
COMPILE_STEPS_PER_WORD: Final = 16
"""What each name, constant and operator in it costs besides."""
MAX_NEW_TESTS: Final = 16
"""Conditions with values for their variables that a program remembers, ready to be tested; beyond, they are made anew."""


class ReadyConditions:
    """Conditions of one program, made ready with values for their variables. Limit: MAX_NEW_TESTS; beyond, all are made anew."""

    def __init__(self, relations: Relations) -> None:
        self.relations = relations
        self._ready: dict[object, Tested] = {}

    def find(self, key: object) -> Tested | None:
        """What was made ready before."""
        return self._ready.get(key)

    def insert(self, key: object, condition: Condition) -> Tested:
        """Make a condition ready."""
        if len(self._ready) >= MAX_NEW_TESTS:
            self._ready.clear()
        made = self._ready[key] = Tested(condition, self.relations)
        return made


class Query:
    """One condition of a program, and what it takes to test it."""

    def __init__(self, node: Node, ready: ReadyConditions) -> None:
        """Raises Mistake."""
        self._node = node
        self._all = ready
        self.variables = tuple(dict.fromkeys(_variables(node)))
        """Atoms ``?name``, whose values it is given in this order."""
        words, steps = _extent(node)
        self._compile_steps = COMPILE_STEPS + COMPILE_STEPS_PER_WORD * words + steps
        self._tested: Tested | None = None
        """Where it has no variables."""
        if not self.variables:
            self._tested = Tested(PredicateReader(ready.relations).condition(node), ready.relations)
            return
        self._check()

    def _check(self) -> None:
        try:
            self._read([TEXT_STAND_IN] * len(self.variables))
        except Mistake:
            self._read([NUMBER_STAND_IN] * len(self.variables))

    def _read(self, values: list[object]) -> Condition:
        names = {atom.value: value for atom, value in zip(self.variables, values, strict=True)}
        return PredicateReader(self._all.relations).condition(_with_values(self._node, names))

    def tested(self, run: Run, values: tuple[object, ...]) -> Tested:
        """The condition with these values for its variables, ready. Raises Stop."""
        if self._tested is not None:
            return self._tested
        key = (self, *[(type(value), value) for value in values])
        found = self._all.find(key)
        if found is None:
            run.charge(self._compile_steps + sum([compile_steps_of(value) for value in values if isinstance(value, str)]))
            for value in values:
                if value is not None and not isinstance(value, (str, int, float)):
                    raise mistake(f"{shown(value)} in a condition; expected a text, a number, true, false or null")
            try:
                condition = self._read(list(values))
            except Mistake as error:
                raise mistake(f"a condition that has no meaning with these values: {error.problem}") from None
            found = self._all.insert(key, condition)
        return found


class Tested:
    """A condition, its test, and what the test costs."""

    def __init__(self, condition: Condition, relations: Relations) -> None:
        self.condition = condition
        self.test: Test = compiled(condition, relations)
        self.weight = weight_of_condition(condition)
        """What it counts for in a matcher."""
        self._cost = Cost(condition)

    def holds(self, run: Run, fields: Fields, environment: Fields) -> bool:
        """Whether the condition holds, charged by how much is compared."""
        run.charge(1 + self._cost.parts(run, fields, environment, None) // PARTS)
        return self.test(fields, environment)

    def parts(self, run: Run, fields: Fields, environment: Fields) -> int:
        """What the test costs, in PARTS of a step."""
        return self._cost.parts(run, fields, environment, None)


def recent_events(run: Run, tested: Tested, count: object) -> List:
    """The latest of the recent events of which a condition holds, oldest first, at most so many."""
    wanted = min(MAX_RECENT, run.limits.items, max(0, whole(run, count)))
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
    """How many words a condition has, and what its texts cost to be made ready, if they are patterns."""
    words = steps = 0
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, Form):
            todo.extend(each.items)
        else:
            words += 1
            steps += compile_steps_of(each.value) if isinstance(each.value, str) and each.kind is Kind.TEXT else 0
    return words, steps


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
