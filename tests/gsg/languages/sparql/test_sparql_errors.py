"""What the author of a query reads where it cannot be taken."""

from __future__ import annotations

import pytest

from gsg.errors import BadQuery, BadText, LocalError, Unsupported
from gsg.languages.sparql import parse_query

PROLOGUE = "PREFIX : <http://example.org/>\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT * { ?s :p ?o FIL(?o > 3) }",
            'query line 2, column 21: unknown word "FIL"; expected a keyword, a variable or a term; did you mean FILTER?\n'
            "    SELECT * { ?s :p ?o FIL(?o > 3) }\n"
            "                        ^",
        ),
        (
            "SELECT * { ?s ?p ?o ",
            'query line 2, column 10: this "{" is never closed; expected "}"\n    SELECT * { ?s ?p ?o \n             ^',
        ),
        (
            "SELECT * { ?s x:p ?o }",
            'query line 2, column 15: the prefix "x:" is not declared; expected PREFIX x: <...> before\n'
            "    SELECT * { ?s x:p ?o }\n"
            "                  ^",
        ),
        (
            'SELECT * { ?s :p "abc }',
            'query line 2, column 18: the string that begins here has no end; expected a closing "\n'
            '    SELECT * { ?s :p "abc }\n'
            "                     ^",
        ),
        (
            "SELEC * { ?s ?p ?o }",
            'query line 2, column 1: unexpected "SELEC"; expected SELECT, ASK, CONSTRUCT or DESCRIBE; did you mean SELECT?\n'
            "    SELEC * { ?s ?p ?o }\n"
            "    ^",
        ),
        (
            "SELECT * { ?s ?p }",
            'query line 2, column 12: cannot read on from "?s"; '
            'expected subject, predicate and object followed by ".", ";", "," or "}"\n'
            "    SELECT * { ?s ?p }\n"
            "               ^",
        ),
        (
            'SELECT * { ?s :p "a\\q" }',
            'query line 2, column 20: "\\q" is no escape; expected one of \\t \\b \\n \\r \\f \\" \\\' \\\\ \\uXXXX\n'
            '    SELECT * { ?s :p "a\\q" }\n'
            "                       ^",
        ),
        (
            "SELECT",
            "query line 2, column 7: the query ends too early; expected the rest of it\n    SELECT\n          ^",
        ),
    ],
)
def test_a_mistake_in_the_text_is_shown_with_its_place(text: str, message: str) -> None:
    with pytest.raises(BadText) as caught:
        parse_query(PROLOGUE + text)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT (MEDIAN(?o) AS ?m) { ?s ?p ?o }", "the function MEDIAN is not known; "),
        ("SELECT * { ?s ?p ?o FILTER(strlength(?o) > 1) }", "the function strlength is not known; did you mean STRLEN?"),
        ("SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING STDEV(?o)", "the function STDEV is not known; "),
        ("SELECT ?s { ?s ?p ?o } ORDER BY DESC(?o) ASC(LOG(?o))", "the function LOG is not known; "),
        ("SELECT ?s { ?s ?p ?o BIND(?o + SQRT(?o) AS ?r) }", "the function SQRT is not known; expected one of SPARQL's"),
        ("SELECT ?s { { ?s ?p ?o BIND(IF(?o > 1, TRIPLE(?s, ?p, ?o), 2) AS ?r) } }", "the function TRIPLE is not known; "),
        ("SELECT ?s { ?s ?p ?o OPTINAL { ?s ?p 1 } }", 'unknown word "OPTINAL"; .*; did you mean OPTIONAL?'),
        ("SELECT ?s { ?s ?p ?o FLITER(?o > 1) }", 'unknown word "FLITER"; .*; did you mean FILTER?'),
    ],
)
def test_a_function_that_sparql_does_not_define_is_told_by_its_name(text: str, said: str) -> None:
    with pytest.raises(BadText, match=said.replace("?", "[?]")):
        parse_query(PROLOGUE + text)


def test_a_cast_that_is_not_known_is_answered_by_all_that_are() -> None:
    with pytest.raises(Unsupported, match=r"XMLSchema#gYear> is not known; known are the casts .*xsd:integer, .*xsd:dateTime"):
        parse_query("SELECT (<http://www.w3.org/2001/XMLSchema#gYear>(?o) AS ?y) { ?s ?p ?o }")


@pytest.mark.parametrize(
    "text", ["SELECT * { VALUES ?x {1} }", "SELECT * { VALUES ?x { 1 2 } ?x :p ?y }", "SELECT (1 AS ?x) { 1 :p 2 }"]
)
def test_a_number_behind_a_brace_need_not_count_steps(text: str) -> None:
    parse_query(PROLOGUE + text)


@pytest.mark.parametrize("path", [":p", "<p>", "a", ":p/:q", "^:p", "(:p|:q)", "!:p", "!(:p|^:q)", ":p+", ":p*", ":p?"])
def test_no_gap_is_needed_between_a_path_and_a_variable(path: str) -> None:
    close = parse_query(f"{PROLOGUE} BASE <http://example.org/> SELECT?x{{?x {path}?y.FILTER(?y<?x&&?y!=?x)}}")
    apart = parse_query(f"{PROLOGUE} BASE <http://example.org/> SELECT ?x {{ ?x {path} ?y . FILTER(?y < ?x && ?y != ?x) }}")

    assert str(close) == str(apart)


def test_places_count_the_characters_that_the_user_wrote() -> None:
    with pytest.raises(BadText) as caught:
        parse_query('SELECT * { ?s ?p "\\u00e9\\u00e9" . # 12345\n ?s ?p 01 , 2.5e3 . ?s x:q }')

    assert (caught.value.line, caught.value.column) == (2, 21)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("INSERT DATA { :a :b :c }", "INSERT"),
        ("DELETE WHERE { :a :b :c }", "DELETE"),
        ("LOAD <x>", "LOAD"),
        ("CLEAR ALL", "CLEAR"),
        ("SELECT * { SERVICE <s> { ?s ?p ?o } }", "SERVICE"),
        ("SELECT * { ?s ?p ?o FILTER(:f(?o)) }", "the function <http://example.org/f>"),
        ("SELECT * { ?s (DISTINCT(:p)) ?o }", "DISTINCT(...) in a property path"),
        ("SELECT * { ?s :p ?o {| :said ?n |} }", "an annotation"),
        ("SELECT * { ?s :p{2} ?o }", "a count of steps"),
        ("SELECT * { ?s :p/(:q|^:r){,3}/a ?o }", "a count of steps"),
        ("SELECT * { ?s <p>{1,} ?o }", "a count of steps"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(text: str, name: str) -> None:
    with pytest.raises(Unsupported) as caught:
        parse_query(PROLOGUE + text)

    assert str(caught.value).startswith(name)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("CLEAR ALL", "CLEAR"),
        ("SELECT * {\n  ?s ?p ?o .\n  SERVICE <s> { ?s ?p ?o } }", "SERVICE"),
        ("SELECT * {\n ?s ?p ?o\n FILTER(:f(?o)) }", ":f("),
        ("SELECT (COUNT(DISTINCT (?s)) AS ?n) {\n ?s (DISTINCT(:p)) ?o }", "DISTINCT(:p"),
        ("SELECT DISTINCT (1 AS ?n) {\n ?s ?p ?o .\n ?s :p/DISTINCT(:p) ?o }", "DISTINCT(:p"),
        ("SELECT * {\n ?s :p{2} ?o }", "{2}"),
    ],
)
def test_what_is_not_supported_has_its_place_as_attributes(text: str, word: str) -> None:
    text = f"{PROLOGUE}\n{text}"
    with pytest.raises(Unsupported) as caught:
        parse_query(text)

    before, _, _ = text.partition(word)
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    error = caught.value
    assert (error.line, error.column, error.source_line) == (line, column, text.split("\n")[line - 1])
    assert str(error).endswith(f" (line {line}, column {column})")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SELECT (COUNT(?x) AS ?x) { ?x :p ?o }", "SELECT gives ?x a value"),
        ("SELECT ?x (COUNT(*) AS ?c) { ?x :p ?o }", "?x has many values in a group"),
        ("SELECT * { ?x :p ?o } GROUP BY ?x", r"SELECT \* cannot be grouped"),
        ("SELECT * { ?x :p ?o BIND(1 AS ?x) }", "BIND gives ?x a value"),
        ("SELECT * { _:a :p ?o OPTIONAL { _:a :q ?z } }", "the blank node _:a stands in two graph patterns"),
        ("SELECT * { VALUES (?a ?b) { (1) } }", "a row of VALUES has 1 terms for 2 variables"),
        ("SELECT * { ?s ?p ?o FILTER(SUM(?o) > 3) }", "the aggregate SUM may not stand here"),
        ("SELECT (SUM(COUNT(?o)) AS ?x) { ?s ?p ?o }", "the aggregate COUNT may not stand here"),
        (f"SELECT * {{ {'OPTIONAL { ?s ?p ?o } ' * 150} }}", "the query is more than 120 operators deep"),
    ],
)
def test_what_can_have_no_meaning_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadQuery) as caught:
        parse_query(PROLOGUE + text)

    assert str(caught.value).startswith(problem.replace("\\", ""))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * {" + "{" * 200 + "}" * 200 + "}",
        "SELECT * { FILTER(" + "(" * 41 + "1" + ")" * 41 + ") }",
        "SELECT * { ?s ?p \\uD800 }",
        "SELECT * { ?s ?p ?o } \x00",
        "}",
        "SELECT * { ?s ?p " + "[ :p " * 38 + "1" + "]" * 38 + " }",
    ],
)
def test_no_text_brings_out_an_error_of_the_parser(text: str) -> None:
    with pytest.raises(LocalError):
        parse_query(text)


@pytest.mark.parametrize("piece", ["a.", "a-", "é.", "a.b-"])
def test_a_long_text_of_words_that_are_no_names_is_refused_without_looking_at_it_again_and_again(piece: str) -> None:
    with pytest.raises(BadText):
        parse_query("SELECT * { " + piece * 40_000)


WHERE_A_PATTERN_STANDS = [
    "SELECT * {{ {0} }}",
    "SELECT * {{ ?s ?p ?o . {0} }}",
    "SELECT * {{ ?s ?p ?o OPTIONAL {{ {0} }} }}",
    "SELECT * {{ {{ ?s ?p ?o }} UNION {{ {0} }} }}",
    "SELECT * {{ {{ SELECT * {{ {0} }} }} }}",
    "SELECT (SUM(IF(EXISTS {{ {0} }}, 1, 2)) AS ?n) {{ ?s ?p ?o }}",
    "SELECT ?s {{ ?s ?p ?o }} GROUP BY ?s HAVING (EXISTS {{ {0} }})",
    "CONSTRUCT {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o MINUS {{ {0} }} }}",
    "ASK {{ FILTER NOT EXISTS {{ ?s ?p ?o FILTER(?o IN (1, 2)) {0} }} }}",
]


@pytest.mark.parametrize("text", WHERE_A_PATTERN_STANDS)
@pytest.mark.parametrize(
    ("word", "pattern"),
    [
        ("SERVICE", "SERVICE <http://example.org/a> { ?a ?b ?c SERVICE SILENT <http://example.org/b> { ?c ?d ?e } }"),
        ("LOAD", "LOAD <http://example.org/b>"),
        ("a quoted triple", "<< ?a ?b ?c >> ?d ?e"),
    ],
)
def test_what_is_not_supported_is_named_wherever_it_stands(text: str, word: str, pattern: str) -> None:
    written = text.format(pattern)
    column = written.index(pattern.removeprefix("{ ").split(" ")[0]) + 1
    with pytest.raises(Unsupported, match=rf"^{word} .* \(line 1, column {column}\)"):
        parse_query(written)


@pytest.mark.parametrize("clause", ["FROM <http://example.org/b>", "FROM NAMED <http://example.org/b>"])
def test_the_dataset_is_said_before_where_alone(clause: str) -> None:
    with pytest.raises(BadText, match=r"line 1, column 25: FROM stands within braces; expected it before WHERE"):
        parse_query(f"SELECT * {{ {{ SELECT ?c  {clause} {{ ?c ?d ?e }} }} }}")


def test_too_many_graphs_are_not_merged() -> None:
    clauses = " ".join(f"FROM <http://example.org/{number}>" for number in range(65))
    with pytest.raises(BadQuery, match="FROM merges 65 graphs; expected at most 64"):
        parse_query(f"SELECT * {clauses} {{ ?s ?p ?o }}")


def test_names_like_those_of_clauses_are_names() -> None:
    assert parse_query("PREFIX graph: <http://example.org/> SELECT ?service { ?from graph:load ?service }").select == ("service",)
