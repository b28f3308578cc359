"""rdflib's grammars of SPARQL queries and updates, without its search for comments, and without tries that cannot succeed.

rdflib's looks for a comment before each token and each try at one, which is half of what reading a query costs; placeholders.py
has made spaces of them. It tries each alternative at each place, which is half of the rest; first_sets.py tells those that can
begin with what stands there. It reads each triple of a block or template, and each operation of an update, by one recursion more;
here they are a repetition.
rdflib's own grammar stays as it is, for whoever else uses it: this is a copy of its elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyparsing import ParserElement


@cache
def query_grammar() -> ParserElement:
    """The grammar of a query, made when the first one is read. It keeps state while it parses."""
    from rdflib.plugins.sparql import parser

    return _made(parser.Query)


@cache
def update_grammar() -> ParserElement:
    """The grammar of an update: operations, each a prologue and what it says, with a semicolon between them. As the other one."""
    from pyparsing import Opt, Suppress, ZeroOrMore
    from rdflib.plugins.sparql import parser
    from rdflib.plugins.sparql.parserutils import Comp, Param, ParamList

    prologue = ParamList("prologue", parser.Prologue)
    operation = Comp("Operation", prologue + Param("request", parser.Update1))
    # What stands behind the last semicolon says nothing.
    operations = operation + ZeroOrMore(Suppress(";") + operation) + Opt(Suppress(";") + Suppress(parser.Prologue))
    return _made(operations | Suppress(parser.Prologue))


def _made(root: ParserElement) -> ParserElement:
    from rdflib.plugins.sparql import parser
    from rdflib.plugins.sparql.parserutils import ParamList

    from .first_sets import use_first_sets

    flat = {
        id(parser.TriplesBlock): _repeated(ParamList("triples", parser.TriplesSameSubjectPath)),
        id(parser.ConstructTriples): _repeated(ParamList("template", parser.TriplesSameSubject)),
    }
    return use_first_sets(without_comments(root, flat))


def _repeated(triples: ParserElement) -> ParserElement:
    """Triples with a dot between them, and perhaps one after the last."""
    from pyparsing import Opt, Suppress, ZeroOrMore

    return triples + ZeroOrMore(Suppress(".") + triples) + Opt(Suppress("."))


def without_comments(root: ParserElement, instead: Mapping[int, ParserElement] = MappingProxyType({})) -> ParserElement:
    """A copy of a grammar, whose elements refer to each other in circles, that takes comments for nothing scope.

    ``instead`` has what takes the place of some elements, by their id.
    """
    from pyparsing import ParserElement

    copies: dict[int, ParserElement] = {id(root): copy(root)}
    pending = [copies[id(root)]]

    def copied(element: ParserElement) -> ParserElement:
        known = copies.get(id(element))
        if known is None:
            known = copies[id(element)] = copy(instead.get(id(element), element))
            pending.append(known)
        return known

    while pending:
        element = pending.pop()
        element.ignoreExprs = []
        # Where an application has switched pyparsing's cache on, as matplotlib does for all, reading would take twice as long.
        element._parse = element._parseNoCache  # type: ignore[method-assign]
        for name, part in list(vars(element).items()):
            if isinstance(part, ParserElement):
                setattr(element, name, copied(part))
            elif isinstance(part, list) and part and isinstance(part[0], ParserElement):
                setattr(element, name, [copied(each) for each in part])
    return copies[id(root)]
