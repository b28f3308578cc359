"""Expressions of a script where they stand: which names have a value there, and what becomes of EXISTS and of aggregates.

What nothing can give a value is refused here, by its place in the text: SPARQL would leave it unbound and the row out, silently.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection
from typing import NoReturn

from rete import algebra
from rete.compile.scope import in_scope

from ..bad_text import Mistake
from ..expressions.aggregates import AGGREGATES, Aggregated
from ..expressions.signatures import CAST_NAMES, FRESH
from ..expressions.tree import Call, Constant, Expression, Name
from ..groups import Aggregates, Conditions, Decided, too_many_decided
from ..scope import MAX_PARTS, QueryScope, identity, visible
from .syntax import Asked, Body, Called, Named, Said, Value


class Reading(QueryScope):
    """What the expressions of one block share: ``group`` makes a tree of a body, ``bound`` are the names in tuples, wherever."""

    def __init__(self, group: Callable[[Body, frozenset[str]], algebra.Algebra], bound: frozenset[str]) -> None:
        super().__init__()
        self.group = group
        self.bound = bound


class Scope:
    """Where expressions stand: ``clause`` names the place, ``known`` are the names with a value, ``tree`` has the solutions."""

    def __init__(self, reading: Reading, clause: str, known: Collection[str], tree: algebra.Algebra) -> None:
        self.reading = reading
        self.clause = clause
        self.known = frozenset(known)
        self.tree = tree
        self.inner: Decided = []

    def expression(self, said: Said) -> Expression:
        """The expression that was said."""
        self.reading.parts += 1
        if self.reading.parts > MAX_PARTS:
            position = 0 if isinstance(said, Value) else said.position
            raise Mistake(position, f"expressions of more than {MAX_PARTS:,} parts; expected several subscriptions")
        match said:
            case Value(term=term):
                return Constant(term)
            case Named():
                return self.variable(said)
            case Asked():
                return self.asked(said)
        if said.function in AGGREGATES:
            return self.aggregate(said)
        if said.function == "NOW":
            return Constant(self.reading.moment)
        arguments = tuple(self.expression(argument) for argument in said.arguments)
        if said.function in FRESH:
            return self.reading.fresh(said.function, self.names(), arguments[0] if arguments else None)
        if said.function == "IRI":
            arguments = (*arguments, Constant(""))  # a script has no base
        return Call(CAST_NAMES.get(said.function, said.function), arguments)

    def names(self) -> tuple[str, ...]:
        """The names that tell solutions apart."""
        return identity(self.tree)

    def variable(self, said: Named) -> Expression:
        if said.name not in self.known:
            self.unknown(said)
        return Name(said.name)

    def unknown(self, said: Named) -> NoReturn:
        remedy = expected_one_of(said.name, self.known)
        if said.name in self.reading.bound:
            remedy = f"it is bound in other braces or later; {remedy}"
        raise Mistake(said.position, f"?{said.name} has no value in {self.clause}; {remedy}")

    def asked(self, said: Asked) -> Expression:
        name = self.reading.hidden_name("exists")
        problem = too_many_decided(self.reading.counts["exists"])
        if problem:
            raise Mistake(said.position, problem)
        self.inner.append((name, self.reading.group(said.body, self.known)))
        return Call("!", (Name(name),)) if said.negated else Name(name)

    def aggregate(self, said: Called) -> Expression:
        raise Mistake(
            said.position,
            f"the aggregate {said.function} in {self.clause}, which is of single rows; "
            "expected it in what SUBSCRIBE selects, in HAVING or in ORDER BY",
        )

    def condition(self, said: Said, conditions: Conditions) -> None:
        """Adds a condition: those that are joined by ``&&`` one by one."""
        negated = False
        while isinstance(said, Called) and said.function == "!":
            said, negated = said.arguments[0], not negated
        if isinstance(said, Called) and said.function == "&&" and not negated:
            for part in said.arguments:
                self.condition(part, conditions)
        elif isinstance(said, Asked):
            pattern = self.reading.group(said.body, self.known)
            conditions.existences.append((pattern, said.negated != negated))
        else:
            conditions.add_expression(self.expression(said), negated, self.inner)


class InAggregate(Scope):
    """What an aggregate is of: the solutions of a group."""

    def names(self) -> tuple[str, ...]:
        return in_scope(self.tree)

    def aggregate(self, said: Called) -> Expression:
        raise Mistake(said.position, f"the aggregate {said.function} inside {self.clause}; expected an expression of single rows")


class OfGroups(Scope):
    """Expressions over groups: of their keys, of aggregates, and of what was selected before."""

    def __init__(self, reading: Reading, keys: tuple[str, ...], tree: algebra.Algebra) -> None:
        super().__init__(reading, "the selection", keys, tree)
        self._keys = keys
        self.aggregates = Aggregates(reading)

    def names(self) -> tuple[str, ...]:
        return self._keys

    def named(self, name: str) -> None:
        """A name that is selected has a value from now on."""
        self.known |= {name}

    def unknown(self, said: Named) -> NoReturn:
        if said.name not in visible(self.tree):
            raise Mistake(said.position, f"?{said.name} has no value; {expected_one_of(said.name, visible(self.tree))}")
        raise Mistake(
            said.position,
            f"?{said.name} has many values in a group; expected it in GROUP BY, or in an aggregate such as SAMPLE(?{said.name})",
        )

    def aggregate(self, said: Called) -> Expression:
        if not said.arguments:
            solution = visible(self.tree) if said.distinct else ()
            return self.aggregates.value(Aggregated(said.function, None, said.distinct, solution=solution), [])
        inside = InAggregate(self.reading, f"the aggregate {said.function}", visible(self.tree), self.tree)
        separator = " "
        if len(said.arguments) == 2:
            second = said.arguments[1]
            if not isinstance(second, Value) or type(second.term) is not str:
                raise Mistake(said.position, 'expected the separator of GROUP_CONCAT as a string, such as ", "')
            separator = second.term
        expression = inside.expression(said.arguments[0])
        return self.aggregates.value(Aggregated(said.function, expression, said.distinct, separator), inside.inner)


def expected_one_of(name: str, known: Collection[str]) -> str:
    """What a name might have been, in words."""
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean ?{near[0]}?"
    shown = sorted(name for name in known if not name.startswith("."))
    if not shown:
        return "nothing binds a variable there"
    return f"variables with a value there: {', '.join('?' + name for name in shown[:10])}{', ...' if len(shown) > 10 else ''}"


def aggregates_in(said: Said | None) -> bool:
    """Whether an aggregate stands in an expression; not counting what stands in the braces of EXISTS."""
    if not isinstance(said, Called):
        return False
    return said.function in AGGREGATES or any(map(aggregates_in, said.arguments))


def says_something(said: Said) -> bool:
    """Whether an expression depends on the row or on what there is."""
    if isinstance(said, Called):
        return not said.arguments or any(map(says_something, said.arguments))
    return not isinstance(said, Value)
