"""The machine that runs the instructions of a program (code.py), with its own stacks of values and of calls.

Steps are counted before each instruction is done. What of the values made is alive is counted when as much has been made as the
limit lets live beside what was alive before: each scope that can be reached once, each value in it written out in full.
"""

from __future__ import annotations

from typing import Final

from .code import STEP, Body, Instruction, Op, Operator
from .data import (
    ENTRY_BYTES,
    FUNCTION_BYTES,
    LIST_BYTES,
    SCOPE_BYTES,
    Function,
    List,
    Record,
    Scope,
    has_functions,
    size_of,
)
from .limits import Reason, Stop, mistake
from .lists import as_list, sorted_by
from .numbers import shown
from .run import Run

_PUSH, _DO, _UNLESS, _SET, _JUMP = int(Op.PUSH), int(Op.DO), int(Op.UNLESS), int(Op.SET), int(Op.JUMP)
_CALL, _CALL_LAST, _RETURN, _POP = int(Op.CALL), int(Op.CALL_LAST), int(Op.RETURN), int(Op.POP)
_POP_UNLESS, _POP_SET, _ENTER, _LEAVE = int(Op.POP_UNLESS), int(Op.POP_SET), int(Op.ENTER), int(Op.LEAVE)
_APPLY, _KEEP_FALSE, _KEEP_TRUE = int(Op.APPLY), int(Op.KEEP_FALSE), int(Op.KEEP_TRUE)
_BEGIN_EACH, _NEXT_EACH = int(Op.BEGIN_EACH), int(Op.NEXT_EACH)

COUNT_STEPS: Final = 8
"""What counting what lives costs, beside what it visits."""
_CALLS = (_CALL, _CALL_LAST)

Frame = tuple[list[Instruction], list[int], int, Scope | None]
"""Where a caller goes on: instructions and their places, which is next, and its variables."""


class Each:
    """A walk through a list: map, filter, fold, sort, any and all."""

    __slots__ = ("at", "function", "kind", "made", "values")

    def __init__(self, kind: str, function: object, values: List, initial: object) -> None:
        self.kind = kind
        self.function = function
        self.values = values
        self.at = 0
        self.made: list[object] = [initial] if kind == "fold" else []

    def arguments(self) -> tuple[object, ...]:
        """Of the next call."""
        item = self.values.items[self.at]
        return (self.made[0], item) if self.kind == "fold" else (item,)

    def is_done(self) -> bool:
        """Whether no call is left."""
        return self.at >= len(self.values.items)

    def take(self, value: object) -> None:
        """What the call gave."""
        item = self.values.items[self.at]
        self.at += 1
        is_true = value is not False and value is not None
        match self.kind:
            case "fold":
                self.made[0] = value
            case "filter":
                if is_true:
                    self.made.append(item)
            case "find" | "any?":
                if is_true:
                    self.made.append(item)
                    self.at = len(self.values.items)
            case "all?":
                if not is_true:
                    self.made.append(item)
                    self.at = len(self.values.items)
            case _:
                self.made.append(value)

    def result(self, run: Run) -> object:
        """What the walk comes to."""
        match self.kind:
            case "fold":
                return self.made[0]
            case "find":
                return self.made[0] if self.made else None
            case "any?":
                return bool(self.made)
            case "all?":
                return not self.made
            case "sort":
                return sorted_by(run, self.values.items, tuple(self.made))
        return run.made_list(tuple(self.made))


class Machine:
    """Runs functions for one wake. ``live_bytes``: of the agent's variables, as last counted."""

    def __init__(self, run: Run, live_bytes: int, roots: list[object]) -> None:
        self.run = run
        self.live_bytes = live_bytes
        self._roots = roots
        """What the agent keeps between wakes."""
        self._slack = run.limits.memory_bytes // 8
        self._count_at = max(run.limits.memory_bytes - live_bytes, self._slack)

    def call(self, function: object, arguments: tuple[object, ...]) -> object:
        """The value of a call. Raises Stop, with its place."""
        body = Body("wake", 0)
        body.code = [(_CALL, 0, len(arguments), None), (_RETURN, 0, None, None)]
        body.starts = [0, 0]
        return self._execute(body, [function, *arguments])

    def _execute(self, body: Body, stack: list[object]) -> object:
        run, limit, eighths = self.run, self.run.most_steps, 0
        frames: list[Frame] = []
        code, starts, at, scope = body.code, body.starts, 0, None
        push, pop = stack.append, stack.pop
        max_calls = run.limits.calls + 1  # the first frame is that of the wake
        try:
            while True:
                op, cost, a, b = code[at]
                at += 1
                eighths += cost
                if eighths >= STEP:
                    run.steps += eighths // STEP
                    eighths %= STEP
                    if run.steps > limit:
                        raise run.out_of_steps()
                if op == _PUSH:
                    push(a(scope, run))
                elif op == _UNLESS:
                    value = a(scope, run)
                    if value is False or value is None:
                        at = b
                elif op == _SET:
                    hops, index = b
                    assign(hops, index, scope, run, a(scope, run))
                elif op == _DO:
                    a(scope, run)
                elif op == _JUMP:
                    at = a
                    if run.allocated_bytes > self._count_at:
                        self._count_live(stack, frames, scope)
                elif op in _CALLS:
                    if run.allocated_bytes > self._count_at:
                        self._count_live(stack, frames, scope)
                    function = stack[-a - 1]
                    if function.__class__ is Function:
                        given = stack[-a:] if a else []
                        del stack[-a - 1 :]
                        called = function.body
                        if called.parameters != a:
                            raise _wrong_count(called.name, called.parameters, a)
                        if op == _CALL:
                            if len(frames) >= max_calls:
                                raise self._too_many_calls()
                            frames.append((code, starts, at, scope))
                        scope = [function.scope, *given]
                        if called.variables:
                            scope.extend([None] * called.variables)
                        run.made_scope(len(scope))
                        code, starts, at = called.code, called.starts, 0
                    else:
                        value = _applied(function, stack[-a:] if a else [], run)
                        del stack[-a - 1 :]
                        push(value)
                elif op == _RETURN:
                    if not frames:
                        return pop()
                    code, starts, at, scope = frames.pop()
                elif op == _POP:
                    pop()
                elif op == _POP_UNLESS:
                    value = pop()
                    if value is False or value is None:
                        at = a
                elif op == _POP_SET:
                    hops, index = a
                    assign(hops, index, scope, run, pop())
                elif op == _ENTER:
                    given = stack[-a:] if a else []
                    if a:
                        del stack[-a:]
                    scope = [scope, *given, *([None] * b)]
                    run.made_scope(len(scope))
                elif op == _LEAVE:
                    scope = scope[0]  # type: ignore[index,assignment]  # a let is left only where one was entered
                elif op == _APPLY:
                    value = a(run, *(stack[-b:] if b else ()))
                    if b:
                        del stack[-b:]
                    push(value)
                elif op == _KEEP_FALSE:
                    if stack[-1] is False or stack[-1] is None:
                        at = a
                    else:
                        pop()
                elif op == _KEEP_TRUE:
                    if stack[-1] is False or stack[-1] is None:
                        pop()
                    else:
                        at = a
                elif op == _BEGIN_EACH:
                    self._begin(a, stack)
                elif op == _NEXT_EACH:
                    each: Each = stack[-1]  # type: ignore[assignment]  # BEGIN_EACH put it there
                    if each.is_done():
                        stack[-1] = each.result(run)
                        at = a
                    else:
                        push(each.function)
                        stack.extend(each.arguments())
                else:  # TAKE_EACH
                    value = pop()
                    each = stack[-1]  # type: ignore[assignment]  # as above
                    each.take(value)
                    run.allocated_bytes += ENTRY_BYTES
                    at = a
        except Stop as stop:
            if stop.start is None:
                stop.start = starts[at - 1]
            raise

    def _begin(self, kind: str, stack: list[object]) -> None:
        if kind == "fold":
            values, initial = as_list(stack.pop()), stack.pop()
        elif kind == "sort":
            function, values, initial = stack.pop(), as_list(stack.pop()), None
            stack.append(function)
        else:
            values, initial = as_list(stack.pop()), None
        stack[-1] = Each(kind, stack[-1], values, initial)

    def _too_many_calls(self) -> Stop:
        limit = self.run.limits.calls
        return Stop(
            Reason.CALLS, f"more than {limit:,} calls within each other; expected fewer: let the call be the last thing done", limit
        )

    def count_live(self) -> int:
        """Count what lives now that nothing runs. Raises Stop where it is too much."""
        if self.live_bytes + self.run.allocated_bytes > self.run.limits.memory_bytes:
            self._count_live([], [], None)
        return self.live_bytes + self.run.allocated_bytes

    def _count_live(self, stack: list[object], frames: list[Frame], scope: Scope | None) -> None:
        run = self.run
        run.charge(COUNT_STEPS)
        roots = [*self._roots, run.variables, *stack, *(frame[3] for frame in frames), scope]
        roots.extend(handler for _, handler in run.subscribed.values())
        roots.extend(timer.function for timer in run.timers.values())
        roots.extend(run.published)
        run.allocated_bytes = 0
        self.live_bytes = live_bytes(roots, run)
        run.expect_bytes(self.live_bytes)
        self._count_at = max(run.limits.memory_bytes - self.live_bytes, self._slack)


def assign(hops: int, index: int, scope: Scope | None, run: Run, value: object) -> None:
    """Give a variable a value; hops < 0 are the agent's own."""
    if hops < 0:
        run.variables[index] = value
        return
    for _ in range(hops):
        scope = scope[0]  # type: ignore[index,assignment]  # as deep as the text says
    scope[index] = value  # type: ignore[index]  # as above


def _applied(function: object, arguments: list[object], run: Run) -> object:
    if not isinstance(function, Operator):
        raise mistake(f"{shown(function)} is no function; expected one, such as (lambda (x) ...)")
    if not function.least <= len(arguments) <= function.most:
        raise _wrong_count(function.name, function.least, len(arguments))
    return function.function(run, *arguments)


def _wrong_count(name: str, wanted: int, given: int) -> Stop:
    return mistake(f"({name} ...) with {given} operands; expected {wanted}")


def live_bytes(roots: list[object], run: Run) -> int:
    """The bytes of everything that can be reached: scopes and functions once, values written out in full."""
    seen: set[int] = set()
    todo, total, visited = list(roots), 0, 0
    while todo:
        value = todo.pop()
        visited += 1
        if value is None:
            continue
        if isinstance(value, (list, Function, Each)):
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, list):
                total += SCOPE_BYTES + ENTRY_BYTES * len(value)
                todo.extend(value)
            elif isinstance(value, Function):
                total += FUNCTION_BYTES
                todo.append(value.scope)
            else:
                total += LIST_BYTES
                todo.extend((value.function, value.values, value.made))
        elif isinstance(value, List) and has_functions(value):
            total += LIST_BYTES + ENTRY_BYTES * len(value.items)
            todo.extend(value.items)
        elif isinstance(value, dict):
            total += size_of(Record(value), run)
        else:
            total += size_of(value, run)
        if visited >= 64:
            run.charge(visited // 8)
            visited = 0
    return total
