"""N-Triples and Turtle: what a base, a tag, a mark and a mistake do, and that a text is read the same however its bytes come."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import rdflib
import rdflib.compare
from hypothesis import given
from hypothesis import strategies as st

from gsg.errors import BadText, LocalError, Unsupported
from gsg.languages.files import read_tuples
from gsg.languages.files import triples as module
from gsg.tuples.terms import IRI, BlankNode, Literal, Term, Tuple, term

BASE = "http://base.example/folder/data.ttl"


def read(text: str | bytes, format: str = "ttl", *, base: str | None = None) -> list[Tuple]:
    return list(read_tuples(io.BytesIO(text.encode() if isinstance(text, str) else text), format, name="in", base=base))


def read_leniently(text: str | bytes, format: str = "ttl", *, base: str | None = None) -> tuple[list[Tuple], list[BadText]]:
    left_out: list[BadText] = []
    stream = io.BytesIO(text.encode() if isinstance(text, str) else text)
    return list(read_tuples(stream, format, name="in", base=base, lenient=left_out.append)), left_out


def x(name: str) -> IRI:
    return IRI(f"x:{name}")


# --- bases --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<> <x:p> <#Lamp> .", [(BASE, "x:p", BASE + "#Lamp")]),
        ("@prefix : <#> . :a :b :c .", [(BASE + "#a", BASE + "#b", BASE + "#c")]),
        (
            "<a> <../b> <//other/c> . </d> <?q> <./> .",
            [
                ("http://base.example/folder/a", "http://base.example/b", "http://other/c"),
                ("http://base.example/d", BASE + "?q", "http://base.example/folder/"),
            ],
        ),
        ("@base <other/> . <a> <x:p> <> .", [("http://base.example/folder/other/a", "x:p", "http://base.example/folder/other/")]),
        ("BASE <http://b/>\nPREFIX p: <q#>\np:r <x:p> <s> .", [("http://b/q#r", "x:p", "http://b/s")]),
        ('<a> <x:p> "1"^^<type> .', [("http://base.example/folder/a", "x:p", "http://base.example/folder/type")]),
    ],
)
def test_relative_iris_are_resolved_against_the_base(text: str, expected: list[tuple[str, str, str]]) -> None:
    made = read(text, base=BASE)

    assert {tuple(part.datatype if isinstance(part, Literal) else str(part) for part in items) for items in made} == set(expected)


def test_a_fragment_of_the_base_is_no_part_of_it() -> None:
    assert read("<> <x:p> <#a> .", base=BASE + "#here") == [(IRI(BASE), x("p"), IRI(BASE + "#a"))]


@pytest.mark.parametrize("base", ["", "data/", "http://a b/", "#a"])
def test_a_base_that_is_none_is_refused_at_once(base: str) -> None:
    with pytest.raises(LocalError, match=r"is no base: .*; expected an absolute IRI such as http://example\.org/data/"):
        read_tuples(io.BytesIO(), "ttl", base=base)


@pytest.mark.parametrize(
    "text", ["<a> <x:p> <x:o> .", "<x:a> <x:p> <#o> .", "@prefix : <#> .", "@base <a/> .", '<x:a> <x:p> ""^^<t> .']
)
def test_without_a_base_a_relative_iri_is_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(BadText, match=r"is a relative IRI, and there is no base .*--base IRI, or base= in a program") as caught:
        read(text)
    assert caught.value.column == text.index("<a" if "<a" in text else "<#" if "<#" in text else "<t") + 1


def test_n_triples_have_no_relative_iris_even_with_a_base() -> None:
    with pytest.raises(BadText, match=r"^in line 2, column 7: <p> is a relative IRI, and N-Triples takes absolute ones alone"):
        read("<x:a> <x:p> <x:o> .\n<x:a> <p> <x:o> .\n", "nt", base=BASE)


# --- tags, marks, line ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["zh-classical", "be-x-old-orthography", "en-a-b", "abcdefghijkl", "x-a1b2c3d4e5", "en-GB"])
@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_whatever_the_grammar_takes_for_a_language_tag_is_one(tag: str, format: str) -> None:
    text = f'<x:a> <x:p> "before" .\n<x:a> <x:p> "odd"@{tag} .\n<x:a> <x:p> "after"@de .\n'

    made = read(text, format)

    assert [value for _, _, value in made] == ["before", Literal("odd", "", tag.lower()), Literal("after", "", "de")]
    assert term(made[1][2]) == made[1][2]


@pytest.mark.parametrize("tag", ["@", "@1", "@en-", "@en_GB", "@-en"])
@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_what_the_grammar_does_not_take_is_a_mistake(tag: str, format: str) -> None:
    made, left_out = read_leniently(f'<x:a> <x:p> "odd"{tag} .\n<x:a> <x:p> "after" .\n', format)

    assert ([value for _, _, value in made], [mistake.line for mistake in left_out]) == (["after"], [1])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("format", ["nt", "ttl"])
@pytest.mark.parametrize("final", ["", "end"])
def test_every_line_end_and_none_at_the_end_will_do(end: str, format: str, final: str) -> None:
    text = end.join(['\ufeff<x:a> <x:p> "1" .', "# why", "", '<x:a> <x:p> "2" .']) + (end if final else "")

    assert [value for _, _, value in read(text, format)] == ["1", "2"]


@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_files_with_marks_may_be_put_one_behind_the_other(format: str) -> None:
    one = '\ufeff<x:a> <x:p> "1" .\n'

    assert [value for _, _, value in read(one * 3, format)] == ["1"] * 3


@pytest.mark.parametrize("text", ["", "\ufeff", "\n", "# nothing", "\r\n# nothing\r\n"])
@pytest.mark.parametrize("format", ["nt", "ttl", "gsg"])
def test_a_file_may_be_empty(text: str, format: str) -> None:
    assert read(text, format) == []


# --- mistakes -------------------------------------------------------------------------------------------------------------------

MISTAKES = {
    "an IRI with a space": ("<x:a b> <x:p> <x:o> .", r"<x:a b> is no IRI: invalid IRI code point ' '"),
    "an IRI with an escaped space": (r"<x:a> <x:p> <x:o\u0020> .", "<x:o > is no IRI"),
    "a bad percent sign": ("<x:a> <x:p> <http://e/%zz> .", "<http://e/%zz> is no IRI"),
    "a surrogate": (r'<x:a> <x:p> "\uD800" .', "is not a valid unicode character"),
    "a predicate that is none": ("<x:a> oops <x:o> .", "predicate"),
    "no dot": ("<x:a> <x:p> <x:o>", "dot|subject|predicate|predicate"),
    "an open string": ('<x:a> <x:p> "open .', 'this string is not closed; expected " on the same line'),
    "bytes of Latin-1": ('<x:a> <x:p> "caf\udce9" .', r"byte E9 is no UTF-8; expected a text in UTF-8 \(\d+ bytes stand before it"),
    "statements within a string that has a mistake": (r'<x:a> <x:p> "\uD800 . <x:evil> <x:p> <x:o> . " .', "unicode"),
    "statements within an open string": ('<x:a> <x:p> "open . <x:evil> <x:p> <x:o> .', "not closed"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=list(MISTAKES))
@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_a_mistake_costs_its_statement_alone_and_is_told_with_its_line(format: str, mistake: tuple[str, str]) -> None:
    text, said = mistake
    whole = f'<x:a> <x:p> "1" .\n{text}\n\n<x:a> <x:p> "2" .\n<x:a> <x:p> "3" .\n'.encode("utf-8", "surrogateescape")

    made, left_out = read_leniently(whole, format)

    skips_next = format == "ttl" and text == MISTAKES["no dot"][0]
    assert [value for _, _, value in made] == (["1", "3"] if skips_next else ["1", "2", "3"])
    assert [error.line for error in left_out] == [4 if skips_next else 2]
    with pytest.raises(BadText, match=f"^in line {left_out[0].line}, column .*: .*(?:{said})"):
        read(whole, format)


def test_of_a_statement_the_triples_with_an_invalid_iri_alone_are_left_out() -> None:
    text = '@prefix : <x:> .\n:a :p 1 , <x:b c> , "tag"@zh-classical ;\n  :q [ :r <x:{> ; :s 2 ] .\n:b :p 3 .'

    made, left_out = read_leniently(text)

    assert {value for _, _, value in made if not isinstance(value, BlankNode)} == {1, Literal("tag", "", "zh-classical"), 2, 3}
    assert [(error.line, error.column) for error in left_out] == [(2, 11), (3, 11)]


def test_what_a_message_quotes_of_a_text_does_not_rule_the_terminal() -> None:
    _, left_out = read_leniently("<x:a> <x:p\x1b[31m> <x:o> .\n<x:a> \x1b[2J <x:o> .\n", "nt")

    assert len(left_out) == 2
    assert not any("\x1b" in str(mistake) for mistake in left_out)


def test_a_prefix_whose_new_meaning_has_a_mistake_has_none() -> None:
    made, left_out = read_leniently(
        "@prefix : <x:one/> .\n:a :p 1 .\n@prefix : <x:b c> .\n:a :p 2 .\n@prefix : <x:two/> . :a :p 3 ."
    )

    assert made == [(x("one/a"), x("one/p"), 1), (x("two/a"), x("two/p"), 3)]
    assert [error.line for error in left_out] == [3, 4]


def test_nor_has_one_whose_declaration_goes_with_a_mistake_before_it() -> None:
    made, left_out = read_leniently("@prefix : <x:one/> .\n@prefix b: <x:b/>\n@prefix : <x:two/> .\n:a :p 1 .\n<x:a> <x:p> 2 .")

    assert (made, [error.line for error in left_out]) == ([(x("a"), x("p"), 2)], [3, 4])


def test_a_base_with_a_mistake_leaves_none() -> None:
    made, left_out = read_leniently("@base <x:b c> .\n<a> <x:p> 1 .\n<x:a> <x:p> 2 .", base=BASE)

    assert (made, [error.line for error in left_out]) == ([(x("a"), x("p"), 2)], [1, 2])


@pytest.mark.parametrize(
    ("format", "text", "said"),
    [
        ("nt", "@prefix : <x:> .", "this is Turtle, and was to be N-Triples; name it .ttl, or say --format ttl"),
        ("nt", "PREFIX : <x:>", "this is Turtle, and was to be N-Triples"),
        ("nt", "INSERT { (a) }", "this looks like GSG script, and was to be N-Triples; name it .gsg, or say --format gsg"),
        ("ttl", "notify { (a) }", "this looks like GSG script, and was to be Turtle"),
        ("ttl", '<?xml version="1.0"?>', "this looks like RDF/XML, and was to be Turtle; name it .rdf, or say --format rdf"),
        ("nt", "<rdf:RDF>", "this looks like RDF/XML"),
        ("nq", '{"@context": {}}', "this looks like JSON-LD, and was to be N-Quads; name it .jsonld"),
        ("ttl", '[ {"@id": "x:a"} ]', "this looks like JSON-LD"),
        ("ttl", "<x:g> { <x:a> <x:b> <x:c> }", "this looks like TriG, and was to be Turtle; name it .trig, or say --format trig"),
        ("ttl", "GRAPH <x:g> { <x:a> <x:b> <x:c> }", "this looks like TriG"),
        ("nt", '<x:a> <x:b> "c"@en <x:g> .', "this looks like N-Quads, and was to be N-Triples; name it .nq, or say --format nq"),
    ],
)
def test_another_format_is_called_by_its_name(format: str, text: str, said: str) -> None:
    for reading in (read, read_leniently):
        with pytest.raises(Unsupported, match=f"^in line 2, column 1: {said}"):
            reading(f"# a comment\n{text}", format)


@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_a_term_that_the_parser_does_not_hold_is_a_mistake(format: str) -> None:
    text = '<x:a> <x:p> "' + "a" * 2**24 + '" .\n<x:a> <x:p> 1 .\n'.replace("1 .", '"1" .')

    made, left_out = read_leniently(text, format)

    assert [value for _, _, value in made] == ["1"]
    assert str(left_out[0]).startswith("in line 1, column 1: a term of more than 16 MiB, as no message can hold")


def test_a_file_of_very_many_prefixes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PREFIXES", 3)

    with pytest.raises(LocalError, match=r"^cannot read in: more than 3 prefixes"):
        read("".join(f"@prefix p{number}: <x:> .\n" for number in range(4)))


# --- blank nodes ----------------------------------------------------------------------------------------------------------------

NODES = "@prefix : <x:> . :s :at [ :x 1 ; :y [ :z ( 1 [ ] _:l ) ] ] . [] :p _:l . [] :p _:l . _:l :q ( ) .\n"


def nodes_of(tuples: list[Tuple]) -> set[Term]:
    return {item for items in tuples for item in items if isinstance(item, BlankNode)}


def test_a_text_read_again_has_the_same_nodes_and_those_that_it_means() -> None:
    again = read(NODES, base=BASE)
    meant = rdflib.Graph().parse(data=NODES, format="turtle")
    ours = rdflib.Graph()
    for items in read(NODES, base=BASE):
        ours.add(tuple(rdflib.BNode(str(part)) if isinstance(part, BlankNode) else rdf_term(part) for part in items))  # type: ignore[arg-type]  # three

    assert again == read(NODES, base=BASE)
    assert rdflib.compare.isomorphic(ours, meant)


def rdf_term(part: Term) -> rdflib.term.Node:
    return rdflib.URIRef(part.value) if isinstance(part, IRI) else rdflib.Literal(part)


def test_two_bases_have_no_node_in_common() -> None:
    assert not nodes_of(read(NODES, base=BASE)) & nodes_of(read(NODES, base="http://other/"))
    assert not nodes_of(read("_:b <x:p> _:c .", "nt", base=BASE)) & nodes_of(read("_:b <x:p> _:c .", "nt", base="http://other/"))


def test_without_a_base_labels_are_names_of_the_whole_space_and_other_nodes_are_the_same_again() -> None:
    made = read(NODES)

    assert made == read(NODES)
    assert BlankNode("l") in nodes_of(made)


def test_what_is_added_before_a_statement_gives_its_nodes_to_no_other() -> None:
    before = read("@prefix : <x:> .\n:a :at [ :street 1 ] .\n:b :at [ :street 2 ] .", base=BASE)
    after = read("@prefix : <x:> .\n:new :at [ :street 0 ] .\n# why\n:a :at [ :street 1 ] .\n:b :at [ :street 2 ] .", base=BASE)

    assert set(before) < set(after)
    assert len(nodes_of(after)) == 3


def test_labels_that_look_made_up_are_labels() -> None:
    made = read("@prefix : <x:> . _:a :p [ :q _:ab ] . _:ab :p _:a0 .", base=BASE)

    assert len(nodes_of(made)) == 4
    assert made[-1][0] == next(value for _, predicate, value in made if predicate == x("q"))


def test_numbers_tell_equal_statements_apart_beyond_those_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    from gsg.languages.files import blank_nodes

    monkeypatch.setattr(blank_nodes, "MAX_REPEATED", 2)
    text = "".join(f"[] <x:p> {number} .\n" for number in (1, 2, 3, 1, 3, 4, 3))

    assert len(nodes_of(read(text, base=BASE))) == 7
    assert read(text, base=BASE) == read(text, base=BASE)


# --- however the bytes come -----------------------------------------------------------------------------------------------------


class Pieces:
    """A stream that gives so many bytes at a time."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._rest = data
        self._sizes = iter(sizes)

    def read(self, size: int = -1) -> bytes:
        taken = next(self._sizes, 65_536)
        piece, self._rest = self._rest[:taken], self._rest[taken:]
        return piece


STATEMENTS = [
    "@prefix : <x:> .",
    "PREFIX : <x:/>",
    "# a . comment [ ]",
    ':a :p "1 . [" , 1.5 .',
    ":a :p [ :q [] ] .",
    ":a :p _:b , ( 1 ) .",
    ':a :p "open .',
    ":a :p <x:b c> , 2 .",
    ":a oops .",
    ':a :p """long\n. """@zh-classical .',
    "<> :p <#a> .",
    "\ufeff:a :p '\\u00e9é' .",
    '_:b :p "\\uD800 . :evil :p 1 ." .',
]


@given(
    st.lists(st.sampled_from(STATEMENTS), max_size=10),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.lists(st.integers(1, 40), max_size=30),
)
def test_a_text_is_read_the_same_however_its_bytes_come(chosen: list[str], end: str, sizes: list[int]) -> None:
    text = "".join(statement + end for statement in ["@prefix : <x:> .", *chosen])

    def read_by(sizes: list[int]) -> tuple[list[Tuple], list[str]]:
        left_out: list[BadText] = []
        stream: Iterator[Tuple] = read_tuples(
            Pieces(text.encode(), sizes),  # type: ignore[arg-type]  # needs read() only
            "ttl",
            name="in",
            base=BASE,
            lenient=left_out.append,
        )
        return list(stream), [str(error) for error in left_out]

    made, left_out = read_by([])

    assert read_by(sizes) == (made, left_out)
    assert not any("evil" in str(item) for items in made for item in items)
    assert len(left_out) >= sum(chosen.count(bad) for bad in STATEMENTS if "oops" in bad or "open" in bad or "uD800" in bad)


@pytest.mark.parametrize(
    "statement",
    ["<< <x:a> <x:p> <x:b> >> <x:said> 1", "<x:a> <x:p> <x:b> {| <x:said> 1 |}", "<x:a> <x:p> <<( <x:a> <x:p> 1 )>>, 2"],
)
def test_of_a_statement_about_a_triple_no_half_is_read(statement: str) -> None:
    made, left_out = read_leniently(f"<x:before> <x:p> 1 .\n{statement} .\n<x:after> <x:p> 2 .\n")

    assert made == [(IRI("x:before"), IRI("x:p"), 1), (IRI("x:after"), IRI("x:p"), 2)]
    assert [mistake.line for mistake in left_out] == [2]
