"""What is written of tuples: each format comes back as it was, and what cannot be written is told."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.errors import Unsupported
from gsg.languages.files import read_tuples
from gsg.languages.files.writing import BATCH, MEDIA_TYPES, PART_BYTES, WITH_GRAPHS, format_of_media_type, write_tuples
from gsg.tuples.terms import IRI, XSD, BlankNode, Literal, Symbol, Term, Tuple, literal

A, P, G = IRI("http://e/a"), IRI("http://e/p"), IRI("http://e/g")
TRIPLES: list[Tuple] = [
    (A, P, BlankNode("b0.e7d6-1")),
    (BlankNode("x"), P, "é \"'\\\t\n"),
    (A, P, 5),
    (A, P, Literal("x", "", "en")),
]
QUADS: list[Tuple] = [*TRIPLES, (A, P, Literal("05", XSD + "integer"), G), (A, P, A, BlankNode("g"))]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.text(st.sampled_from("abzé0_-./:'&"), max_size=6)
iris = st.one_of(names.map("http://e/{}".format), names.map("urn:x{}".format)).map(IRI)
labels = st.from_regex(r"[a-zé0-9]([a-z0-9.-]*[a-z0-9])?", fullmatch=True).filter(lambda label: len(label) < 16)
literals = st.one_of(
    texts, st.integers(-(10**6), 10**6), st.builds(lambda text, name: literal(text, f"urn:{name}"), texts, st.sampled_from("ab"))
)
objects: st.SearchStrategy[Term] = st.one_of(
    iris, labels.map(BlankNode), literals, st.builds(Literal, texts, st.just(""), st.just("de"))
)
subjects = st.one_of(iris, labels.map(BlankNode))
graphs = st.one_of(st.just(()), st.tuples(subjects))
tuples = st.builds(lambda *items: (*items[:3], *items[3]), subjects, iris, objects, graphs)


def read(parts: Iterator[bytes], format: str) -> set[Tuple]:
    return set(read_tuples(io.BytesIO(b"".join(parts)), format))


@pytest.mark.parametrize("format", list(MEDIA_TYPES))
def test_every_format_comes_back_as_it_was(format: str) -> None:
    given = QUADS if format in WITH_GRAPHS else TRIPLES

    assert read(write_tuples(given, format), format) == set(given)


@pytest.mark.parametrize("format", list(MEDIA_TYPES))
@given(many=st.lists(tuples, max_size=6))
def test_whatever_is_written_comes_back_and_the_rest_is_told(format: str, many: list[Tuple]) -> None:
    given = [items for items in many if len(items) == 3 or format in WITH_GRAPHS]
    left_out: list[Tuple] = []

    found = read(write_tuples(given, format, left_out=lambda items, _: left_out.append(items)), format)

    assert found == set(given) - set(left_out)
    assert format == "rdf" or not left_out


@pytest.mark.parametrize("format", list(MEDIA_TYPES))
def test_many_tuples_come_in_parts(format: str) -> None:
    given: list[Tuple] = [(IRI(f"http://e/{number}"), P, number) for number in range(3 * BATCH)]

    parts = list(write_tuples(given, format))

    assert len(parts) > 2
    assert format not in ("rdf", "jsonld") or max(map(len, parts)) == PART_BYTES
    assert read(iter(parts), format) == set(given)


@pytest.mark.parametrize("format", ["nt", "nq", "ttl", "trig", "n3"])
def test_the_first_part_is_there_before_the_last_tuple(format: str) -> None:
    taken: list[int] = []

    def many() -> Iterator[Tuple]:
        for number in range(10 * BATCH):
            taken.append(number)
            yield A, P, number

    next(write_tuples(many(), format))

    assert len(taken) == BATCH


@pytest.mark.parametrize("format", [name for name in MEDIA_TYPES if name not in WITH_GRAPHS])
def test_a_format_without_graphs_refuses_them_by_name(format: str) -> None:
    with pytest.raises(Unsupported) as caught:
        list(write_tuples(QUADS, format, left_out=print))

    assert str(caught.value) == (
        f"{MEDIA_TYPES[format]} has no named graphs, and a tuple is of <http://e/g>; "
        "expected one of application/n-quads, application/trig, application/ld+json"
    )


NO_RDF: list[tuple[Tuple, str]] = [
    ((Symbol("kitchen"), P, 5), "kitchen is no subject, which is an IRI or a blank node"),
    ((A, P, Symbol("on")), "on is no term of RDF"),
    ((A, BlankNode("p"), 5), "a blank node is no predicate"),
    ((A, P, 5, "g"), '"g" is no graph, which is an IRI or a blank node'),
    ((A, P), "a tuple of 2 is neither a triple nor a quad"),
    ((A, P, 1, G, G), "a tuple of 5 is neither a triple nor a quad"),
    ((IRI("a"), P, 5), "No scheme found in an absolute IRI"),
    ((A, P, Literal("x", "", "zh-classical")), "A subtag may be eight characters in length at maximum"),
    ((A, P, "\ud800"), "the character U+D800 cannot stand in application/n-quads"),
]


@pytest.mark.parametrize(("items", "why"), NO_RDF)
def test_what_is_no_rdf_is_refused_unless_somebody_is_told(items: Tuple, why: str) -> None:
    told: list[tuple[Tuple, str]] = []

    found = read(write_tuples([items, TRIPLES[0]], "nq", left_out=lambda *one: told.append(one)), "nq")

    assert found == {TRIPLES[0]}
    assert told == [(items, why)]
    with pytest.raises(Unsupported, match=r"cannot be written: .*; leave it out, or write a GSG script"):
        list(write_tuples([items], "nq"))


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ((A, IRI("http://e/1"), 5), "RDF/XML has no predicate without a local name, such as <http://e/1>"),
        ((A, P, "\x01"), "the character U+0001 cannot stand in application/rdf+xml"),
        ((A, P, "a\rb"), "the character U+000D cannot stand in application/rdf+xml"),
        ((BlankNode("0a"), P, 5), "RDF/XML has no blank node whose label begins with a digit, such as _:0a"),
    ],
)
def test_what_rdf_xml_cannot_say_is_told(items: Tuple, why: str) -> None:
    told: list[tuple[Tuple, str]] = []

    found = read(write_tuples([items, TRIPLES[0]], "rdf", left_out=lambda *one: told.append(one)), "rdf")

    assert (found, told) == ({TRIPLES[0]}, [(items, why)])


def test_a_mistake_among_what_is_written_is_not_lost_in_the_library() -> None:
    def broken() -> Iterator[Tuple]:
        yield TRIPLES[0]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(write_tuples(broken(), "rdf"))


@pytest.mark.parametrize(
    ("media_type", "format"),
    [
        *((media_type, name) for name, media_type in MEDIA_TYPES.items()),
        ("Text/Turtle; charset=utf-8", "ttl"),
        ("application/x-turtle", "ttl"),
        ('application/ld+json;profile="http://www.w3.org/ns/json-ld#streaming"', "jsonld"),
    ],
)
def test_a_media_type_names_its_format(media_type: str, format: str) -> None:
    assert format_of_media_type(media_type) == format


@pytest.mark.parametrize("media_type", ["text/html", "", "*/*", "turtle"])
def test_another_media_type_is_answered_by_those_known(media_type: str) -> None:
    with pytest.raises(Unsupported, match=r"is no media type of RDF; known are application/n-triples, .*application/ld\+json"):
        format_of_media_type(media_type)


def test_a_script_is_not_written() -> None:
    with pytest.raises(Unsupported, match="the format 'gsg' is not written; known are nt, nq, ttl, trig, n3, rdf, jsonld"):
        write_tuples([], "gsg")
