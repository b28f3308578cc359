"""Conditions that are tried together: one by one at first, as one generated function once that has cost more than to make one.

One by one, what is asked first is an equality that a condition requires, without a call: nearly all candidates fail there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import eq, ge, gt, le, lt
from typing import Any, Final, Protocol

from ..languages.evaluation import compared, holds
from ..languages.expressions import And, Comparison, Condition, Constant, Field, Origin, has_relation
from ..languages.relations import Relations
from ..languages.source import Test, compiled
from ..values import MISSING, Fields
from .generated import Program, generate, parts_of

WORTH: Final = 2_000
"""What a condition may cost, in equalities that are asked, before it is worth a function: that takes some 0.1 ms to make."""
COST_OF_TEST: Final = 4
"""What some comparisons cost, in equalities."""
COST_OF_DEFINITION: Final = 160
"""What it costs to try what is no comparison of a field with a constant, such as a search in a text."""
FEW: Final = 3
"""How often a condition is tried by its definition before it is worth a test of its own."""
NO_FIELD: Final = object()
"""In the place of a field's name where a condition requires no equality; no event has it, so MISSING is its value."""


class Effort(Protocol):
    """What a matcher may still make while one event is matched, so that no event waits for long."""

    relations: Relations
    tests_left: int
    may_generate: bool

    def reconsider(self, numbers: Iterable[int]) -> None:
        """These conditions are tried often: perhaps they are to wait elsewhere."""


class Tried:
    """What is left of a condition behind its equality, and how it is tried.

    Comparisons of a field with a constant are looked at where they stand, which needs nothing to be made; what else there is is
    tried by its definition, and when it was a few times, by a test made of it.
    """

    __slots__ = ("_checks", "_rest", "_test", "_times", "condition")

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        self._checks: tuple[Check, ...] | None = None
        self._rest: Condition | None = None
        """What is no check."""
        self._test: Test | None = None
        """Of the rest."""
        self._times = 0

    def holds(self, fields: Fields, environment: Fields, leaf: Leaf, effort: Effort) -> bool:
        """Whether it holds; what that costs is added to a leaf's account."""
        leaf.spent += COST_OF_TEST
        if leaf.spent > WORTH:
            leaf.is_plain = False
        checks = self._checks
        if checks is None:
            checks = self._look()
        get = fields.get
        for name, constant, compare, operator in checks:
            value = get(name, MISSING)
            if compare is None:
                if value != constant:
                    return False
            elif (kind := value.__class__) is int or kind is float:
                if not compare(value, constant):
                    return False
            elif value is MISSING or not compared(operator, value, constant):
                return False
        return self._rest is None or self._rest_holds(self._rest, fields, environment, leaf, effort)

    def _look(self) -> tuple[Check, ...]:
        parts = parts_of(self.condition)
        found = [(part, check_of(part)) for part in parts]
        rest = [part for part, check in found if check is None]
        if rest:
            self._rest = rest[0] if len(rest) == 1 else And(tuple(rest))
        self._checks = tuple(sorted((check for _, check in found if check is not None), key=lambda check: check[3]))
        return self._checks

    def _rest_holds(self, rest: Condition, fields: Fields, environment: Fields, leaf: Leaf, effort: Effort) -> bool:
        leaf.spent += COST_OF_DEFINITION
        test = self._test
        if test is None:
            self._times += 1
            # A relation's own preparation costs as much as a test, each time.
            if (self._times <= FEW or effort.tests_left <= 0) and not has_relation(rest):
                return holds(rest, fields, environment, effort.relations)
            effort.tests_left -= 1
            test = self._test = compiled(rest, effort.relations)
        return test(fields, environment)


Check = tuple[str, Any, Callable[[Any, Any], bool] | None, str]  # Any: values, which are numbers where there is a function
"""A field, a constant, how two numbers are compared (None for equality), and the operator."""
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def check_of(part: Condition) -> Check | None:
    """A comparison of a field with a constant as it is looked at; None for another part."""
    match part:
        # 1 is also true for Python, 0 also false: such an equality is left to a test.
        case Comparison("=", Field((name,), Origin.EVENT), Constant(value)) if value not in (0, 1) and value == value:
            return name, value, None, ""
        case Comparison("<" | "<=" | ">" | ">=" as operator, Field((name,), Origin.EVENT), Constant(value)):
            kind = type(value)
            return (name, value, _COMPARE[operator], operator) if kind is int or kind is float else None
        case Comparison("=", Field((name,), Origin.EVENT), Constant(value)) if type(value) in (int, float) and value == value:
            return name, value, eq, "="
        case _:
            return None


Entry = tuple[object, object, Tried | None]
"""A field, the value that it is to have, and what else is to hold."""


def entry_of(condition: Condition) -> Entry:
    """A condition as it is tried."""
    parts = parts_of(condition)
    for at, part in enumerate(parts):
        check = check_of(part)
        if check is not None and check[2] is None:
            left = parts[:at] + parts[at + 1 :]
            return check[0], check[1], Tried(left[0] if len(left) == 1 else And(left)) if left else None
    return NO_FIELD, MISSING, Tried(condition) if parts else None


def _condition_of(entry: Entry) -> Condition:
    name, value, tried = entry
    parts = () if tried is None else parts_of(tried.condition)
    if isinstance(name, str):
        parts = (Comparison("=", Field((name,)), Constant(value)), *parts)  # type: ignore[arg-type]  # the value of a constant
    return parts[0] if len(parts) == 1 else And(parts)


class Leaf:
    """Some conditions, those that came since its function was made one by one."""

    __slots__ = ("_gone", "_is_reconsidered", "_made", "_program", "entries", "is_plain", "spent")

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        """What is tried one by one."""
        self.is_plain = True
        """Whether there is nothing but these, and nothing to be made of them: whoever has the leaf may try them itself."""
        self.spent = 0
        """What their tests have cost since the function was made, in equalities; one that fails is as quick as in a function."""
        self._made: dict[int, Condition] | None = None
        self._program: Program | None = None
        self._gone = False
        """Whether the function has conditions that were removed since."""
        self._is_reconsidered = False
        """Whether it was asked of all that are tried one by one if they are to wait elsewhere."""

    @property
    def program(self) -> Program | None:
        """The function, where it is of just the conditions that are here."""
        return None if self.entries or self._gone else self._program

    @property
    def size(self) -> int:
        """How many conditions are tried here."""
        return len(self.entries) + (len(self._made) if self._made else 0)

    def __contains__(self, number: object) -> bool:
        return number in self.entries or (self._made is not None and number in self._made)

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be tried."""
        self._is_reconsidered = False
        self.entries[number] = entry_of(condition)

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        if self.entries.pop(number, None) is not None:
            return
        if self._made is None:
            raise KeyError(number)
        del self._made[number]
        self._gone = True
        if not self._made:
            self._program, self._made, self._gone = None, None, False

    def take_all(self) -> dict[int, Condition]:
        """All conditions, which are forgotten here."""
        every = {**(self._made or {}), **{number: _condition_of(entry) for number, entry in self.entries.items()}}
        self.entries, self.spent = {}, 0
        self._made, self._program, self._gone = None, None, False
        return every

    def match(self, fields: Fields, environment: Fields, found: list[int], effort: Effort) -> None:
        """Append the numbers of the conditions that hold."""
        entries = self.entries
        if entries:
            get = fields.get
            for number, (name, value, tried) in entries.items():
                if get(name, MISSING) == value and (tried is None or tried.holds(fields, environment, self, effort)):  # type: ignore[call-overload]  # NO_FIELD is no name
                    found.append(number)
        if self._program is not None:
            self._run(fields, environment, found)
        if self.spent > WORTH and effort.may_generate and self.spent > WORTH * self.size:
            if self._is_reconsidered or not self.entries:
                effort.may_generate = False
                self._generate(effort.relations)
            else:
                self._is_reconsidered = True
                effort.reconsider(self.entries)

    def _run(self, fields: Fields, environment: Fields, found: list[int]) -> None:
        assert self._program is not None
        assert self._made is not None
        if not self._gone:
            self._program(fields, environment, found.append)
            return
        self.spent += COST_OF_TEST
        numbers: list[int] = []
        self._program(fields, environment, numbers.append)
        found += [number for number in numbers if number in self._made]

    def _generate(self, relations: Relations) -> None:
        self._made = self.take_all()
        self._program = generate({number: parts_of(each) for number, each in self._made.items()}, relations)
