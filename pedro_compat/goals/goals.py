"""Goals: a body is compiled once into instructions, which a small machine runs for each notification (manual 5; paper 3.2, 4.2).

    TEST test         go on if ``test()`` holds, else backtrack
    CHOOSE choices    go on with each solution of ``choices()``, a generator, in turn
    TRY target        go on; when all of that has failed, go on at the target
    JUMP target       go on there
    MARK slot         remember how many choices are open
    CUT slot          forget the choices opened since the mark
    FAIL              backtrack

There is no jump backwards, so a body opens at most one choice for each of its instructions, and a slot is never marked again
while a choice behind its mark is open. Time is bounded by the steps of :class:`Work`; a body may nest as deeply as its line is
long.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Mapping
from itertools import count
from typing import Any

from ..dialect import Dialect
from ..errors import SHOWN_CHARACTERS, BadSubscription
from ..terms.terms import COMMA, CONS, NIL, Frozen, Term, Var, is_cons, is_number
from ..terms.unification import BYTES_PER_STEP, TypeFault, Work, dereferenced, occurs, unify
from .arithmetic import FUNCTIONS, Number, evaluate

TEST, CHOOSE, TRY, JUMP, MARK, CUT, FAIL = range(7)

Test = Callable[[], bool]
Choices = Callable[[], Generator[None, None, None]]
Instruction = tuple[int, Any]
"""An instruction and its operand: a test, choices, a target or a slot, by the instruction."""

_COMPARISONS: Mapping[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "=<": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _Label:
    """A place in the code that is not known yet."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at = -1


def compile_goal(body: Term, dialect: Dialect, work: Work) -> list[Instruction]:
    """The instructions for a body. Raises BadSubscription at the first goal that the dialect does not have."""
    code: list[Instruction] = []
    slots = 0
    pending: list[tuple[str, Any]] = [("goal", body)]  # Any: a goal, a label or an instruction, by its first item
    while pending:
        what, item = pending.pop()
        if what == "emit":
            code.append(item)
        elif what == "label":
            item.at = len(code)
        else:
            parts = _control(item, slots)
            if parts is None:
                instruction = _simple(item, dialect, work, last=not pending)
                if instruction is not None:
                    code.append(instruction)
            else:
                slots += 1
                pending.extend(reversed(parts))
    return [(what, operand.at if type(operand) is _Label else operand) for what, operand in code]


def _control(goal: Term, slot: int) -> list[tuple[str, Any]] | None:
    """The parts of a goal that takes goals, in order; ``None`` for any other."""
    if type(goal) is not tuple:
        return None
    name, *arguments = goal
    if len(arguments) == 1:
        inner = ("goal", arguments[0])
        if name == "once":
            return [("emit", (MARK, slot)), inner, ("emit", (CUT, slot))]
        if name == "not":
            fails = _Label()
            tried = [("emit", (MARK, slot)), ("emit", (TRY, fails)), inner, ("emit", (CUT, slot)), ("emit", (FAIL, None))]
            return [*tried, ("label", fails)]
    if len(arguments) != 2:
        return None
    left, right = arguments
    if name == COMMA:
        return [("goal", left), ("goal", right)]
    if name != ";":
        return None
    other, end = _Label(), _Label()
    otherwise = [("emit", (JUMP, end)), ("label", other), ("goal", right), ("label", end)]
    if type(left) is tuple and len(left) == 3 and left[0] == "->":
        condition = [("emit", (MARK, slot)), ("emit", (TRY, other)), ("goal", left[1]), ("emit", (CUT, slot))]
        return [*condition, ("goal", left[2]), *otherwise]
    return [("emit", (TRY, other)), ("goal", left), *otherwise]


def _simple(goal: Term, dialect: Dialect, work: Work, *, last: bool) -> Instruction | None:
    """The instruction of a goal without goals in it; ``last``: nothing comes after it that could ask for another solution."""
    if goal == "true":
        return None
    if goal == "fail":
        return FAIL, None
    if type(goal) is tuple:
        name, *arguments = goal
        assert type(name) is str
        if (name, len(arguments)) in dialect.goals:
            if name in _COMPARISONS:
                return TEST, _comparison(name, arguments[0], arguments[1], dialect, work)
            if last and name == "member":
                return TEST, _is_member(arguments[0], arguments[1], work)
            return _BUILDERS[name](arguments, dialect, work)
        raise BadSubscription(
            f"{name[:SHOWN_CHARACTERS]}/{len(arguments)} is no goal of Pedro {dialect.name}; see section 5 of its manual"
        )
    shown = goal[:SHOWN_CHARACTERS] if type(goal) is str else "a " + _KIND_NAMES[type(goal)]
    raise BadSubscription(f"{shown} is no goal of Pedro {dialect.name}; see section 5 of its manual")


_KIND_NAMES = {bytes: "string", int: "number", float: "number", Var: "variable", Frozen: "variable"}


def _comparison(name: str, left: Term, right: Term, dialect: Dialect, work: Work) -> Test:
    holds = _COMPARISONS[name]
    functions = FUNCTIONS[dialect.name]

    def test() -> bool:
        first, second = left, right
        while type(first) is Var and first.ref is not None:
            first = first.ref
        while type(second) is Var and second.ref is not None:
            second = second.ref
        # A number is what nearly every notification brings; anything else is looked at in full.
        if type(first) is not int and type(first) is not float:
            first = evaluate(first, functions, work)
        if type(second) is not int and type(second) is not float:
            second = evaluate(second, functions, work)
        return holds(first, second)

    return test


def _is(arguments: list[Term], dialect: Dialect, work: Work) -> Instruction:
    result, expression = arguments
    functions = FUNCTIONS[dialect.name]
    return TEST, lambda: unify(result, evaluate(expression, functions, work), work)


def _equals(arguments: list[Term], dialect: Dialect, work: Work) -> Instruction:
    left, right = arguments
    return TEST, lambda: unify(left, right, work)


def _type_test(holds: Callable[[Term], bool]) -> Callable[[list[Term], Dialect, Work], Instruction]:
    def build(arguments: list[Term], dialect: Dialect, work: Work) -> Instruction:
        subject = arguments[0]
        return TEST, lambda: holds(dereferenced(subject))

    return build


def _member(arguments: list[Term], dialect: Dialect, work: Work) -> Instruction:
    wanted, members = arguments
    kind = type(wanted)
    is_constant = kind is str or kind is bytes or kind is int or kind is float

    def choices() -> Generator[None, None, None]:
        height = len(work.trail)
        cell = dereferenced(members)
        # A variable for a tail just ends the list: binding it would never end (paper 5.4).
        while type(cell) is tuple and is_cons(cell):
            work.spend(1)
            item = cell[1]
            if is_constant and type(item) is not Var:
                # As unify has it, without the walk: nothing is bound.
                if type(item) is kind and item == wanted:
                    yield
            elif unify(wanted, item, work):
                yield
            work.undo(height)
            cell = dereferenced(cell[2])

    return CHOOSE, choices


def _is_member(wanted: Term, members: Term, work: Work) -> Test:
    """As :func:`_member`, up to its first solution."""

    def test() -> bool:
        sought, cell = dereferenced(wanted), members
        kind = type(sought)
        is_constant = kind is str or kind is bytes or kind is int or kind is float
        height = len(work.trail)
        while True:
            while type(cell) is Var and cell.ref is not None:
                cell = cell.ref
            if type(cell) is not tuple or not is_cons(cell):
                return False
            work.spend(1)
            item = cell[1]
            if is_constant and type(item) is not Var:
                if type(item) is kind and item == sought:
                    return True
            else:
                if unify(sought, item, work):
                    return True
                work.undo(height)
            cell = cell[2]

    return test


def _split(arguments: list[Term], dialect: Dialect, work: Work) -> Instruction:
    whole, front, back = arguments

    def choices() -> Generator[None, None, None]:
        height = len(work.trail)
        rest = dereferenced(whole)
        if rest != NIL and not is_cons(rest):
            return
        length = _length(front, work)
        binds_freely = not occurs(None, rest, work)
        # The front grows at its end: its last tail is a variable of ours, bound to [] for the solution at hand.
        end = Var("_")
        taken: Term = end
        for place in count():
            end.ref = NIL
            work.spend(1)
            # A front of known length leaves one place to split at.
            if length in (None, place) and _takes(back, rest, binds_freely, work) and _takes(front, taken, binds_freely, work):
                yield
            work.undo(height)
            if place == length or not (type(rest) is tuple and is_cons(rest)):
                return
            last = Var("_")
            end.ref = (CONS, rest[1], last)
            end = last
            rest = dereferenced(rest[2])

    return CHOOSE, choices


def _length(part: Term, work: Work) -> int | None:
    """The length of a proper list, or ``None``."""
    length = 0
    cell = dereferenced(part)
    while type(cell) is tuple and is_cons(cell):
        work.spend(1)
        length += 1
        cell = dereferenced(cell[2])
    return length if type(cell) is str and cell == NIL else None


def _takes(part: Term, value: Term, freely: bool, work: Work) -> bool:
    # Without variables inside the occurs check cannot find one, and would walk each of n parts of n items.
    variable = dereferenced(part)
    if freely and type(variable) is Var:
        work.bind(variable, value)
        return True
    return unify(part, value, work)


def _splitstring(arguments: list[Term], dialect: Dialect, work: Work) -> Instruction:
    whole, front, back = arguments

    def choices() -> Generator[None, None, None]:
        height = len(work.trail)
        text = dereferenced(whole)
        if type(text) is not bytes:
            raise TypeFault
        known, known_end = dereferenced(front), dereferenced(back)
        places = range(len(text) + 1)
        # A part that is known leaves one place to split at.
        if type(known) is bytes:
            places = range(len(known), len(known) + 1) if text.startswith(known) else range(0)
        elif type(known_end) is bytes:
            start = len(text) - len(known_end)
            places = range(start, start + 1) if text.endswith(known_end) else range(0)
        cost = 1 + len(text) // BYTES_PER_STEP
        for place in places:
            work.spend(cost)
            if type(known) is Var and type(known_end) is Var and known is not known_end:
                # As unify has it, for what takes any text: most are split so, at each place in turn.
                work.bind(known, text[:place])
                work.bind(known_end, text[place:])
                yield
            elif unify(front, text[:place], work) and unify(back, text[place:], work):
                yield
            work.undo(height)

    return CHOOSE, choices


_BUILDERS: Mapping[str, Callable[[list[Term], Dialect, Work], Instruction]] = {
    "=": _equals,
    "is": _is,
    "member": _member,
    "split": _split,
    "splitstring": _splitstring,
    "number": _type_test(is_number),
    "atom": _type_test(lambda term: type(term) is str),
    "string": _type_test(lambda term: type(term) is bytes),
    "list": _type_test(lambda term: term == NIL if type(term) is str else is_cons(term)),
    "nonvar": _type_test(lambda term: type(term) is not Var and type(term) is not Frozen),
}


def solve(code: list[Instruction], work: Work) -> bool:
    """Whether the code has a solution; its bindings stay, for the caller to undo. Raises TypeFault and Exhausted."""
    choices: list[tuple[int, int, Generator[None, None, None] | None]] = []
    marks: dict[int, int] = {}
    size = len(code)
    at = 0
    while at < size:
        what, operand = code[at]
        at += 1
        work.spend(1)
        if what == TEST:
            if operand():
                continue
        elif what == CHOOSE:
            choices.append((at, len(work.trail), operand()))
        elif what == TRY:
            choices.append((operand, len(work.trail), None))
            continue
        elif what == JUMP:
            at = operand
            continue
        elif what == MARK:
            marks[operand] = len(choices)
            continue
        elif what == CUT:
            del choices[marks[operand] :]
            continue
        # Backtrack: to the newest choice that still has something to offer.
        while choices:
            at, height, solutions = choices[-1]
            work.undo(height)
            if solutions is None:
                choices.pop()
                break
            if next(solutions, work) is None:
                break
            choices.pop()
        else:
            return False
    return True
