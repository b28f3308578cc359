"""Files: what is read, how lazily, and what a broken file is told."""

from __future__ import annotations

import gzip
import io
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from gsg.errors import BadText, GsgError, LocalError, Unsupported
from gsg.languages.files import LOGGED, format_of, load, read_tuples
from gsg.languages.script import write_insert
from gsg.tuples.terms import IRI, XSD, BlankNode, Literal, Symbol, Term, Tuple, n3, term

FILMS = Path(__file__).resolve().parents[4] / "examples" / "films.nt"

A, B, C = IRI("x:a"), IRI("x:b"), IRI("x:c")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], Path]:
    """Writes a file, gzipped where its name says so."""

    def write(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def read_until_error(tuples: Iterator[Tuple]) -> tuple[list[Tuple], GsgError | None]:
    read: list[Tuple] = []
    try:
        read.extend(tuples)
    except GsgError as error:
        return read, error
    return read, None


CONTENTS = {
    "nt": b"<x:a> <x:b> <x:c> .\n",
    "ttl": b"@prefix x: <x:> . x:a x:b x:c .",
    "gsg": b"INSERT { (<x:a>, <x:b>, <x:c>) }",
}


@pytest.mark.parametrize("name", ["a.nt", "a.ttl", "a.gsg", "a.nt.gz", "a.ttl.gz", "a.gsg.gz"])
def test_every_format_is_read_plain_and_gzipped(write: Callable[[str, bytes], Path], name: str) -> None:
    path = write(name, CONTENTS[name.split(".")[1]])

    assert list(load(path)) == [(A, B, C)]
    assert list(load(str(path))) == [(A, B, C)]
    assert list(read_tuples(path)) == [(A, B, C)]


@pytest.mark.parametrize("format", list(CONTENTS))
def test_every_format_is_read_from_streams(format: str) -> None:
    data = CONTENTS[format]

    assert list(read_tuples(io.BytesIO(data), format)) == [(A, B, C)]
    assert list(read_tuples(io.StringIO(data.decode()), format)) == [(A, B, C)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a\\"b\\u00e9"', 'a"bé'),
        ('"5"', "5"),
        (f'"5"^^<{XSD}integer>', 5),
        (f'"005"^^<{XSD}integer>', Literal("005", XSD + "integer")),
        (f'"1.0"^^<{XSD}double>', term(1.0)),
        (f'"1e0"^^<{XSD}double>', Literal("1e0", XSD + "double")),
        (f'"1998"^^<{XSD}gYear>', Literal("1998", XSD + "gYear")),
        ('"chat"@FR', Literal("chat", "", "fr")),
        ("_:b0", BlankNode("b0")),
        ("<http://example.org/é>", IRI("http://example.org/é")),
    ],
)
def test_terms_keep_their_kind_and_lexical_form(text: str, expected: Term) -> None:
    for format in ("nt", "ttl"):
        ((_, _, value),) = read_tuples(io.BytesIO(f"<x:a> <x:b> {text} .\n".encode()), format)
        assert value == expected
        assert type(value) is type(expected)


def test_numbers_of_turtle_keep_their_form_too() -> None:
    values = [value for _, _, value in read_tuples(io.BytesIO(b"<x:a> <x:b> 1, 01, 1.50, true ."), "ttl")]

    assert values == [
        1,
        Literal("01", XSD + "integer"),
        Literal("1.50", XSD + "decimal"),
        Literal("true", XSD + "boolean"),
    ]


iris = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Co", "Zs", "Cn"], exclude_characters='<>"{}|^`\\'), max_size=5
).map(lambda text: IRI("x:" + re.sub(r"[^\w]", "", text)))
literals = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])), st.integers(), st.floats(allow_nan=False, allow_infinity=False)
).map(term)


@given(st.lists(st.tuples(iris, iris, st.one_of(iris, literals)), max_size=5))
def test_what_n3_writes_is_read_back(tuples: list[Tuple]) -> None:
    def as_ntriples(value: Term) -> str:
        # Numbers stand bare in n3() and quoted in N-Triples.
        return (
            Literal(str(value), XSD + "integer").n3()
            if type(value) is int
            else value.n3()
            if isinstance(value, Literal)
            else n3(value)
        )

    text = "".join(" ".join(map(as_ntriples, items)) + " .\n" for items in tuples)

    assert list(read_tuples(io.BytesIO(text.encode()), "nt")) == tuples
    assert list(read_tuples(io.BytesIO(write_insert(tuples).encode()), "gsg")) == tuples


@pytest.mark.parametrize(
    ("name", "good", "bad", "line", "column"),
    [
        pytest.param("a.nt", b'<x:a> <x:b> "%d" .\n', b"<x:a> b <x:c> .\n", 1001, 7, id="N-Triples"),
        pytest.param("a.nt", b'<x:a> <x:b> "%d" .\r\n', b"<x:a> b <x:c> .\r\n", 1001, 7, id="with carriage returns"),
        pytest.param(
            "a.nt", '<x:a> <x:b> "%d\u2028\x0c" .\n'.encode(), b"<x:a> b <x:c> .\n", 1001, 7, id="nor do other separators"
        ),
        pytest.param("a.nt", b'<x:a> <x:b> "%d" .\n', b'<x:a> <x:b> "\xff" .\n', 1001, 14, id="not UTF-8"),
        pytest.param("a.nt", b'<x:a> <x:b> "%d" .\n', b'<x:a> <x:b> "open .\n', 1001, 13, id="open string"),
        pytest.param("a.nt", b'<x:a> <x:b> "%d" .\n', b"<x:a> <x:b> <x:c>", 1001, 18, id="cut off"),
        pytest.param("a.nt.gz", b'<x:a> <x:b> "%d" .\n', b"<x:a> b <x:c> .\n", 1001, 7, id="gzipped"),
        pytest.param("a.ttl", b'<x:a> <x:b> "%d" .\n', b"y:a <x:b> 1 .\n", 1001, 1, id="Turtle"),
    ],
)
def test_all_tuples_before_a_mistake_are_delivered(
    write: Callable[[str, bytes], Path], name: str, good: bytes, bad: bytes, line: int, column: int
) -> None:
    before = b"".join(good % number for number in range(1000))
    after = b"".join(good % number for number in range(100) if not bad.endswith(b">"))
    path = write(name, before + bad + after)

    read, error = read_until_error(load(path))

    assert len(read) == 1000
    assert isinstance(error, BadText)
    assert (error.line, error.column) == (line, column)


def test_a_lone_carriage_return_ends_no_line(write: Callable[[str, bytes], Path]) -> None:
    path = write("a.nt", b"<x:a> <x:b> <x:c> .\n<x:a> <x:b> <x:c> .\r<x:a> b <x:c> .\n")

    _, error = read_until_error(load(path))

    assert isinstance(error, BadText)
    assert (error.line, error.column) == (2, 27)


def test_the_message_of_a_mistake_shows_file_line_and_caret(write: Callable[[str, bytes], Path]) -> None:
    path = write("films.nt", b"<x:a> <x:b> <x:c> .\n<x:a> b <x:c> .\n")

    _, error = read_until_error(load(path))

    assert str(error) == (
        "films.nt line 2, column 7: the predicate of a triple must be an IRI\n"
        "    <x:a> b <x:c> .\n"
        "          ^"
    )  # fmt: skip


class Trickle(io.BytesIO):
    """A stream that gives a few bytes at a time."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read(5)


@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\r\r\n", b"\r"]), max_size=12))
def test_lines_are_counted_across_the_pieces_of_a_stream(ends: list[bytes]) -> None:
    data = b"".join(b'<x:a> <x:b> "1" .' + end for end in ends)

    read, error = read_until_error(read_tuples(Trickle(data + b"<x:a> <b c> ."), "nt"))

    assert len(read) == len(ends)
    assert isinstance(error, BadText)
    assert error.line == data.count(b"\n") + 1


def test_tuples_of_a_pipe_arrive_before_it_is_closed() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"<x:a> <x:b> <x:c> .\n<x:a> <x:b> <x:a> .\n<x:c>")

    with os.fdopen(reading, "rb") as stream:
        tuples = read_tuples(stream, "nt")
        read = [next(tuples), next(tuples)]
        os.close(writing)

    assert read == [(A, B, C), (A, B, A)]


def test_a_mistake_in_a_script_names_the_file_and_delivers_nothing(write: Callable[[str, bytes], Path]) -> None:
    read, error = read_until_error(load(write("blocks.gsg", b"INSERT { (a) }\nINSERT { (?b) }")))

    assert read == []
    assert str(error).startswith('blocks.gsg line 2, column 11: "?b" in INSERT, which takes constants only')


@pytest.mark.parametrize("keyword", ["DELETE", "NOTIFY", "SUBSCRIBE"])
def test_a_script_that_does_more_than_insert_is_not_loaded(write: Callable[[str, bytes], Path], keyword: str) -> None:
    path = write("blocks.gsg", f"INSERT {{ (a) }} {keyword} {{ (b) }}".encode())

    with pytest.raises(
        Unsupported, match=f"blocks.gsg has a {keyword} block, and loading takes INSERT only; run the script instead"
    ):
        list(load(path))


def test_a_script_that_is_no_utf8_is_told_where(write: Callable[[str, bytes], Path]) -> None:
    path = write("blocks.gsg", "INSERT {\n  (é, ".encode() + b"\xff) }")

    with pytest.raises(BadText, match=r"^blocks.gsg line 2, column 7: byte FF is no UTF-8; expected a text in UTF-8"):
        list(load(path))


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("none.nt", None, "none.nt: no such file"),
        ("none.gsg", None, "none.gsg: no such file"),
        ("text.nt.gz", b"hello", "text.nt.gz: damaged or not gzip at all (not a gzipped file (b'he'))"),
        (
            "cut.nt.gz",
            gzip.compress(b"<x:a> <x:b> <x:c> .\n" * 100, mtime=0)[:-9],
            "cut.nt.gz: damaged or not gzip at all (compressed file ended",
        ),
        (
            "flip.gsg.gz",
            gzip.compress(b"INSERT { }", mtime=0)[:-5] + b"12345",
            "flip.gsg.gz: damaged or not gzip at all (crc check failed",
        ),
        ("mad.nt.gz", gzip.compress(b"x" * 99, mtime=0)[:10] + b"\xff" * 40, "mad.nt.gz: damaged or not gzip at all (error -3"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_why(tmp_path: Path, name: str, data: bytes | None, problem: str) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)

    with pytest.raises(LocalError, match=f"^cannot read .*{re.escape(problem)}"):
        list(load(tmp_path / name))


def test_a_directory_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"it is a directory; expected a file \(\.nt, .*\.gsg and each with \.gz\)"):
        list(load(tmp_path, format="nt"))


def test_a_stream_that_fails_is_told_why() -> None:
    class Broken(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(LocalError, match=r"^cannot read disk: input/output error$"):
        list(read_tuples(Broken(), "nt", name="disk"))


def test_a_text_stream_of_another_encoding_is_refused() -> None:
    stream = io.TextIOWrapper(io.BytesIO(b'<x:a> <x:b> "\xff" .\n'), "utf-8")

    with pytest.raises(LocalError, match=r"^cannot read stdin: invalid start byte; expected UTF-8$"):
        list(read_tuples(stream, "nt", name="stdin"))


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.nt", "nt"),
        ("dir.d/a.b.ttl", "ttl"),
        ("a.gsg", "gsg"),
        ("a.nt.gz", "nt"),
        ("a.ttl.gz", "ttl"),
        ("a.gsg.gz", "gsg"),
        ("A.NT", "nt"),
        ("A.Ttl.GZ", "ttl"),
        ("a.nq", "nq"),
        ("a.trig.gz", "trig"),
        ("a.n3", "n3"),
        ("a.RDF.gz", "rdf"),
        ("a.owl", "rdf"),
        ("a.jsonld", "jsonld"),
    ],
)
def test_the_format_is_told_by_the_suffix(name: str, format: str) -> None:
    assert format_of(name) == format
    assert format_of(Path(name)) == format


@pytest.mark.parametrize("name", ["a", "a.csv", "nt", ".gz", "a.gz", "a.nt.bz2"])
def test_an_unknown_suffix_is_answered_by_those_known(name: str) -> None:
    known = ".nt, .nq, .ttl, .trig, .n3, .rdf, .owl, .jsonld, .gsg and each with .gz"
    with pytest.raises(Unsupported, match=f"^'{re.escape(name)}' has no known suffix; known are {known}"):
        format_of(name)


def test_an_unknown_format_is_refused_at_once() -> None:
    with pytest.raises(Unsupported, match=r"^unknown format 'csv'; known are nt, nq, ttl, trig, n3, rdf, jsonld, gsg$"):
        load("a.nt", format="csv")
    with pytest.raises(
        Unsupported, match=r"^the format of a stream must be given; known are nt, nq, ttl, trig, n3, rdf, jsonld, gsg$"
    ):
        read_tuples(io.BytesIO())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "<x:a> <x:b> <<( <x:a> <x:b> <x:c> )>> .",
            "a.ttl line 1, column 1: .* is a triple within a triple, which terms here do not hold",
        ),
        ('<x:a> <x:b> "a"@en--ltr .', "a.ttl line 1, column 1: .* has a base direction, which terms here do not hold"),
    ],
)
def test_what_terms_cannot_hold_is_refused_by_name(write: Callable[[str, bytes], Path], text: str, problem: str) -> None:
    with pytest.raises(BadText, match=f"^{problem}\n"):
        list(load(write("a.ttl", text.encode())))


def test_relative_iris_are_resolved_against_the_files_own_iri_unless_a_base_is_given(tmp_path: Path) -> None:
    folder = tmp_path / "50% of ä #1"
    folder.mkdir()
    path = folder / "small?.ttl"
    path.write_text("<> <x:p> <#Lamp> , <other> .")

    own = path.as_uri()

    assert "%25%20of%20%C3%A4%20%231/small%3F.ttl" in own
    assert list(load(path)) == [
        (IRI(own), IRI("x:p"), IRI(own + "#Lamp")),
        (IRI(own), IRI("x:p"), IRI(own.rpartition("/")[0] + "/other")),
    ]
    assert [str(value) for _, _, value in load(path, base="http://e/a/b")] == ["http://e/a/b#Lamp", "http://e/a/other"]


def test_a_path_is_the_same_file_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.ttl").write_text("<> <x:p> [ <x:q> _:b ] .")
    monkeypatch.chdir(tmp_path)

    whole = list(load(tmp_path / "a.ttl"))

    assert list(load("a.ttl")) == list(load("folder/../a.ttl")) == list(load("./a.ttl")) == whole


@pytest.mark.parametrize("name", ["a.nt", "a.ttl"])
def test_two_files_have_no_blank_node_in_common_and_one_has_the_same_again(tmp_path: Path, name: str) -> None:
    text = "_:b <x:p> _:c .\n" + ("[] <x:p> ( 1 [ ] ) .\n" if name == "a.ttl" else "")
    paths = [tmp_path / "one" / name, tmp_path / "two" / name]
    for path in paths:
        path.parent.mkdir()
        path.write_text(text)

    nodes = [{item for items in load(path) for item in items if isinstance(item, BlankNode)} for path in paths]

    assert not nodes[0] & nodes[1]
    assert [set(load(path)) for path in paths] == [set(load(path)) for path in paths]
    assert set(load(paths[0], base="http://e/")) == set(load(paths[1], base="http://e/"))


def test_what_is_left_out_is_logged_up_to_a_limit_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.nt"
    path.write_text("oops\n" * (LOGGED + 5) + "<x:a> <x:b> <x:c> .\n")

    assert list(load(path, lenient=True)) == [(A, B, C)]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == LOGGED + 1
    assert said[0].startswith("skipped: a.nt line 1, column 1: ")
    assert said[-1] == "a.nt: 5 more mistakes were skipped"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.turtle", "--format ttl"),
        ("a.nquads", "--format nq"),
        ("a.xml", "--format rdf"),
        ("a.json.gz", "--format jsonld"),
    ],
)
def test_other_suffixes_of_formats_are_answered_by_these(name: str, said: str) -> None:
    with pytest.raises(Unsupported, match=f"has no known suffix; .*: name its format .{said}"):
        load(name)


@pytest.mark.parametrize("name", ["a.nt", "a.ttl", "a.gsg"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_files_in_utf16_are_refused_by_name(tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / name
    path.write_text(CONTENTS[name[2:]].decode(), encoding)

    with pytest.raises(LocalError, match=rf"^cannot read {name}: it is UTF-16; save it as UTF-8"):
        list(load(path))


@pytest.mark.parametrize("name", ["a.nt", "a.ttl", "a.gsg", "a.ttl.gz"])
def test_a_byte_order_mark_is_no_part_of_a_file(write: Callable[[str, bytes], Path], name: str) -> None:
    data = b"\xef\xbb\xbf" + CONTENTS[name.split(".")[1]] + b"\r\n"

    assert list(load(write(name, data))) == [(A, B, C)]


LABELLED = {
    "nt": b"_:b <x:b> _:b .\n_:b <x:b> _:c .\n",
    "ttl": b"_:b <x:b> _:b, _:c .",
    "gsg": b"INSERT { (_:b, <x:b>, _:b), (_:b, <x:b>, _:c) }",
}


@pytest.mark.parametrize("format", list(LABELLED))
def test_blank_nodes_keep_their_label_unless_fresh_ones_are_asked_for(format: str) -> None:
    kept = list(read_tuples(io.BytesIO(LABELLED[format]), format))
    fresh = [list(read_tuples(io.BytesIO(LABELLED[format]), format, fresh_blank_nodes=True)) for _ in range(2)]

    assert kept == [(BlankNode("b"), B, BlankNode("b")), (BlankNode("b"), B, BlankNode("c"))]
    for (first, _, same), (again, _, other) in fresh:
        assert first == same == again != other
    assert len({item for tuples in [kept, *fresh] for items in tuples for item in items if isinstance(item, BlankNode)}) == 6


def test_the_films_are_as_the_readme_says() -> None:
    films = list(load(FILMS))
    people = "http://example.org/people/"
    directed = {
        film for film, predicate, who in films if str(predicate).endswith("directedBy") and str(who) == people + "Steven_Spielberg"
    }
    with_hanks = {
        film for film, predicate, who in films if str(predicate).endswith("starring") and str(who) == people + "Tom_Hanks"
    }

    assert len(films) == len(set(films)) == 955
    assert len(directed) == 34
    assert {str(film).rpartition("/")[2] for film in directed & with_hanks} == {
        "Saving_Private_Ryan",
        "Catch_Me_If_You_Can",
        "The_Terminal",
        "Bridge_of_Spies",
        "The_Post",
    }


def test_the_films_are_the_same_to_another_reader() -> None:
    graph = rdflib.Graph().parse(FILMS, format="nt")

    assert {tuple(map(term, triple)) for triple in graph} == set(load(FILMS))


def test_symbols_come_from_scripts_only() -> None:
    assert list(read_tuples(io.BytesIO(b"INSERT { (B1, ^on, 'a b') }"), "gsg")) == [(Symbol("B1"), Symbol("on"), Symbol("a b"))]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('<http://a> <http://b> "1" .\n<http://a> <http://b> "2"\n<http://a> <http://b> "3" .\n', id="before another"),
        pytest.param('<http://a> <http://b> "1" .\n<http://a> <http://b> "2"\n', id="at the end"),
    ],
)
def test_a_missing_dot_is_told_at_the_line_that_lacks_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "nodot.nt"
    path.write_text(text)

    with pytest.raises(BadText, match=r"nodot\.nt line 2, column 26: triples must be followed by a dot"):
        list(load(path))
