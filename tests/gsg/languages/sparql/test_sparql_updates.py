"""What updates retract and insert, form by form, and what their authors read where they cannot be taken."""

from __future__ import annotations

from contextlib import suppress

import pytest

from gsg.errors import BadText, GsgError, LocalError, TooLarge, Unsupported
from gsg.languages.sparql.updates import Changes, Operation, parse_update
from gsg.space import Space
from gsg.subscriptions.backlog import LIMIT
from gsg.tuples.terms import IRI, BlankNode, Literal, Symbol, Tuple

PROLOGUE = "PREFIX : <http://e/>\n"
A, B, C, P, Q, G, H = (IRI(f"http://e/{name}") for name in "abcpqgh")
FACTS: tuple[Tuple, ...] = ((A, P, B), (B, P, C), (A, Q, 1), (A, P, B, G), (C, P, A, G), (B, Q, 2, H))


def done(operation: Operation, facts: set[Tuple]) -> Changes:
    """What an operation changes where these facts are."""
    space = Space()
    space.insert(facts)
    return operation.changes(() if operation.query is None else space._subscribe(operation.query, None, LIMIT).rows().elements())


def after(text: str, facts: tuple[Tuple, ...] = FACTS, **options: tuple[str, ...]) -> set[Tuple]:
    """What is there after an update."""
    there = set(facts)
    for operation in parse_update(PROLOGUE + text, **options):  # type: ignore[arg-type]  # graphs, as the tests give them
        changes = done(operation, there)
        there = (there - set(changes.retracted)) | set(changes.inserted)
    return there


def gone_and_come(text: str, **options: tuple[str, ...]) -> tuple[set[Tuple], set[Tuple]]:
    there = after(text, **options)
    return set(FACTS) - there, there - set(FACTS)


@pytest.mark.parametrize(
    ("text", "gone", "come"),
    [
        pytest.param(
            "INSERT DATA { :a :p :c ; :q 01 , 1 }", [], [(A, P, C), (A, Q, Literal("01", "xsd:integer"))], id="insert data"
        ),
        pytest.param(
            "INSERT DATA { :c :p :c GRAPH :h { :c :p :c } :c :q 1 }", [], [(C, P, C), (C, P, C, H), (C, Q, 1)], id="quads"
        ),
        pytest.param("DELETE DATA { :a :p :b . :c :c :c GRAPH :g { :c :p :a } }", [(A, P, B), (C, P, A, G)], [], id="delete data"),
        pytest.param("DELETE WHERE { ?s :p ?o }", [(A, P, B), (B, P, C)], [], id="delete where"),
        pytest.param("DELETE WHERE { GRAPH ?g { ?s :p ?o } ?s :q 1 }", [(A, P, B, G), (A, Q, 1)], [], id="delete where in graphs"),
        pytest.param("DELETE { ?s :p ?o } INSERT { ?o :p ?s } WHERE { ?s :p ?o }", [(A, P, B), (B, P, C)], [(B, P, A), (C, P, B)]),
        pytest.param("DELETE { ?s :p ?o } INSERT { ?s :p ?o } WHERE { ?s :p ?o }", [], [], id="what is inserted stays"),
        pytest.param("INSERT { GRAPH ?g { ?s :q ?n } } WHERE { GRAPH ?g { ?s :p ?o } ?s :q ?n }", [], [(A, Q, 1, G)], id="into ?g"),
        pytest.param("WITH :g DELETE { ?s :p ?o } INSERT { ?s :q :b } WHERE { ?s :p :b }", [], [(A, Q, B, G)], id="unbound"),
        pytest.param("WITH :g DELETE { ?s :p :b } WHERE { ?s :p :b }", [(A, P, B, G)], [], id="with"),
        pytest.param("WITH :g INSERT { ?s :p ?s } WHERE { GRAPH ?h { ?s :q 2 } }", [], [(B, P, B, G)], id="with, and other graphs"),
        pytest.param("INSERT { ?s :p ?s } USING :g WHERE { ?s :p :a GRAPH ?x {} }", [], [], id="using has no named graphs"),
        pytest.param("INSERT { ?s :p ?s } USING :g USING :h WHERE { ?s ?p 2 }", [], [(B, P, B)], id="using two graphs"),
        pytest.param("INSERT { ?s :p ?s } USING NAMED :h WHERE { GRAPH ?g { ?s ?p ?o } }", [], [(B, P, B)], id="using named"),
        pytest.param("INSERT { ?o :p ?s . ?s ?o :b . ?s :p ?no } WHERE { ?s :q ?o }", [], [], id="no triples of RDF"),
        pytest.param("CLEAR GRAPH :g", [(A, P, B, G), (C, P, A, G)], [], id="clear"),
        pytest.param("DROP SILENT GRAPH :none", [], [], id="drop what is not there"),
        pytest.param("CLEAR DEFAULT", list(FACTS[:3]), [], id="clear default"),
        pytest.param("DROP NAMED", list(FACTS[3:]), [], id="drop named"),
        pytest.param("CLEAR ALL", list(FACTS), [], id="clear all"),
        pytest.param("CREATE GRAPH :new", [], [], id="create"),
        pytest.param("ADD :h TO :g", [], [(B, Q, 2, G)], id="add"),
        pytest.param("ADD DEFAULT TO GRAPH :g", [], [(B, P, C, G), (A, Q, 1, G)], id="add default"),
        pytest.param("COPY :g TO DEFAULT", [(B, P, C), (A, Q, 1)], [(C, P, A)], id="copy"),
        pytest.param("MOVE :g TO :h", [(A, P, B, G), (C, P, A, G), (B, Q, 2, H)], [(A, P, B, H), (C, P, A, H)], id="move"),
        pytest.param("MOVE :g TO :g ; COPY DEFAULT TO DEFAULT ; ADD :h TO :h", [], [], id="onto itself"),
        pytest.param("COPY :none TO :h", [(B, Q, 2, H)], [], id="copy of nothing"),
        pytest.param("INSERT DATA { :c :q 3 } ; DELETE { ?s :q ?n } WHERE { ?s :q ?n FILTER(?n > 2) }", [], [], id="in order"),
        pytest.param(
            "PREFIX p: <http://e/> INSERT DATA { p:c p:p p:c } ; PREFIX p: <x:x> BASE <http://e/> DELETE DATA { <a> :q 1 } ;",
            [(A, Q, 1)],
            [(C, P, C)],
            id="prologues",
        ),
        pytest.param("# nothing to do", [], [], id="nothing"),
    ],
)
def test_an_update_retracts_and_inserts(text: str, gone: list[Tuple], come: list[Tuple]) -> None:
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    expected = {tuple(Literal(i.lexical, integer) if isinstance(i, Literal) else i for i in fact) for fact in come}

    assert gone_and_come(text) == (set(gone), expected)


def test_the_request_may_say_the_graphs_that_are_asked() -> None:
    text = "INSERT { ?s :q ?s } WHERE { ?s :p ?o GRAPH ?g {} }"

    assert gone_and_come(text, using_graphs=("http://e/g",)) == (set(), set())
    assert gone_and_come(text, using_graphs=("http://e/g",), using_named_graphs=("http://e/h",)) == (set(), {(A, Q, A), (C, Q, C)})


def test_tuples_that_are_no_triples_of_rdf_are_left_alone() -> None:
    others: tuple[Tuple, ...] = ((Symbol("kitchen"), Symbol("temperature"), 21), (A, P, B, Symbol("x")), (A, P))

    assert after("CLEAR ALL", (*FACTS, *others)) == set(others)


def test_blank_nodes_of_a_template_are_new_for_each_solution_and_each_request() -> None:
    text = "INSERT { ?s :q _:x . _:x :q [ :p 1 ] } WHERE { ?s :p ?o }"

    made = after(text, FACTS[:2]) - set(FACTS) | after(text, FACTS[:2]) - set(FACTS)

    nodes = {item for fact in made for item in fact if type(item) is BlankNode}
    assert len(made) == 12
    assert len(nodes) == 8


def test_blank_nodes_of_data_are_one_within_a_request_and_new_in_another() -> None:
    text = "INSERT DATA { _:x :p 1 . GRAPH :g { _:x :p 2 } }"

    first, second = after(text, ()), after(text, ())

    assert len({fact[0] for fact in first}) == 1
    assert first.isdisjoint(second)


def test_equal_solutions_are_told_apart_where_the_template_has_blank_nodes() -> None:
    (operation,) = parse_update(PROLOGUE + "INSERT { ?s :q [] } WHERE { { ?s :p :b } UNION { ?s :p :b } }")

    assert len(done(operation, set(FACTS)).inserted) == 2


def test_two_operations_have_their_own_chance() -> None:
    text = "INSERT { :a :q ?u } WHERE { BIND(UUID() AS ?u) }"

    assert len(after(f"{text} ; {text}", ())) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "INSERT DATA { :a :p ?x }",
            "update line 2, column 21: a variable in INSERT DATA; expected constants alone, or INSERT ... WHERE, "
            "which takes variables\n    INSERT DATA { :a :p ?x }\n"
            "                        ^",
        ),
        (
            "DELETE DATA { GRAPH ?g { :a :p :b } }",
            "update line 2, column 21: a variable in DELETE DATA; expected constants alone, or DELETE WHERE, which takes variables"
            "\n    DELETE DATA { GRAPH ?g { :a :p :b } }\n"
            "                        ^",
        ),
        (
            "DELETE { ?s :p _:x } WHERE { ?s :p ?o }",
            "update line 2, column 16: a blank node in DELETE names nothing that is there; expected a variable, and WHERE\n"
            "    DELETE { ?s :p _:x } WHERE { ?s :p ?o }\n"
            "                   ^",
        ),
        (
            "INSERT DATA { _:x :p 1 } ;\nINSERT DATA { :a :p _:x }",
            "update line 3, column 21: _:x stands in an INSERT DATA before this one, too; expected another label, or both in one "
            "INSERT DATA\n    INSERT DATA { :a :p _:x }\n                        ^",
        ),
        (
            "INSRT DATA { :a :p 1 }",
            'update line 2, column 1: unexpected "INSRT"; expected INSERT, DELETE, WITH, CLEAR, DROP, CREATE, ADD, MOVE or COPY; '
            "did you mean INSERT?\n    INSRT DATA { :a :p 1 }\n    ^",
        ),
        (
            "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTR(?o > 1) }",
            'update line 2, column 38: unknown word "FILTR"; expected a keyword, a variable or a term; did you mean FILTER?\n'
            "    DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTR(?o > 1) }\n"
            "                                         ^",
        ),
    ],
)
def test_a_mistake_is_shown_with_its_place(text: str, message: str) -> None:
    with pytest.raises(BadText) as caught:
        parse_update(PROLOGUE + text)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text", ["DELETE WHERE { [] :p ?o }", "DELETE DATA { :a :p (1) }", "DELETE { ?s :p [] } WHERE { ?s :p ?o }"]
)
def test_what_is_deleted_has_no_blank_nodes(text: str) -> None:
    with pytest.raises(BadText, match="names nothing that is there"):
        parse_update(PROLOGUE + text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("LOAD <http://e/x>", r"LOAD is not supported: nothing is fetched .* \(line 2, column 1\)"),
        ("INSERT DATA {} ; LOAD SILENT <x> INTO GRAPH :g", r"LOAD is .* \(line 2, column 18\)"),
        ("INSERT { ?s :p ?o } WHERE { SERVICE :x { ?s :p ?o } }", r"SERVICE is .* \(line 2, column 29\)"),
    ],
)
def test_what_is_not_done_is_refused_by_name_and_place(text: str, said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        parse_update(PROLOGUE + text)


@pytest.mark.parametrize(
    "clause", ["WITH :g DELETE { ?s ?p ?o }", "DELETE { ?s ?p ?o } USING :g", "DELETE { ?s ?p ?o } USING NAMED :g"]
)
def test_a_text_that_says_its_graphs_is_refused_beside_a_request_that_does(clause: str) -> None:
    with pytest.raises(BadText, match="says which graphs are asked, and so does the request"):
        parse_update(f"{PROLOGUE}{clause} WHERE {{ ?s ?p ?o }}", using_graphs=["http://e/h"])


@pytest.mark.parametrize(
    "text", ["SELECT * { ?s ?p ?o }", "INSERT DATA {} INSERT DATA {}", "INSERT DATA {};;", "CLEAR", "COPY :a :b"]
)
def test_what_is_no_update_is_refused(text: str) -> None:
    with pytest.raises(BadText):
        parse_update(PROLOGUE + text)


def test_a_long_update_is_read_without_recursion() -> None:
    operations = parse_update(PROLOGUE + " ; ".join(f"INSERT DATA {{ :a :p {number} }}" for number in range(1_500)))

    assert len(operations) == 1_500


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(LocalError, match="a text of 200100 characters; expected at most 200000"):
        parse_update(" " * 200_100)


LONG = (
    "PREFIX : <x:> WITH :g DELETE { ?s :p 1.5 } INSERT { _:b :p (1 [ :q 'x'@en ]) } USING NAMED :h WHERE { GRAPH ?g { ?s :p+ 1 } }"
)


@pytest.mark.parametrize("cut", range(0, len(LONG), 3))
def test_parts_of_a_text_are_read_or_refused(cut: int) -> None:
    for piece in (LONG[:cut], LONG[cut:], LONG[:cut] + "}" + LONG[cut:]):
        with suppress(GsgError):
            assert parse_update(piece) is not None


def test_an_operation_that_makes_too_much_of_few_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.languages.sparql.updates.MAX_CHANGED", 3)
    template = "<urn:a> <urn:p> ?o . <urn:b> <urn:p> ?o"
    [operation] = parse_update(f"INSERT {{ {template} }} WHERE {{ ?s ?p ?o }}")

    assert len(done(operation, {(IRI("urn:s"), IRI("urn:q"), 1)}).inserted) == 2
    with pytest.raises(TooLarge, match="would change more than 3 tuples; expected a WHERE with fewer solutions"):
        done(operation, {(IRI("urn:s"), IRI("urn:q"), number) for number in range(3)})
