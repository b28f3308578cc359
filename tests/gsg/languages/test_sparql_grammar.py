"""Queries are read by a grammar that knows no comments, and comments may stand in them all the same."""

from __future__ import annotations

import re

import pytest
from pyparsing import ParserElement
from rdflib.plugins.sparql.parser import Query

from gsg.languages.sparql import parse_query
from gsg.languages.sparql.grammar import grammar

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
