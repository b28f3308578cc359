"""From rdflib's parse tree to terms and expressions of ours.

The tree is rdflib's own record of the grammar (a CompValue has a name and parts); every part of it that we read is named here, in
patterns.py, paths.py, modifiers.py and construct.py, and nowhere else.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import rete
from rete import algebra

from ...errors import BadQuery, Unsupported
from ...tuples.terms import IRI, XSD, XSD_BOOLEAN, XSD_DOUBLE, XSD_INTEGER, Literal, Term, literal
from ..bad_text import Mistake, Refusal
from ..expressions.functions import CASTS
from ..expressions.signatures import ARGUMENTS, CAST_NAMES, FRESH
from ..expressions.strings import wrong_constants
from ..expressions.tree import Call, Constant, Expression, Name
from ..groups import Decided
from ..scope import MAX_PARTS, QueryScope, identity
from .iris import Prologue
from .placeholders import Source

_PARTS = {
    "IF": "arg1 arg2 arg3",
    "SUBSTR": "arg start length",
    "REGEX": "text pattern flags",
    "REPLACE": "arg pattern replacement flags",
}
BUILTINS: dict[str, str] = {
    **{
        name: _PARTS.get(name, "arg1 arg2" if most == 2 else "arg")
        for name, (_, most) in ARGUMENTS.items()
        if name not in CAST_NAMES and name != "ISSYMBOL"
    },
    **dict.fromkeys(("URI", "ISURI", "EXISTS", "NOTEXISTS"), "arg"),
}
"""Every built-in call, and the names of its arguments in rdflib's parse tree."""

_OTHER_NAMES = {"URI": "IRI", "ISURI": "ISIRI"}
MAX_NESTED = 16
"""Sums and products in a row that are calls inside each other; a longer row is one call, as it would be too deep."""


def kind_of(part: Any) -> str:  # Any: rdflib's parse tree is untyped, here and in all that follows
    """The name of a part of the parse tree; for a term, that of its type."""
    return str(part.name) if type(part).__name__ in ("CompValue", "Expr") else type(part).__name__


def parts_of(part: Any) -> Iterable[Any]:
    """What a part of the parse tree consists of; a term of nothing."""
    if kind_of(part) in ("ParseResults", "list"):
        return part  # type: ignore[no-any-return]  # it is one of these
    return () if isinstance(part, str) or not hasattr(part, "values") else part.values()


def unwrapped(part: Any) -> Any:
    """The part without the layers of the grammar that say nothing."""
    while True:
        kind = kind_of(part)
        if (kind in _CHAINS and not part.other) or (kind == "RelationalExpression" and part.op is None):
            part = part.expr
        elif kind in ("ParseResults", "list") and len(part) == 1:
            part = part[0]
        else:
            return part


_CHAINS = frozenset(("ConditionalOrExpression", "ConditionalAndExpression", "AdditiveExpression", "MultiplicativeExpression"))


class Reader(QueryScope):
    """Reads the terms and expressions of one query."""

    def __init__(
        self, source: Source, prologue: Prologue, now: Callable[[], datetime] | None = None, seed: Callable[[], str] | None = None
    ) -> None:
        super().__init__(now, seed)
        self.source = source
        self.prologue = prologue
        self._blanks: dict[str, tuple[str, int]] = {}

    # Terms

    def iri(self, part: Any) -> IRI:
        """An IRI or prefixed name; an IRI that is not declared raises Mistake."""
        if kind_of(part) == "pname":
            return self._expanded(str(part.prefix or ""), str(part.localname or ""))
        return self.prologue.iri(str(part))

    def _expanded(self, prefix: str, local: str) -> IRI:
        found = self.prologue.expanded(prefix, local)
        if found is None:
            same = (token.position for token in self.source.tokens if token.kind == "name" and token.text.startswith(prefix + ":"))
            raise Mistake(next(same, 0), f'the prefix "{prefix}:" is not declared; expected PREFIX {prefix}: <...> before')
        return found

    def _position_of_string(self, text: str, function: str) -> int:
        """Where a string stands after a function; where the function does, if the text writes the string in a way of its own."""
        begun = None
        for token in self.source.tokens:
            if token.kind == "word" and token.text.upper() == function:
                begun = token.position if begun is None else begun
            elif begun is not None and token.kind == "string" and token.text.strip("\"'").replace("\\\\", "\\") == text:
                return token.position
        return begun or 0

    def _position_of_call(self, iri: str) -> int:
        """Where a function that has an IRI is called."""
        for token, following in itertools.pairwise(self.source.tokens):
            if token.kind in ("iri", "name") and following.text == "(" and self.token_iri(token.text).value == iri:
                return token.position
        return 0

    def token_iri(self, text: str) -> IRI:
        """The IRI of a token: ``<...>``, a prefixed name, or ``a``."""
        if text == "a":
            return RDF_TYPE
        if text.startswith("<"):
            return self.prologue.iri(text[1:-1])
        prefix, _, local = text.partition(":")
        return self._expanded(prefix, local)

    def literal(self, part: Any) -> Term:
        """A literal with its lexical form."""
        if kind_of(part) == "literal":
            datatype = "" if part.datatype is None else self.iri(part.datatype).value
            return literal(str(part.string), datatype, str(part.lang or ""))
        return self._number(part, signed=True)

    def _number(self, part: Any, *, signed: bool) -> Term:
        datatype = str(part.datatype or "")
        found = self.source.number(int(part)) if datatype == XSD_INTEGER else None
        if found is None:
            return literal(str(part), datatype)
        digits, plus = found
        if "e" in digits.lower():
            datatype = XSD_DOUBLE
        elif "." in digits:
            datatype = XSD + "decimal"
        sign = "-" if int(part) < 0 else "+" if plus and signed else ""
        return literal(sign + digits, datatype)

    def integer(self, part: Any) -> int:
        """The number of LIMIT or OFFSET."""
        found = self._number(part, signed=False)
        if type(found) is not int:
            digits = str(found)
            if not digits.isdigit() or len(digits) > 18:
                raise BadQuery(f"{digits} is no number of rows; expected a whole number below 10^18")
            return int(digits)
        return found

    def term(self, part: Any, scope: int) -> Term | rete.Variable:
        """What stands in a triple: a variable for a blank node too. ``scope`` numbers basic graph patterns."""
        kind = kind_of(part)
        if kind == "Variable":
            return rete.Variable(str(part))
        if kind == "BNode":
            return rete.Variable(self._blank(str(part), scope))
        return self.constant(part)

    def constant(self, part: Any) -> Term:
        """An IRI or literal."""
        if kind_of(part) in ("URIRef", "pname"):
            return self.iri(part)
        return self.literal(part)

    def _blank(self, label: str, scope: int) -> str:
        name, known = self._blanks.get(label, ("", scope))
        if not name:
            name = self.hidden_name("blank")
            self._blanks[label] = name, scope
        if known != scope:
            raise BadQuery(f"the blank node _:{label} stands in two graph patterns; expected a variable, such as ?{label}, in both")
        return name

    # Expressions

    def expression(self, part: Any, scope: ExpressionScope) -> Expression:
        """An expression; ``scope`` says what becomes of EXISTS, of aggregates, and what names are in scope."""
        part = unwrapped(part)
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise BadQuery(f"the expressions of this query have more than {MAX_PARTS:,} parts; expected several queries")
        kind = kind_of(part)
        if kind == "Variable":
            return scope.variable(str(part))
        if kind in ("URIRef", "pname"):
            return Constant(self.iri(part))
        if kind == "Literal":
            return Constant(self._number(part, signed=False))
        if kind == "literal":
            return Constant(self.literal(part))
        method = _OPERATORS.get(kind)
        if method is not None:
            return method(self, part, scope)
        if kind.startswith("Aggregate_"):
            return scope.aggregate(part)
        if kind.startswith("Builtin_"):
            return self._builtin(kind.removeprefix("Builtin_").upper(), part, scope)
        if kind == "Function":
            return self._function(part, scope)
        raise Unsupported(f"{kind} is not supported in an expression")

    def _chain(self, symbol: str, part: Any, scope: ExpressionScope) -> Expression:
        first = self.expression(part.expr, scope)
        others = tuple(self.expression(other, scope) for other in part.other or ())
        return Call(symbol, (first, *others)) if others else first

    def _relation(self, part: Any, scope: ExpressionScope) -> Expression:
        left = self.expression(part.expr, scope)
        symbol = part.op
        if symbol is None:
            return left
        if str(symbol).upper() in ("IN", "NOT IN"):
            found = Call("IN", (left, *self._list(part.other, scope)))
            return found if str(symbol).upper() == "IN" else Call("!", (found,))
        return Call(str(symbol), (left, self.expression(part.other, scope)))

    def _list(self, part: Any, scope: ExpressionScope) -> Iterable[Expression]:
        if kind_of(part) == "URIRef":
            return ()  # the empty list is read as rdf:nil
        return tuple(self.expression(item, scope) for item in part)

    def _arithmetic(self, part: Any, scope: ExpressionScope) -> Expression:
        made = self.expression(part.expr, scope)
        symbols = [str(symbol) for symbol in part.op or ()]
        others = [self.expression(other, scope) for other in part.other or ()]
        if len(symbols) > MAX_NESTED:
            return Call(" ".join(symbols), (made, *others))
        for symbol, other in zip(symbols, others, strict=True):
            made = Call(symbol, (made, other))
        return made

    def _unary(self, part: Any, scope: ExpressionScope) -> Expression:
        inner = self.expression(part.expr, scope)
        kind = kind_of(part)
        if kind == "UnaryNot":
            return Call("!", (inner,))
        number = inner.term if isinstance(inner, Constant) and kind_of(part.expr) == "Literal" else None
        if (
            number is not None
            and str(number)[:1] not in "+-"
            and (type(number) is int or (type(number) is Literal and number.datatype != XSD_BOOLEAN))
        ):
            # A signed number is one literal: -01 keeps its form.
            datatype = number.datatype if type(number) is Literal else XSD_INTEGER
            return Constant(literal(("-" if kind == "UnaryMinus" else "+") + str(number), datatype))
        return Call("MINUS" if kind == "UnaryMinus" else "PLUS", (inner,))

    def _builtin(self, name: str, part: Any, scope: ExpressionScope) -> Expression:
        if name in ("EXISTS", "NOTEXISTS"):
            return scope.exists(part.graph, negated=name == "NOTEXISTS")
        if name == "NOW":
            return Constant(self.moment)
        if name in FRESH:
            given = None if part.arg is None else self.expression(part.arg, scope)
            return self.fresh(name, scope.names(), given)
        if name not in BUILTINS:
            raise Unsupported(f"the function {name} is not supported")
        if name in ("CONCAT", "COALESCE"):
            return Call(name, tuple(self._list(part.arg, scope)))
        given_parts = [getattr(part, argument) for argument in BUILTINS[name].split()]
        arguments = tuple(self.expression(argument, scope) for argument in given_parts if argument is not None)
        name = _OTHER_NAMES.get(name, name)
        if name == "IRI":
            return Call(name, (*arguments, Constant(self.prologue.base)))
        constants = [argument.term if isinstance(argument, Constant) else None for argument in arguments]
        problem = wrong_constants(name, constants)
        if problem:
            raise Mistake(self._position_of_string(str(constants[1]), name), f"{name} with {problem}")
        return Call(name, arguments)

    def _function(self, part: Any, scope: ExpressionScope) -> Expression:
        iri = self.iri(part.iri).value
        if iri not in CASTS:
            known = ", ".join(f"xsd:{cast.removeprefix(XSD)}" for cast in CASTS)
            raise Refusal(self._position_of_call(iri), f"the function <{iri}> is not known; known are the casts {known}")
        if len(part.expr or ()) != 1 or part.distinct:
            raise BadQuery(f"the cast <{iri}> takes one argument")
        return Call(iri, (self.expression(part.expr[0], scope),))


RDF_TYPE = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")

_OPERATORS: dict[str, Callable[[Reader, Any, ExpressionScope], Expression]] = {
    "ConditionalOrExpression": lambda reader, part, scope: reader._chain("||", part, scope),
    "ConditionalAndExpression": lambda reader, part, scope: reader._chain("&&", part, scope),
    "RelationalExpression": Reader._relation,
    "AdditiveExpression": Reader._arithmetic,
    "MultiplicativeExpression": Reader._arithmetic,
    "UnaryNot": Reader._unary,
    "UnaryPlus": Reader._unary,
    "UnaryMinus": Reader._unary,
}


class ExpressionScope(ABC):
    """What an expression of the solutions of a tree may hold where it stands; by default no aggregate."""

    def __init__(self, tree: algebra.Algebra) -> None:
        self.tree = tree
        self.inner: Decided = []

    def variable(self, name: str) -> Expression:
        return Name(name)

    def names(self) -> tuple[str, ...]:
        """The names that tell solutions apart."""
        return identity(self.tree)

    def aggregate(self, part: Any) -> Expression:
        name = kind_of(part).removeprefix("Aggregate_")
        raise BadQuery(
            f"the aggregate {name.upper()} may not stand here; expected it in SELECT, HAVING or ORDER BY, and not in another"
        )

    @abstractmethod
    def exists(self, part: Any, *, negated: bool) -> Expression:
        """An EXISTS inside the expression."""
