"""What `gsg subscribe` makes of queries and terms of every kind, on outputs of every kind, against a peer in its own process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from commands import END_S, Gsg, triples

from gsg.cli.row_text import read_row
from gsg.tuples.terms import XSD_DOUBLE

pytestmark = pytest.mark.waits

DECIMAL = '"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>'


def outside(
    url: str, *arguments: str, stdout: int | IO[str] = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, with its own standard output."""
    return subprocess.run(
        [sys.executable, "-m", "gsg", *arguments],
        env={**os.environ, "GSG_PEER": url, **environment},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=END_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("written", "in_json"),
    [
        ("7", 7),
        ("-9007199254740992", -(2**53)),
        ("9007199254740993", "9007199254740993"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.0", 1.0),
        ("1e300", 1e300),
        (f'"INF"^^<{XSD_DOUBLE}>', f'"INF"^^<{XSD_DOUBLE}>'),
        (f'"-INF"^^<{XSD_DOUBLE}>', f'"-INF"^^<{XSD_DOUBLE}>'),
        (f'"NaN"^^<{XSD_DOUBLE}>', f'"NaN"^^<{XSD_DOUBLE}>'),
        (f'"2.5E0"^^<{XSD_DOUBLE}>', f'"2.5E0"^^<{XSD_DOUBLE}>'),
        ('"7"', '"7"'),
        ("seven", "seven"),
        ("'7'", "'7'"),
        (DECIMAL, DECIMAL),
        ('"a"@en', '"a"@en'),
        ("<x:7>", "<x:7>"),
    ],
)
def test_a_term_in_json_is_the_number_that_it_is_or_reads_back(gsg: Gsg, written: str, in_json: object) -> None:
    gsg("publish", "-", "--format", "gsg", input=f"INSERT {{ (term, in_json, {written}) }}")
    line = json.loads(gsg("subscribe", "(term, in_json, ?it)", "--jsonl", "--snapshot").stdout)
    gsg("publish", "-", "--format", "gsg", input=f"DELETE {{ (term, in_json, {written}) }}")

    assert (line["row"]["it"], type(line["row"]["it"])) == (in_json, type(in_json))
    assert read_row(json.dumps(line)) == read_row(f"?it={written}")


ODD = r"""INSERT { (odd, 'a\u001B[31m', "b\n+ ?x=forged"), (odd, zoë, "\u202E😀") }"""


def test_nothing_in_a_row_ends_a_line_or_speaks_to_the_terminal(gsg: Gsg) -> None:
    gsg("publish", "-", "--format", "gsg", input=ODD)

    plain = gsg("subscribe", "(odd, ?x, ?y)", "--snapshot").stdout
    in_json = gsg("subscribe", "(odd, ?x, ?y)", "--snapshot", "--jsonl").stdout

    assert sorted(plain.split("\n")) == [
        "",
        r"""+ ?x='a\u001B[31m' ?y="b\n+ ?x=forged" """[:-1],
        r"""+ ?x=zoë ?y="\u202E😀" """[:-1],
    ]
    assert sorted(json.loads(line)["row"]["y"] for line in in_json.splitlines()) == [r'"\u202E😀"', r'"b\n+ ?x=forged"']


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], r"""+ ?x='zo\u00EB' ?y="\u202E\U0001F600" """[:-1]),
        (["--jsonl"], r'"row": {"x": "zo\u00eb", "y": "\"\\u202E\ud83d\ude00\""}}'),
    ],
    ids=["plain", "json"],
)
def test_letters_that_the_output_has_not_are_escaped(gsg: Gsg, url: str, options: list[str], shown: str) -> None:
    gsg("publish", "-", "--format", "gsg", input=ODD)
    query = "(odd, ?x, ?y), FILTER (?x = zoë)"

    ended = outside(url, "subscribe", query, "--snapshot", *options, PYTHONIOENCODING="ascii")

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.decode("ascii").endswith(shown + "\n")


@pytest.mark.parametrize(
    ("query", "answer"), [("ASK { ?s <x:asked> ?o }", "true"), ("# none\nPREFIX x: <x:> ASK { ?s x:nothing ?o }", "false")]
)
def test_who_asks_once_is_told_yes_or_no(gsg: Gsg, query: str, answer: str) -> None:
    gsg("publish", "-", "--format", "nt", input=triples("asked", 1))

    plain, in_json = (gsg("subscribe", "--snapshot", *options, query) for options in ([], ["--jsonl"]))

    assert (plain.exit_code, plain.stdout) == (0, f"{answer}\n")
    assert json.loads(in_json.stdout)["boolean"] is (answer == "true")


@pytest.mark.parametrize(
    "arguments",
    [
        ["CLEAR ALL"],
        ["INSERT DATA { <x:a> <x:p> 1 }"],
        ["DELETE { ?s ?p 1 } WHERE { ?s ?p 1 }"],
        ["CLEAR ALL", "--language", "gsg"],
        ["PREFIX : <x:> INSERT DATA { :a :p 1 }"],
    ],
)
def test_whoever_gives_an_update_is_told_where_updates_are_taken(gsg: Gsg, arguments: list[str]) -> None:
    result = gsg("subscribe", *arguments)

    assert result.exit_code == 2
    assert re.search(r"(CLEAR|INSERT|DELETE)\"? (is an update|begins a SPARQL update), and ", result.stderr)
    assert "curl http://127.0.0.1:8470/sparql --data-urlencode 'update=...'" in result.stderr


def test_sparql_is_known_by_its_text_or_its_file_and_may_come_on_standard_input(gsg: Gsg, tmp_path: Path) -> None:
    gsg("publish", "-", "--format", "nt", input=triples("sparql", 1))
    query = "SELECT ?s { ?s <x:sparql> ?o }"
    (tmp_path / "q.rq").write_text(query)

    ways = (
        gsg("subscribe", "--snapshot", query),
        gsg("subscribe", "--snapshot", "--file", tmp_path / "q.rq"),
        gsg("subscribe", "--snapshot", "--file", "-", input=query),
        gsg("subscribe", "--snapshot", "--language", "SPARQL", query),
    )

    assert [way.stdout for way in ways] == ["+ ?s=<x:0>\n"] * 4
    assert gsg("explain", query).stdout.startswith("sparql query, rows of ?s")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("(kitchen, warmth, ?t)", 'no fact has the symbol kitchen in (kitchen, warmth, ?t); 1 fact has the string "kitchen" there'),
        ('("kitchen", "warmth", ?t)', 'no fact has the string "warmth" in ("kitchen", "warmth", ?t); 1 fact has the symbol warmth'),
        ("(?where, warmth, 21)", "no fact has the number 21 in (?where, warmth, 21); 1 fact has the number 21.0 there"),
        ('(?where, warmth, "21.0")', 'no fact has the string "21.0" in (?where, warmth, "21.0"); 1 fact has the number 21.0'),
        ('SELECT ?x { ?x <x:hinted> "o" }', ""),
    ],
)
def test_who_finds_nothing_is_told_of_facts_with_another_kind_of_constant(gsg: Gsg, query: str, said: str) -> None:
    gsg("publish", "-", "--format", "gsg", input='INSERT { ("kitchen", warmth, 21.0) }')

    result, explained = gsg("subscribe", "--snapshot", query), gsg("explain", query)

    assert (result.exit_code, result.stdout) == (0, "")
    assert said in result.stderr
    assert ("hint: " in result.stderr) == bool(said) == ("hint: " in explained.stdout)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("arguments", [["status"], ["explain"], ["subscribe", "--snapshot", "(full, ?x)"]], ids=" ".join)
def test_a_disk_that_is_full_is_told(gsg: Gsg, url: str, arguments: list[str]) -> None:
    gsg("publish", "-", "--format", "gsg", input="INSERT { (full, disk) }")
    with open("/dev/full", "w") as full:
        ended = outside(url, *arguments, stdout=full)

    assert (ended.returncode, ended.stderr) == (1, b"gsg: no space left on device\n")


def test_whoever_reads_the_beginning_of_a_table_alone_is_no_failure(url: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as nobody:
        ended = outside(url, "status", stdout=nobody)

    assert (ended.returncode, ended.stderr) == (0, b"")
