"""Queries as people give them: in an argument or a file, in one language or another."""

from __future__ import annotations

from pathlib import Path

import pytest

from gsg.cli.query_input import asks, read_query
from gsg.errors import LocalError
from gsg.languages import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("(?x, ^on, ?y)", "gsg"),
        ("SUBSCRIBE { (?x, ^on, ?y) }", "gsg"),
        ("{ (?x, select, ?y) }", "gsg"),
        ("# SELECT is a word of SPARQL\n(?x, ^on, ?y)", "gsg"),
        ("NOT { (a, b) }, (c, d)", "gsg"),
        ("", "gsg"),
        ("SELECT * { ?s ?p ?o }", "sparql"),
        ("  select ?x { ?x ?p ?o }", "sparql"),
        ("PREFIX e: <http://e/> SELECT ?x { ?x e:p ?o }", "sparql"),
        ("prefix : <http://e/>\nASK { ?x :p ?o }", "sparql"),
        ("BASE<http://e/> SELECT ?x { ?x <p> ?o }", "sparql"),
        ("# a comment\n\n# another\nCONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "sparql"),
        ("\ufeffSELECT * { ?s ?p ?o }", "sparql"),
        ("ASK{?s ?p ?o}", "sparql"),
        ("DESCRIBE <http://e/x>", "sparql"),
        ("CLEAR ALL", "sparql"),
        ("# an update\ninsert data { <http://e/a> <http://e/p> 1 }", "sparql"),
        ("DELETE # of all\nWHERE { ?s ?p ?o }", "sparql"),
        ("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "sparql"),
        ("WITH <http://e/g> DELETE { ?s ?p 1 } WHERE { }", "sparql"),
        ("INSERT { (a, b) }", "gsg"),
        ("DELETE { # all\n (a, b) }", "gsg"),
        ("INSERT { }", "gsg"),
        ("CLEARANCE ALL", "gsg"),
    ],
)
def test_the_first_word_tells_the_language(text: str, language: str) -> None:
    assert language_of(text) == language
    assert read_query(text, None, None) == (text, language)


@pytest.mark.parametrize(
    ("name", "said", "language"),
    [
        ("q.rq", None, "sparql"),
        ("q.sparql", None, "sparql"),
        ("Q.RQ", None, "sparql"),
        ("q.gsg", None, "gsg"),
        ("q.txt", None, "gsg"),
        ("q.rq", "GSG", "gsg"),
        ("q.txt", "Sparql", "sparql"),
    ],
)
def test_what_is_said_goes_before_the_suffix_and_the_suffix_before_the_text(
    name: str, said: str | None, language: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text("(?x, ^on, ?y)")

    assert read_query(None, file, said) == ("(?x, ^on, ?y)", language)


def test_the_name_of_a_file_is_no_query(tmp_path: Path) -> None:
    file = tmp_path / "q.rq"
    file.write_text("SELECT * { ?s ?p ?o }")

    with pytest.raises(LocalError, match="is the name of a file, and no query; give --file "):
        read_query(str(file), None, None)


@pytest.mark.parametrize(
    ("text", "language", "answer"),
    [
        ("ASK { ?s ?p ?o }", "sparql", True),
        ("prefix e: <http://e/>\n# is there one?\nbase <http://e/>\nask where { ?s e:p ?o }", "sparql", True),
        ("SELECT * { ?s <http://e/ASK> ?o }", "sparql", False),
        ("PREFIX ASK: <http://e/> SELECT * { ?s ASK:p ?o }", "sparql", False),
        ("(ask, b)", "gsg", False),
    ],
)
def test_who_asks_wants_a_yes_or_a_no(text: str, language: str, answer: bool) -> None:
    assert asks(text, language) is answer


def test_the_name_of_a_file_makes_no_line_of_its_own_in_what_is_said(tmp_path: Path) -> None:
    forged = tmp_path / "a\n+ ?who=admin.rq"
    with pytest.raises(LocalError) as absent:
        read_query(None, forged, None)
    forged.write_bytes(b"ASK { ?s ?p \xff }")
    with pytest.raises(LocalError) as unreadable:
        read_query(None, forged, None)

    assert "a\\u000A+ ?who=admin.rq: there is no such file" in str(absent.value)
    assert "\n+ ?who" not in str(unreadable.value)
