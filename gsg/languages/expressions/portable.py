"""FILTERs that travel: an expression over one tuple as a text, and a predicate from such a text, whoever wrote it.

What one tuple decides is decided at the rendezvous, before the network pays for the tuple. So an expression is
portable if it costs little whatever the tuple is: comparison, logic, arithmetic, kinds of terms, plain functions of texts and
dates. Patterns, hashes and what grows are not on the list; such a FILTER stays with its subscriber.

The text is JSON: a list of tests that must all hold, each a list of steps in postfix order over a stack: ``[0,p]`` pushes the item
at position p of the tuple, ``[1,t]`` a term, ``[2,f,n]`` calls f with the last n values. There is no nesting, so a stranger's text
costs no recursion to read, and two texts are equal when the tests are. Variables are gone: equal tests of many queries are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from rete.predicates import Requirement

from ...errors import Refused
from ...tuples.moments import DURATIONS
from ...tuples.terms import IRI, XSD, BlankNode, Literal, Symbol, Tuple
from .comparing import effective
from .errors import ExpressionError
from .evaluating import Evaluate, evaluator
from .functions import CASTS
from .requirements import requirements_of
from .tree import Call, Constant, Expression, Name

MAX_STEPS = 200
"""Steps of all tests in one text; a query may ask for more, and makes the tests that do not fit itself."""
MAX_DEPTH = 32
"""Depth of an expression that travels: evaluation is by recursion."""
MAX_SOURCE = 16_384
"""Characters in one text."""

_UNBOUNDED = 255
_ARITIES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/"), (2, 2)),
    **dict.fromkeys(("!", "PLUS", "MINUS"), (1, 1)),
    **dict.fromkeys(("&&", "||", "IN", "COALESCE"), (1, _UNBOUNDED)),
    "IF": (3, 3),
    **dict.fromkeys(("SAMETERM", "CONTAINS", "STRSTARTS", "STRENDS", "LANGMATCHES"), (2, 2)),
    **dict.fromkeys(("BOUND", "ISIRI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "STR", "LANG", "DATATYPE"), (1, 1)),
    **dict.fromkeys(("STRLEN", "LCASE", "UCASE", "ABS", "CEIL", "FLOOR", "ROUND"), (1, 1)),
    **dict.fromkeys(("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ"), (1, 1)),
    **dict.fromkeys(CASTS.keys() - DURATIONS, (1, 1)),  # peers of former versions have no casts to durations
}
"""The functions that travel, each with the fewest and most arguments: those whose cost is bounded by the tuple's own size."""


class _Item(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=0):
    position: int


class _Term(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1):
    term: str | int | Symbol | IRI | BlankNode | Literal


class _Function(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=2):
    name: str
    arguments: int


_Step: TypeAlias = _Item | _Term | _Function
_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(list[list[_Step]])

Places: TypeAlias = tuple[int, ...]


def travels(expression: Expression) -> bool:
    """Whether an expression may be evaluated at the rendezvous of what it reads."""
    try:
        steps = _steps(expression, {}, MAX_DEPTH)
        return len(steps) <= MAX_STEPS and len(_encode([steps]).decode()) <= MAX_SOURCE
    except (_StaysHere, UnicodeEncodeError):
        return False


def written(tests: Sequence[tuple[Expression, tuple[str, ...], Places]]) -> tuple[str, int]:
    """The text of as many tests as fit into one, in their order, and how many they are.

    A test is an expression that :func:`travels`, the names that it reads, and their positions in the tuple.
    """
    kept: list[list[_Step]] = []
    source = ""
    for expression, names, places in tests:
        kept.append(_steps(expression, dict(zip(names, places, strict=True)), MAX_DEPTH))
        longer = _encode(kept).decode()
        if sum(map(len, kept)) > MAX_STEPS or len(longer) > MAX_SOURCE:
            return source, len(kept) - 1
        source = longer
    return source, len(kept)


class _StaysHere(Exception):
    """An expression that is not portable."""


def _steps(expression: Expression, positions: dict[str, int], depth: int) -> list[_Step]:
    """The expression in postfix order. Raises _StaysHere."""
    if depth:
        match expression:
            case Constant(str() | int() | Symbol() | IRI() | BlankNode() | Literal() as term):
                return [_Term(term)]
            case Name(name):
                return [_Item(positions.get(name, 0))]
            case Call(function, arguments):
                least, most = _ARITIES.get(function, (_UNBOUNDED, 0))
                if least <= len(arguments) <= most:
                    inner = [step for argument in arguments for step in _steps(argument, positions, depth - 1)]
                    return [*inner, _Function(function, len(arguments))]
    raise _StaysHere


def compile_tests(source: str) -> Callable[[Tuple, str | None], bool]:
    """A predicate over tuples from a text of :func:`written`; it never raises. Raises Refused for any other text."""
    if len(source) > MAX_SOURCE:
        raise Refused(f"a filter of {len(source)} characters; expected at most {MAX_SOURCE}")
    try:
        tests = _decoder.decode(source)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused(f"no list of filters in postfix order: {error}") from None
    if not tests or sum(map(len, tests)) > MAX_STEPS:
        raise Refused(f"{len(tests)} filters of {sum(map(len, tests))} steps; expected 1 to {MAX_STEPS} steps")
    return Filters([_read(steps) for steps in tests])


class Filters:
    """Tests of a tuple that must all hold (a :data:`gsg.rendezvous.feed.Predicate`)."""

    __slots__ = ("_evaluate", "_longest", "_tests", "requires")

    def __init__(self, made: list[tuple[Expression, list[int]]]) -> None:
        self._longest = max((positions[-1] for _, positions in made if positions), default=-1)
        self._tests = [(expression, tuple(map(str, positions)), positions) for expression, positions in made]
        self._evaluate: list[tuple[Evaluate, Callable[[Tuple], Tuple]]] = []
        """Made for the first tuple: of very many tests most meet none."""
        self.requires: tuple[tuple[tuple[int], Requirement], ...] = tuple(
            ((positions[at],), requirement)
            for expression, names, positions in self._tests
            for at, requirement in requirements_of(expression, names)
        )
        """What is required of the values at positions, which are paths of one step (:mod:`gsg.rendezvous.demands`)."""

    def __call__(self, items: Tuple, _: str | None) -> bool:
        if self._longest >= len(items):
            return False
        if not self._evaluate:
            self._evaluate = [(evaluator(expression, names), _items(positions)) for expression, names, positions in self._tests]
        try:
            return all(effective(value(read(items))) for value, read in self._evaluate)
        except ExpressionError:
            return False


def _items(positions: list[int]) -> Callable[[Tuple], Tuple]:
    return lambda items: tuple([items[position] for position in positions])


def _read(steps: Iterable[_Step]) -> tuple[Expression, list[int]]:
    """The expression, whose names are positions, and those positions. Raises Refused."""
    stack: list[tuple[Expression, int]] = []
    positions = set()
    for step in steps:
        match step:
            case _Item(position):
                if not 0 <= position < _UNBOUNDED:
                    raise Refused(f"position {position} of a tuple; expected 0 to {_UNBOUNDED - 1}")
                positions.add(position)
                stack.append((Name(str(position)), 1))
            case _Term(term):
                stack.append((Constant(term), 1))
            case _Function(name, count):
                stack.append(_called(name, count, stack))
    if len(stack) != 1:
        raise Refused(f"a filter that leaves {len(stack)} values; expected 1")
    return stack[0][0], sorted(positions)


def _called(name: str, count: int, stack: list[tuple[Expression, int]]) -> tuple[Expression, int]:
    """A call of the last values of the stack, which are taken off it, and its depth."""
    if name not in _ARITIES:
        raise Refused(f"function {name[:100]!r} does not travel; expected one of {_shown()}")
    least, most = _ARITIES[name]
    if not least <= count <= most or count > len(stack):
        expected = f"{least}" if least == most else f"{least} or more"
        raise Refused(f"{name} of {count} arguments, where {len(stack)} values are there; expected {expected}")
    taken = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    deep = 1 + max(depth for _, depth in taken)
    if deep > MAX_DEPTH:
        raise Refused(f"a filter more than {MAX_DEPTH} calls deep; expected less")
    arguments = tuple(argument for argument, _ in taken)
    if name == "BOUND" and not isinstance(arguments[0], Name):
        raise Refused("BOUND of what is no item of the tuple; expected a position")
    return Call(name, arguments), deep


def _shown() -> str:
    return ", ".join(name.replace(XSD, "xsd:") for name in _ARITIES)
