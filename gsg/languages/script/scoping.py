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
from .syntax import Body, CallNode, ConstantNode, ExistsNode, ExpressionNode, VariableNode


class BlockScope(QueryScope):
    """What the expressions of one block share: ``group`` makes a tree of a body, ``bound`` are the names in tuples, wherever."""

    def __init__(self, group: Callable[[Body, frozenset[str]], algebra.Algebra], bound: frozenset[str]) -> None:
        super().__init__()
        self.group = group
        self.bound = bound


class Scope:
    """Where expressions stand: ``clause`` names the place, ``known`` are the names with a value, ``tree`` has the solutions."""

    def __init__(self, shared: BlockScope, clause: str, known: Collection[str], tree: algebra.Algebra) -> None:
        self.shared = shared
        self.clause = clause
        self.known = frozenset(known)
        self.tree = tree
        self.inner: Decided = []

    def expression(self, node: ExpressionNode) -> Expression:
        """The expression of a node of the syntax tree."""
        self.shared.parts += 1
        if self.shared.parts > MAX_PARTS:
            position = 0 if isinstance(node, ConstantNode) else node.position
            raise Mistake(position, f"expressions of more than {MAX_PARTS:,} parts; expected several subscriptions")
        match node:
            case ConstantNode(term=term):
                return Constant(term)
            case VariableNode():
                return self.variable(node)
            case ExistsNode():
                return self.exists(node)
        if node.function in AGGREGATES:
            return self.aggregate(node)
        if node.function == "NOW":
            return Constant(self.shared.moment)
        arguments = tuple(self.expression(argument) for argument in node.arguments)
        if node.function in FRESH:
            return self.shared.fresh(node.function, self.names(), arguments[0] if arguments else None)
        if node.function == "IRI":
            arguments = (*arguments, Constant(""))  # a script has no base
        return Call(CAST_NAMES.get(node.function, node.function), arguments)

    def names(self) -> tuple[str, ...]:
        """The names that tell solutions apart."""
        return identity(self.tree)

    def variable(self, node: VariableNode) -> Expression:
        if node.name not in self.known:
            self.unknown(node)
        return Name(node.name)

    def unknown(self, node: VariableNode) -> NoReturn:
        remedy = expected_one_of(node.name, self.known)
        if node.name in self.shared.bound:
            remedy = f"it is bound in other braces or later; {remedy}"
        raise Mistake(node.position, f"?{node.name} has no value in {self.clause}; {remedy}")

    def exists(self, node: ExistsNode) -> Expression:
        name = self.shared.hidden_name("exists")
        problem = too_many_decided(self.shared.counts["exists"])
        if problem:
            raise Mistake(node.position, problem)
        self.inner.append((name, self.shared.group(node.body, self.known)))
        return Call("!", (Name(name),)) if node.negated else Name(name)

    def aggregate(self, node: CallNode) -> Expression:
        raise Mistake(
            node.position,
            f"the aggregate {node.function} in {self.clause}, which is of single rows; "
            "expected it in what SUBSCRIBE selects, in HAVING or in ORDER BY",
        )

    def condition(self, node: ExpressionNode, conditions: Conditions) -> None:
        """Adds a condition: those that are joined by ``&&`` one by one."""
        negated = False
        while isinstance(node, CallNode) and node.function == "!":
            node, negated = node.arguments[0], not negated
        if isinstance(node, CallNode) and node.function == "&&" and not negated:
            for part in node.arguments:
                self.condition(part, conditions)
        elif isinstance(node, ExistsNode):
            pattern = self.shared.group(node.body, self.known)
            conditions.existences.append((pattern, node.negated != negated))
        else:
            conditions.add_expression(self.expression(node), negated, self.inner)


class AggregateScope(Scope):
    """What an aggregate is of: the solutions of a group."""

    def names(self) -> tuple[str, ...]:
        return in_scope(self.tree)

    def aggregate(self, node: CallNode) -> Expression:
        raise Mistake(node.position, f"the aggregate {node.function} inside {self.clause}; expected an expression of single rows")


class GroupScope(Scope):
    """Expressions over groups: of their keys, of aggregates, and of what was selected before."""

    def __init__(self, shared: BlockScope, keys: tuple[str, ...], tree: algebra.Algebra) -> None:
        super().__init__(shared, "the selection", keys, tree)
        self._keys = keys
        self.aggregates = Aggregates(shared)

    def names(self) -> tuple[str, ...]:
        return self._keys

    def add_name(self, name: str) -> None:
        """A name that is selected has a value from now on."""
        self.known |= {name}

    def unknown(self, node: VariableNode) -> NoReturn:
        if node.name not in visible(self.tree):
            raise Mistake(node.position, f"?{node.name} has no value; {expected_one_of(node.name, visible(self.tree))}")
        raise Mistake(
            node.position,
            f"?{node.name} has many values in a group; expected it in GROUP BY, or in an aggregate such as SAMPLE(?{node.name})",
        )

    def aggregate(self, node: CallNode) -> Expression:
        if not node.arguments:
            solution = visible(self.tree) if node.distinct else ()
            return self.aggregates.value(Aggregated(node.function, None, node.distinct, solution=solution), [])
        inside = AggregateScope(self.shared, f"the aggregate {node.function}", visible(self.tree), self.tree)
        separator = " "
        if len(node.arguments) == 2:
            second = node.arguments[1]
            if not isinstance(second, ConstantNode) or type(second.term) is not str:
                raise Mistake(node.position, 'expected the separator of GROUP_CONCAT as a string, such as ", "')
            separator = second.term
        expression = inside.expression(node.arguments[0])
        return self.aggregates.value(Aggregated(node.function, expression, node.distinct, separator), inside.inner)


def expected_one_of(name: str, known: Collection[str]) -> str:
    """What a name might have been, in words."""
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean ?{near[0]}?"
    shown = sorted(name for name in known if not name.startswith("."))
    if not shown:
        return "nothing binds a variable there"
    return f"variables with a value there: {', '.join('?' + name for name in shown[:10])}{', ...' if len(shown) > 10 else ''}"


def has_aggregate(node: ExpressionNode | None) -> bool:
    """Whether an aggregate stands in an expression; not counting what stands in the braces of EXISTS."""
    if not isinstance(node, CallNode):
        return False
    return node.function in AGGREGATES or any(map(has_aggregate, node.arguments))


def says_something(node: ExpressionNode) -> bool:
    """Whether an expression depends on the row or on what there is."""
    if isinstance(node, CallNode):
        return not node.arguments or any(map(says_something, node.arguments))
    return not isinstance(node, ConstantNode)
