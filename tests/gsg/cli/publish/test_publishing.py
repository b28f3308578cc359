"""`gsg publish` against a peer: what is read of the files that people have, of standard input and of options, and what is said."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import END_S, Gsg, triples

pytestmark = pytest.mark.waits


def rows(gsg: Gsg, query: str) -> list[str]:
    result = gsg("subscribe", query, "--snapshot")
    assert result.exit_code == 0, result.output
    return sorted(result.stdout.splitlines())


# --- standard input and options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "query", "row"),
    [
        ("(bare, ^{0}, 21.5)", "(bare, ^{0}, ?x)", "+ ?x=21.5"),
        ("# why\n\n(bare, ^{0}, 1),\n(other, 2)\n", "(bare, ^{0}, ?x)", "+ ?x=1"),
        ("insert {{ (in, ^{0}, 1) }}", "(in, ^{0}, ?x)", "+ ?x=1"),
        ("\ufeffINSERT{{(in, ^{0}, 2)}}", "(in, ^{0}, ?x)", "+ ?x=2"),
        ('<x:s> <x:{0}> "nt" .', "(<x:s>, <x:{0}>, ?x)", '+ ?x="nt"'),
        ('_:b <x:{0}> "blank" .', "(*, <x:{0}>, ?x)", '+ ?x="blank"'),
        ("@prefix : <x:> .\n:s :{0} 3 .", "(<x:s>, <x:{0}>, ?x)", "+ ?x=3"),
        ("\ufeffprefix p: <x:>\np:s p:{0} 4 .", "(<x:s>, <x:{0}>, ?x)", "+ ?x=4"),
        ("# why\n@base <x:/> . <s> <{0}> 5 .", "(<x:/s>, <x:/{0}>, ?x)", "+ ?x=5"),
        ("[] <x:{0}> 6 .", "(*, <x:{0}>, ?x)", "+ ?x=6"),
    ],
)
def test_standard_input_tells_its_format_by_what_it_begins_with(
    gsg: Gsg, request: pytest.FixtureRequest, text: str, query: str, row: str
) -> None:
    word = "w" + re.sub(r"\W", "", str(abs(hash(request.node.name))))

    result = gsg("publish", "-", input=text.format(word))

    assert result.exit_code == 0, result.stderr
    assert rows(gsg, query.format(word)) == [row]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kitchen 21.5", "standard input begins with 'kitchen', as no format does that is known; tuples stand between parentheses"),
        ('"kitchen"', "standard input begins with '\"kitchen\"'"),
        ("<?xml version='1.0'?><rdf:RDF>", "standard input line 1, column "),
        ('{"@id": "x:a"', "standard input line 1, column 14: object values must be followed by a comma"),
        ("<x:g> { <x:a> <x:p> 1 }", "this looks like TriG, and was to be Turtle; name it .trig, or say --format trig"),
        ("<> <x:p> <#a> .", "is a relative IRI, and there is no base to resolve it against; give one (--base IRI"),
        (gzip.compress(b"(a)", mtime=0), "cannot read standard input: it is packed by gzip; unpack it first (gunzip)"),
        ("(a, b)".encode("utf-16"), "cannot read standard input: it is UTF-16; save it as UTF-8"),
    ],
)
def test_standard_input_that_cannot_be_read_is_told_what_to_do(gsg: Gsg, text: str | bytes, said: str) -> None:
    result = gsg("publish", "-", input=text)

    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "\ufeff"])
def test_empty_standard_input_publishes_nothing(gsg: Gsg, text: str) -> None:
    result = gsg("publish", "-", input=text)

    assert (result.exit_code, result.stderr) == (0, "0 facts acknowledged in 0.0 s (0/s); 0 changed something\n")


def test_scripts_may_be_given_as_options(gsg: Gsg, tmp_path: Path) -> None:
    (tmp_path / "a.gsg").write_text("(optional, 1)")

    result = gsg("publish", tmp_path / "a.gsg", "-e", "(optional, 2), (optional, 3)", "--script", "DELETE { (optional, 2) }")

    assert result.exit_code == 0, result.stderr
    assert rows(gsg, "(optional, ?n)") == ["+ ?n=1", "+ ?n=3"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("(kitchen, ^temperature, 21.5)", "to publish what it says: gsg publish --script '(kitchen, ^temperature, 21.5)'"),
        ("INSERT { (a, b) }", "to publish what it says: gsg publish --script 'INSERT { (a, b) }'"),
        ("notify {(a)}", "to publish what it says: gsg publish --script 'notify {(a)}'"),
        ("<http://a> <http://b> 1 .", "to publish what it says: echo '<http://a> <http://b> 1 .' | gsg publish -"),
        ("(k)" * 100, f"to publish what it says: gsg publish --script '{'(k)' * 100}'"),
    ],
)
def test_a_text_in_place_of_a_file_is_answered_by_the_command_that_publishes_it(gsg: Gsg, name: str, said: str) -> None:
    result = gsg("publish", name)

    assert (result.exit_code, result.stderr.endswith(f"; {said}\n")) == (2, True), result.stderr


def test_without_anything_to_publish_the_usage_is_told(gsg: Gsg) -> None:
    result = gsg("publish")

    assert (result.exit_code, "Error: give a FILE, '-' for standard input, or a script with -e TEXT" in result.stderr) == (2, True)


def test_closed_standard_input_is_told(url: str) -> None:
    command = f"{sys.executable} -m gsg publish --format gsg - --peer {url} <&-"

    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=END_S)

    assert (done.returncode, done.stderr.startswith("gsg: standard input is closed; expected a FILE, or")) == (2, True), done.stderr


# --- files --------------------------------------------------------------------------------------------------------------------


def test_a_file_with_nodes_without_labels_is_published_once_and_retracted(gsg: Gsg, tmp_path: Path) -> None:
    path = tmp_path / "nodes.ttl"
    path.write_text("@prefix n: <x:nodes/> . n:s n:at [ n:x 1 ] , ( 1 [ ] _:l ) , _:l . _:l n:x 2 . [] n:x 3 . [] n:x 3 .")

    said = [gsg("publish", path).stderr, gsg("publish", path).stderr]
    held = rows(gsg, "(?s, <x:nodes/x>, ?n)")
    retracted = gsg("publish", "--retract", path)

    assert [line.rpartition("; ")[2] for line in said] == ["13 changed something\n", "0 changed something\n"]
    assert len(held) == 4
    assert retracted.stderr.endswith("; 13 changed something\n")
    assert rows(gsg, "(?s, <x:nodes/x>, ?n)") == []


def test_two_files_with_the_same_labels_have_different_nodes(gsg: Gsg, tmp_path: Path) -> None:
    for name in ("one.nt", "two.nt"):
        (tmp_path / name).write_text("_:b <x:labelled> _:c .\n")

    gsg("publish", tmp_path / "one.nt", tmp_path / "two.nt")

    assert len(rows(gsg, "(?b, <x:labelled>, ?c)")) == 2
    gsg("publish", tmp_path / "one.nt", tmp_path / "two.nt", "--base", "x:based")
    assert len(rows(gsg, "(?b, <x:labelled>, ?c)")) == 3


def test_relative_iris_are_resolved_against_the_file_or_the_base(gsg: Gsg, tmp_path: Path) -> None:
    path = tmp_path / "a b.TTL"
    path.write_text("<> <x:relative> <#a> .")

    assert gsg("publish", path).exit_code == 0
    assert gsg("publish", path, "--base", "http://e/f").exit_code == 0
    assert rows(gsg, "(?x, <x:relative>, ?y)") == sorted(f"+ ?x=<{iri}> ?y=<{iri}#a>" for iri in (path.as_uri(), "http://e/f"))
    refused = gsg("publish", path, "--base", "f")
    assert (refused.exit_code, refused.stderr.startswith("gsg: 'f' is no base: ")) == (2, True)


def test_mistakes_are_skipped_where_that_is_asked_for(gsg: Gsg, tmp_path: Path) -> None:
    path = tmp_path / "bad.nt"
    path.write_text(triples("lenient", 3) + '<x:s> <x:lenient> <x:a b> .\n<x:s> <x:lenient> "o"@zh-classical .\noops\n')

    strict = gsg("publish", path)
    lenient = gsg("publish", path, "--lenient")
    as_json = gsg("publish", path, "--lenient", "--json")

    assert strict.exit_code == 2
    assert re.search(r"^gsg: bad\.nt line 4, column 19: <x:a b> is no IRI", strict.stderr, re.MULTILINE)
    assert strict.stderr.endswith("    --lenient skips what cannot be read and goes on\n")
    assert lenient.exit_code == 0
    assert re.findall(r"^gsg: skipped: bad\.nt line (\d+)", lenient.stderr, re.MULTILINE) == ["4", "6"]
    assert re.search(r"^4 facts acknowledged in .*; 1 changed something; 2 mistakes skipped$", lenient.stderr, re.MULTILINE)
    assert {key: value for key, value in json.loads(as_json.stdout).items() if key != "seconds"} == {
        "facts": 4,
        "changed": 0,
        "events": 0,
        "skipped": 2,
        "complete": True,
    }


def test_mistakes_of_a_script_are_skipped_where_that_is_asked_for(gsg: Gsg, tmp_path: Path) -> None:
    path = tmp_path / "bad.gsg"
    path.write_text("INSERT { (lenient, 1), (lenient, ?x), (lenient, 3) }\nINSRT { (lenient, 4) }\nDELETE { (lenient, 1) }")

    result = gsg("publish", path, "--lenient")

    assert (result.exit_code, rows(gsg, "(lenient, ?n)")) == (0, ["+ ?n=3"])
    assert re.findall(r"^gsg: skipped: bad\.gsg line (\d+)", result.stderr, re.MULTILINE) == ["1", "2"]


def test_of_several_files_it_is_said_which_were_published(gsg: Gsg, tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("a.nt", "b.nt", "c.nt")]
    for name in names:
        name.write_text(triples(name.stem + "several", 2))
    names[1].write_text(triples("bseveral", 1) + "oops\n")

    stopped = gsg("publish", *names)
    as_json = json.loads(gsg("publish", *names, "--json").stdout)
    absent = gsg("publish", names[2], tmp_path / "none.nt")

    assert stopped.stderr.startswith(
        "3 facts were acknowledged before this stopped: a.nt as a whole, 1 fact of b.nt; nothing of c.nt\n"
    )
    assert [(file["name"], file["facts"], file["complete"]) for file in as_json["files"]] == [
        ("a.nt", 2, True),
        ("b.nt", 1, False),
        ("c.nt", 0, False),
    ]
    assert absent.stderr.startswith(f"gsg: cannot read {tmp_path / 'none.nt'}: there is no such file")
    assert rows(gsg, "(?s, <x:cseveral>, *)") == []


def test_a_folder_is_answered_by_the_command_that_publishes_what_is_in_it(gsg: Gsg, tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("")

    result = gsg("publish", tmp_path)

    assert result.stderr == f"gsg: cannot read {tmp_path}: is a directory; expected files of tuples: gsg publish {tmp_path}/*.ttl\n"


# --- bytes that are no UTF-8 on the command line ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["subscribe", "--snapshot", '(?x, ^name, "Zo\udceb")'],
        ["subscribe", "(?x)", "--language", "\udceb"],
        ["explain", "--offline", '(?x, ^name, "Zo\udceb")'],
        ["explain", "--subscription", "1", "--why", "?x=Zo\udceb"],
        ["explain", "--subscription", "1", "--why-not", "?x=Zo\udceb"],
        ["publish", "-e", "(Zo\udceb)"],
        ["publish", "-", "--base", "http://Zo\udceb/"],
        ["publish", "-", "--audience", "Zo\udceb"],
        ["status", "--peer", "http://Zo\udceb/"],
        ["peer", "--listen", "Zo\udceb:1"],
        ["simulate", "replay", "Zo\udceb"],
    ],
    ids=" ".join,
)
def test_arguments_are_utf8(gsg: Gsg, arguments: list[str]) -> None:
    result = gsg(*arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert re.search(
        r"^Error: Invalid value for .*: byte EB after .* is no UTF-8; expected a text in UTF-8", result.stderr, re.MULTILINE
    )


def test_the_name_of_a_file_may_have_any_bytes(gsg: Gsg, tmp_path: Path) -> None:
    path = tmp_path / "caf\udce9.ttl"
    try:
        path.write_text("<#a> <x:oddly-named> <> .")
    except (OSError, UnicodeEncodeError):
        pytest.skip("this file system takes names in UTF-8 alone")

    assert gsg("publish", path).exit_code == 0
    assert rows(gsg, "(?a, <x:oddly-named>, ?x)") == [f"+ ?a=<{path.as_uri()}#a> ?x=<{path.as_uri()}>"]
