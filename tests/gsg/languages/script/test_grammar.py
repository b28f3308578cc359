"""Queries are read by a grammar that knows no comments, and comments may stand in them all the same."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyparsing import (
    CaselessKeyword,
    Empty,
    Forward,
    Literal,
    NotAny,
    OneOrMore,
    Opt,
    ParseBaseException,
    ParserElement,
    Regex,
    Suppress,
    ZeroOrMore,
)
from rdflib.plugins.sparql.parser import Query

from gsg.languages.sparql import parse_query
from gsg.languages.sparql.first_sets import ANYTHING, BEYOND_ASCII, NOTHING, first_set
from gsg.languages.sparql.grammar import query_grammar as grammar

PLAIN = """PREFIX : <http://e/#> SELECT DISTINCT ?a (COUNT(?b) AS ?n) WHERE {
    ?a :p/(:q|^:r)* ?b ; :s "x # y" , 1.5 .
    OPTIONAL { ?b :t ?c FILTER (?c > 2 && NOT EXISTS { ?c a :T }) } { ?a :w ?b } UNION { VALUES (?a ?c) { (:i UNDEF) } }
    MINUS { ?a :u [ :v ( 1 2 ) ] } BIND (IF(isIRI(?b), STR(?b), "none"@en) AS ?d)
} GROUP BY ?a HAVING (COUNT(?b) > 1) ORDER BY DESC(?a) LIMIT 3"""
COMMENTED = PLAIN.replace(" ", " # no } part ( of it\n ").replace('"x # no } part ( of it\n # # no } part ( of it\n y"', '"x # y"')


def read_by(grammar: ParserElement, text: str) -> str:
    """The parse tree as text; blank nodes get labels by chance, and are all the same here."""
    return re.sub(r"N[0-9a-f]{32}", "_", str(grammar.parse_string(text, parse_all=True)))


@pytest.mark.parametrize(
    "text",
    [PLAIN, "ASK { ?a ?b ?c }", "CONSTRUCT { ?a <p> _:b } WHERE { ?a <q> ?c FILTER (?c IN (1, 2)) }"],
    ids=["select", "ask", "construct"],
)
def test_the_grammar_without_comments_reads_what_rdflibs_reads(text: str) -> None:
    assert read_by(grammar(), text) == read_by(Query, text)


def test_comments_between_any_two_words_change_nothing() -> None:
    assert COMMENTED.count("#") > 50

    assert parse_query(COMMENTED, seed=lambda: "0") == parse_query(PLAIN, seed=lambda: "0")


def test_rdflibs_own_grammar_still_reads_comments() -> None:
    grammar()

    assert Query.parse_string("ASK { ?a ?b ?c # so }\n }", parse_all=True)


LOOP = Forward()
LOOP <<= Opt(LOOP) + "x"


@pytest.mark.parametrize(
    ("element", "begins"),
    [
        (Literal("<="), {"<"}),
        (CaselessKeyword("Select"), {"s", "S", BEYOND_ASCII}),
        (Regex("[0-9]+"), {*"0123456789", BEYOND_ASCII}),
        (Regex('"(a|b)*"'), {'"', BEYOND_ASCII}),
        (Regex("[0-9]*"), ANYTHING),
        (Regex("a|b"), ANYTHING),
        (Regex("a", re.IGNORECASE), ANYTHING),
        (Regex("[ a]"), ANYTHING),
        (Regex(r"\\w"), ANYTHING),
        (Literal("a").set_whitespace_chars("-"), ANYTHING),
        (Literal("a") | "b" | Opt("c") + "d", {*"abcd"}),
        (Suppress("(") + Regex("x"), {"("}),
        (ZeroOrMore("a") + Opt("b"), {"a", "b", NOTHING}),
        (OneOrMore(Literal("a")) + "b", {"a"}),
        (Empty(), ANYTHING),
        (NotAny("a") + "b", ANYTHING),
        (LOOP, ANYTHING),
    ],
    ids=lambda value: str(value) if isinstance(value, ParserElement) else "",
)
def test_what_an_element_can_begin_with(element: ParserElement, begins: set[str]) -> None:
    assert first_set(element) == begins


SPACED = """PREFIX : <u:> SELECT ( COUNT ( ?b ) AS ?n ) { ?a :p / ^ :q* ?b ; a [ :s 1.5 , "x"@en ] .
    FILTER ( ! ?c || ?b IN ( 1 , <i> ) ) OPTIONAL { VALUES ?c { UNDEF true } } } GROUP BY ?a LIMIT 3"""


@pytest.mark.parametrize("stands", ["", "}", "?x", ".", "\u017felect"], ids=["nothing", "bracket", "variable", "dot", "letter"])
def test_mistakes_are_found_where_rdflibs_grammar_finds_them(stands: str) -> None:
    def found(grammar: ParserElement, tokens: list[str]) -> object:
        text = " ".join(tokens)
        try:
            return read_by(grammar, text)
        except ParseBaseException as error:
            return text[error.loc :].split()

    whole = SPACED.split()
    for place in range(0, len(whole), 3):
        tokens = [*whole[:place], stands, *whole[place + 1 :]]
        assert found(grammar(), tokens) == found(Query, tokens)


def test_pyparsings_cache_is_left_alone_where_somebody_switched_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    cached = []

    def parse(element: ParserElement, *arguments: Any, **named: Any) -> Any:
        cached.append(str(element))
        return element._parseNoCache(*arguments, **named)

    monkeypatch.setattr(ParserElement, "_parse", parse)

    assert read_by(grammar(), PLAIN)
    # pyparsing's own look for the end of the text.
    assert len(cached) <= 3
