"""What a program is turned into: for each function a list of instructions, for a machine with a stack of its own.

An expression that calls no function of the program is one Python closure (closures.py), no deeper than the brackets of the
text; everything else, calls and loops above all, is instructions, so that no program can exhaust Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, TypeAlias


class Op(IntEnum):
    """What an instruction does, with its two operands a and b."""

    PUSH = 0
    """The value of a."""
    DO = 1
    """Evaluate a, for what it does."""
    UNLESS = 2
    """Go on at b where the value of a is false or null."""
    SET = 3
    """Give the variable b, as (hops, index), the value of a."""
    JUMP = 4
    """Go on at a."""
    CALL = 5
    """The function under a operands."""
    CALL_LAST = 6
    """As CALL, where the caller has nothing left to do."""
    RETURN = 7
    """The top of the stack, to the caller."""
    POP = 8
    POP_UNLESS = 9
    """Take the top; go on at a where it is false or null."""
    POP_SET = 10
    """Take the top; it is the value of the variable a."""
    ENTER = 11
    """A scope with the top a values, and b variables more."""
    LEAVE = 12
    APPLY = 13
    """The operator a to the top b values."""
    KEEP_FALSE = 14
    """Go on at a where the top is false or null, else take it."""
    KEEP_TRUE = 15
    """Go on at a unless the top is false or null, else take it."""
    BEGIN_EACH = 16
    """Take a list, and what is under it, for a walk as a says."""
    NEXT_EACH = 17
    """Call the walk's function with the next item; without one go on at a with the result."""
    TAKE_EACH = 18
    """Take what the function gave, and go on at a."""


Instruction: TypeAlias = tuple[int, int, Any, Any]  # Any: operands are of the kind that the operation says
"""The operation, the eighths of a step that it costs, and its operands."""
STEP: Final = 8
"""Eighths that are a step."""


class Body:
    """A function as instructions. ``starts``: for each of them, the offset in the text."""

    __slots__ = ("code", "name", "parameters", "starts", "variables")

    def __init__(self, name: str, parameters: int) -> None:
        self.name = name
        self.parameters = parameters
        self.variables = 0
        """Beside its parameters."""
        self.code: list[Instruction] = []
        self.starts: list[int] = []


class Operator:
    """An operator as a value, such as upper in (map upper names)."""

    __slots__ = ("function", "least", "most", "name")

    def __init__(self, name: str, least: int, most: int, function: Callable[..., object]) -> None:
        self.name = name
        self.least = least
        self.most = most
        self.function = function
