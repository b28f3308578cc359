"""Formats that are read as a whole, and N-Quads: what they say, which nodes theirs are, and what a mistake is told."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest

from gsg.errors import BadText, LocalError
from gsg.languages.files import documents, load, rdf_terms, read_tuples
from gsg.tuples.terms import IRI, BlankNode, Tuple

A, B, C, G = (IRI(f"http://e/{name}") for name in "abcg")
XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">
<rdf:Description rdf:about="http://e/a"><e:b rdf:resource="http://e/c"/><e:b rdf:nodeID="n"/></rdf:Description>
</rdf:RDF>
"""
CONTENTS = {
    "nq": "<http://e/a> <http://e/b> <http://e/c> .\n<http://e/a> <http://e/b> _:n <http://e/g> .\n",
    "trig": "PREFIX : <http://e/> :a :b :c . :g { :a :b _:n }",
    "n3": "@prefix : <http://e/> . :a :b :c, _:n .",
    "rdf": XML,
    "jsonld": '{"@id": "http://e/a", "http://e/b": [{"@id": "http://e/c"}, {"@id": "_:n"}]}',
}
NODES = {
    "trig": "PREFIX : <http://e/> :g { [ :b ( 1 ) ] :b [] } [] :b 2 .",
    "n3": "@prefix : <http://e/> . [ :b ( 1 ) ] :b [] .",
    "rdf": XML.replace("</rdf:Description>", '<e:c rdf:parseType="Resource"><e:b>1</e:b></e:c></rdf:Description>'),
    "jsonld": '{"http://e/b": [{"http://e/b": 1}, {"@list": [2]}]}',
}
each_format = pytest.mark.parametrize("format", list(CONTENTS))


def read(text: str | bytes, format: str, base: str | None = None) -> list[Tuple]:
    return list(read_tuples(io.BytesIO(text.encode() if isinstance(text, str) else text), format, name="in", base=base))


def nodes_of(tuples: list[Tuple]) -> set[BlankNode]:
    return {item for items in tuples for item in items if type(item) is BlankNode}


@each_format
def test_triples_are_tuples_of_three_and_quads_of_four(format: str) -> None:
    graph = (G,) if format in ("nq", "trig") else ()

    assert set(read(CONTENTS[format], format)) == {(A, B, C), (A, B, BlankNode("n"), *graph)}


@each_format
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_files_tell_their_format_by_their_suffix(tmp_path: Path, format: str, ending: str) -> None:
    data = CONTENTS[format].encode()
    path = tmp_path / f"a.{format}{ending}"
    path.write_bytes(gzip.compress(data) if ending else data)

    assert [items[:3] for items in load(path) if items[2] == C] == [(A, B, C)]


@each_format
def test_a_label_belongs_to_its_base_and_is_a_name_of_the_space_without_one(format: str) -> None:
    text = CONTENTS[format]

    first, again, other = (nodes_of(read(text, format, base)) for base in ("http://x/", "http://x/", "http://y/"))

    assert first == again
    assert first.isdisjoint(other)
    assert nodes_of(read(text, format)) == {BlankNode("n")}


@pytest.mark.parametrize("format", list(NODES))
def test_nodes_without_labels_are_the_same_when_the_text_is_read_again(format: str) -> None:
    text = NODES[format]

    first, again, other, changed = (
        nodes_of(read(*given)) - {BlankNode("n")}
        for given in ((text, format), (text, format), (text, format, "http://y/"), (text + "\n", format))
    )

    assert first == again
    assert first
    assert first.isdisjoint(other)
    assert first.isdisjoint(changed)


@pytest.mark.parametrize("format", list(NODES))
def test_nodes_are_connected_as_another_reader_has_them(format: str) -> None:
    kind = pyoxigraph.RdfFormat.from_extension(format)
    theirs, ours = pyoxigraph.Dataset(pyoxigraph.parse(NODES[format].encode(), kind)), pyoxigraph.Dataset()
    for items in read(NODES[format], format):
        ours.add(pyoxigraph.Quad(*map(_theirs, items)))

    for dataset in (theirs, ours):
        dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)

    assert ours == theirs


def _theirs(item: object) -> pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal:
    if isinstance(item, BlankNode):
        return pyoxigraph.BlankNode(item.label)
    if isinstance(item, IRI):
        return pyoxigraph.NamedNode(item.value)
    return pyoxigraph.Literal(item)  # type: ignore[arg-type]  # a str or an int, by what the tests give


def test_labels_that_look_made_up_are_told_apart() -> None:
    text = f"<http://e/a> <http://e/b> _:{'a' * 32} , _:{'b' * 32} , _:{'a' * 32} , [] ."

    assert len(nodes_of(read(text, "trig"))) == 3
    assert nodes_of(read(text, "trig")) == nodes_of(read(text, "trig"))


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        (
            "trig",
            "<x:a> <x:b> <x:c> .\n foo .",
            "in line 2, column 2: foo is not a valid subject or graph name\n     foo .\n     ^",
        ),
        (
            "jsonld",
            '{"@id": "x:a",\n "x:b": [1, 2}',
            "in line 2, column 14: array values must be followed by a comma",
        ),
        ("rdf", XML.replace("</rdf:Description>", "</e:x>"), "in line 3, column 96: ill-formed document: expected `</rdf:Desc"),
        ("rdf", XML.replace("http://e/c", "a b"), "in line 3, column 60: error while parsing IRI 'a b': "),
        ("rdf", XML.replace("http://e/c", "#c"), "in line 3, column 60: error while parsing IRI '#c': No scheme .*say|base= in a"),
        ("n3", "<x:a> <x:b> ?c .", "in line 1, column 1: variables are not allowed in regular RDF objects"),
        ("trig", "<x:a> <x:b> <<( <x:a> <x:b> <x:c> )>> .", "in line 1, column 1: .*is a triple within a triple"),
        ("jsonld", '{"@context": "http://schema.org/", "name": "x"}', "its context is elsewhere, and nothing is fetched"),
        (
            "rdf",
            XML.replace("?>", ' encoding="latin-1"?>').encode().replace(b"#", b"\xe9"),
            "in line 2, column 63: byte E9 is no UTF-8",
        ),
        ("jsonld", b'{"x:b": "\xc3', "in line 1, column 10: byte C3 is no UTF-8"),
        ("nq", "<x:a> <x:b> <x:c> <x:g> <x:h> .", "in line 1, column "),
    ],
)
def test_a_mistake_is_told_with_its_place(format: str, text: str | bytes, message: str) -> None:
    with pytest.raises(BadText) as caught:
        read(text, format)

    assert message.partition("|")[0].partition(".*")[0] in str(caught.value)


def test_what_stands_before_a_mistake_is_handed_over_and_nothing_behind_it() -> None:
    text = "<x:a> <x:b> 1 . <x:g> { <x:a> <x:b> 2 }\n foo .\n <x:a> <x:b> 3 ."
    told: list[BadText] = []

    skipping = list(read_tuples(io.BytesIO(text.encode()), "trig", lenient=told.append))

    assert [items[2] for items in skipping] == [1, 2]
    assert [mistake.line for mistake in told] == [2]


def test_a_mistake_in_n_quads_costs_its_line() -> None:
    told: list[BadText] = []
    text = b"<x:a> <x:b> <x:c> <x:g> .\n<x:a> <x:b> <c> <x:g> .\n<x:a> <x:b> .\n<x:a> <x:b> <x:d> .\n"

    found = list(read_tuples(io.BytesIO(text), "nq", lenient=told.append))

    assert [len(items) for items in found] == [4, 3]
    assert [mistake.line for mistake in told] == [2, 3]


def test_quads_of_a_pipe_arrive_before_it_is_closed() -> None:
    receiving, sending = os.pipe()
    with open(receiving, "rb") as stream, open(sending, "wb", buffering=0) as pipe:
        tuples = read_tuples(stream, "nq")
        pipe.write(b"<x:a> <x:b> <x:c> <x:g> .\n")

        assert next(tuples) == (IRI("x:a"), IRI("x:b"), IRI("x:c"), IRI("x:g"))


@pytest.mark.parametrize("format", list(NODES))
def test_utf16_is_refused_by_name_and_a_mark_is_no_part_of_the_text(format: str) -> None:
    assert read(b"\xef\xbb\xbf" + CONTENTS[format].encode(), format) == read(CONTENTS[format], format)
    with pytest.raises(LocalError, match="cannot read in: it is UTF-16; save it as UTF-8"):
        read(CONTENTS[format].encode("utf-16"), format)


@pytest.mark.parametrize("size", [1, 3, 7])
def test_a_text_is_the_same_however_its_bytes_come(size: int) -> None:
    text = "<x:a> <x:b> 'é\U0001f600', [] ."

    class Slow(io.BytesIO):
        def read1(self, _: int | None = -1) -> bytes:
            return super().read1(size)

    assert list(read_tuples(Slow(text.encode()), "trig")) == read(text, "trig")


def test_a_long_text_waits_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "SPOOLED_BYTES", 100)

    assert len(read(XML, "rdf")) == 2


def test_a_text_of_very_many_nodes_without_labels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdf_terms, "MAX_UNLABELLED", 2)

    def some(number: int) -> Iterator[str]:
        return (f"[] <x:b> {each} ." for each in range(number))

    assert len(read(" ".join(some(2)), "trig")) == 2
    with pytest.raises(LocalError, match="cannot read in: more than 2 nodes without labels; expected fewer, or N-Quads"):
        read(" ".join(some(3)), "trig")


@pytest.mark.parametrize("format", ["trig", "n3", "rdf"])
def test_a_text_may_be_empty(format: str) -> None:
    assert read("", format) == []


def test_entities_are_not_followed_to_find_a_mistake() -> None:
    entities = '<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;&a;">]>'
    with pytest.raises(BadText, match="in line 1, column 1: "):
        read(XML.replace("<rdf:RDF", f"{entities}<rdf:RDF", 1).replace("</rdf:RDF>", "</x>"), "rdf")
