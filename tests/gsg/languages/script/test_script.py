"""GSG script: what it reads, what it writes, and what its mistakes say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rete
from gsg.errors import BadQuery, BadTerm, BadText, Unsupported
from gsg.languages.blocks import Delete, Insert, Notify, Subscribe
from gsg.languages.script import grammar as _grammar
from gsg.languages.script import parse, parse_query, write_insert
from gsg.tuples.terms import IRI, XSD, BlankNode, Compound, List, Literal, Symbol, Term, Variable, fact, literal, term

SEED = Path(__file__).resolve().parents[5] / "shared" / "seeds" / "001_6077f5359eb823b0.txt"

FIGURE_2 = """
SUBSCRIBE {
    (?x, ^on, ?y),
    (?y, ^left-of, ?z),
    NOT {
        (?z, ^color, red),
        (?z, ^color, green),
        (?z, ^color, blue)
    }
}

INSERT {
    (B1, ^on,B2),
    (B3, ^color,green),
    (B1, ^on,B3),
    (B1, ^color,red),
    (B7, ^color,red),
    (B2, ^on,table),
    (B2, ^left-of,B3)
}
"""


def symbols(*names: str) -> tuple[Symbol, ...]:
    return tuple(map(Symbol, names))


def condition(*items: object) -> rete.Condition:
    """A condition in which ``?x`` is a variable, ``*`` a wildcard and any other string a symbol."""
    kinds = {"?": lambda text: rete.Variable(text[1:]), "*": lambda _: rete.WILDCARD}
    return rete.Condition(tuple(kinds.get(item[0], Symbol)(item) if isinstance(item, str) else item for item in items))


def test_figure_2_works_as_printed() -> None:
    subscribe, insert = parse(FIGURE_2)

    assert isinstance(subscribe, Subscribe)
    assert subscribe.query.body == rete.Group(
        (condition("?x", "on", "?y"), condition("?y", "left-of", "?z")),
        (rete.Group((condition("?z", "color", "red"), condition("?z", "color", "green"), condition("?z", "color", "blue"))),),
    )
    assert subscribe.query.select == ("x", "y", "z")
    assert insert == Insert(
        (
            symbols("B1", "on", "B2"),
            symbols("B3", "color", "green"),
            symbols("B1", "on", "B3"),
            symbols("B1", "color", "red"),
            symbols("B7", "color", "red"),
            symbols("B2", "on", "table"),
            symbols("B2", "left-of", "B3"),
        )
    )


@pytest.mark.skipif(not SEED.exists(), reason=f"{SEED} is not here")
def test_figure_2_is_the_one_of_the_paper() -> None:
    paper = SEED.read_text("utf-8")

    assert FIGURE_2.split() == paper[paper.index("SUBSCRIBE {") : paper.index("```", paper.index("SUBSCRIBE {"))].split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on", Symbol("on")),
        ("^on", Symbol("on")),
        ("left-of", Symbol("left-of")),
        ("_under", Symbol("_under")),
        ("straße", Symbol("straße")),
        ("映画", Symbol("映画")),
        ("true", Symbol("true")),
        ("not", Symbol("not")),
        ("insert", Symbol("insert")),
        ("NOTIFY", Symbol("NOTIFY")),
        ("'odd name'", Symbol("odd name")),
        ("^'odd name'", Symbol("odd name")),
        (r"'it\'s \\ \u00e9'", Symbol("it's \\ é")),
        ("''", Symbol("")),
        ('""', ""),
        ('"a # b"', "a # b"),
        (r'"\"\\\n\t\r\b\f\'\u00e9\U0001F3AC"', "\"\\\n\t\r\b\f'é🎬"),
        ('"a\x00b"', "a\x00b"),
        ('"\u2028\x85"', "\u2028\x85"),
        ('"chat"@fr', Literal("chat", "", "fr")),
        ('"chat"@EN-GB', Literal("chat", "", "en-gb")),
        (f'"5"^^<{XSD}byte>', Literal("5", XSD + "byte")),
        (f'"5" ^^ <{XSD}byte>', Literal("5", XSD + "byte")),
        (f'"5"^^<{XSD}integer>', 5),
        (f'"05"^^<{XSD}integer>', Literal("05", XSD + "integer")),
        (f'"a"^^<{XSD}string>', "a"),
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("007", 7),
        ("-0", 0),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", Literal("9223372036854775808", XSD + "integer")),
        ("9" * 5000, Literal("9" * 5000, XSD + "integer")),
        ("1.5", term(1.5)),
        ("-2.0", term(-2.0)),
        (".5", term(0.5)),
        ("1e5", term(1e5)),
        ("1.5E-7", term(1.5e-7)),
        ("<http://example.org/a#b>", IRI("http://example.org/a#b")),
        (r"<http://example.org/\u00e9>", IRI("http://example.org/é")),
        ("<>", IRI("")),
        ("_:b0", BlankNode("b0")),
        ("_:0.a-b", BlankNode("0.a-b")),
    ],
)
def test_a_term_is_read_alone_and_among_others(text: str, expected: Term) -> None:
    assert parse("INSERT { (%s) (a, %s, b) }" % (text, text)) == (Insert(((expected,), (Symbol("a"), expected, Symbol("b")))),)  # noqa: UP031  # braces
    assert parse_query("(?x, %s)" % text).body == rete.Group((rete.Condition((rete.Variable("x"), expected)),))  # noqa: UP031  # as above


@pytest.mark.parametrize(
    "text",
    [
        "INSERT { (a, b), (c) }",
        "insert{(a,b)(c)}",
        "Insert { (a, b), (c), }",
        "INSERT {\n  (a, b) # the first\n  # and another\n  (c)\n}",
        "INSERT\t{\r\n(a,\r\nb)\r\n(c)\r\n}\r\n",
        "\ufeffINSERT { (a, b,), (c,) }",
        "INSERT { ( a , b ) , ( c ) }#",
    ],
)
def test_layout_commas_and_case_are_free(text: str) -> None:
    assert parse(text) == (Insert((symbols("a", "b"), symbols("c"))),)


def test_blocks_keep_their_order_and_kind() -> None:
    blocks = parse("NOTIFY { (tick, 1) } DELETE { (a) } INSERT { } SUBSCRIBE { (*, ?x) } INSERT { (a) }")

    assert [type(block) for block in blocks] == [Notify, Delete, Insert, Subscribe, Insert]
    assert blocks[2] == Insert(())


def test_a_script_may_be_empty() -> None:
    assert parse(" # nothing to say\n") == ()


def test_plain_tuples_and_others_are_read_alike() -> None:
    plain = '(B1, ^on, "x", <x:y>, 5)'
    same = "(B1, # by the slow road\n ^on, \"x\", <x:y>, '5')"

    (block,) = parse(f"INSERT {{ {plain}, {same}, {plain} }}")

    expected = (Symbol("B1"), Symbol("on"), "x", IRI("x:y"), 5)
    assert block == Insert((expected, (*expected[:4], Symbol("5")), expected))


@pytest.mark.parametrize(
    "text",
    [
        "SUBSCRIBE { (?x, ^on, *), not { (?x, ^color, red), NOT { (?x, ^old) } } }",
        "{ (?x, on, *) NOT { (?x, color, red) NOT { (?x, old) } } }",
        "(?x, on, *), NOT { (?x, color, red), NOT { (?x, old), }, },",
    ],
)
def test_a_query_may_come_with_or_without_its_block(text: str) -> None:
    inner = rete.Group((condition("?x", "old"),))

    assert parse_query(text).body == rete.Group(
        (condition("?x", "on", "*"),), (rete.Group((condition("?x", "color", "red"),), (inner,)),)
    )


def test_a_variable_of_a_not_group_alone_is_not_selected() -> None:
    assert parse_query("(?x, on, ?y), NOT { (?y, on, ?z) }").select == ("x", "y")


CLAUSES = 'a tuple "(", NOT, OPTIONAL, FILTER, LET, "{"'
BLOCKS = "INSERT, DELETE, NOTIFY, SUBSCRIBE or the end of the text"
CONSTANT = 'a constant (a name, "string", number or <iri>)'
TERM = 'a term (?x, *, a name, "string", number or <iri>)'


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("SUBSCIRBE { (?x) }", 1, 1, f'unexpected "SUBSCIRBE"; expected {BLOCKS}; did you mean SUBSCRIBE?'),
        ("hello", 1, 1, f'unexpected "hello"; expected {BLOCKS}'),
        ("INSERT { (a) } }", 1, 16, f'unexpected "}}"; expected {BLOCKS}'),
        ("\x00", 1, 1, f"unexpected character U+0000; expected {BLOCKS}"),
        (
            "(a, b)",
            1,
            1,
            "this tuple stands outside a block; "
            "expected INSERT { ... }, DELETE { ... }, NOTIFY { ... } or SUBSCRIBE { ... } around it",
        ),
        (
            "NOT { (a) }",
            1,
            1,
            "this NOT stands outside a block; expected SUBSCRIBE { ... } around it and the tuples that it restricts",
        ),
        ("SELECT ?x {}", 1, 1, f'"SELECT" begins a SPARQL query, and this text is read as GSG script; expected {BLOCKS}'),
        ("INSERT\n  (a)", 2, 3, 'unexpected "("; expected "{"'),
        ("INSERT ", 1, 7, 'the text ends too early; expected "{"; INSERT on line 1 is not closed'),
        ("\nINSERT {\n (a)\n\n", 3, 5, 'the text ends too early; expected a tuple "(", "," or "}"; INSERT on line 2 is not closed'),
        ("INSERT { (a", 1, 12, 'the text ends too early; expected "," or ")"; INSERT on line 1 is not closed'),
        ("SUBSCRIBE { (?x)", 1, 17, f'the text ends too early; expected {CLAUSES} or "}}"; SUBSCRIBE on line 1 is not closed'),
        (
            "INSERT { (a)\nDELETE { (b) }",
            2,
            1,
            'unexpected "DELETE"; expected a tuple "(", "," or "}"; INSERT on line 1 is not closed',
        ),
        ("INSERT { () }", 1, 11, f'unexpected ")"; expected {CONSTANT}'),
        ("SUBSCRIBE { () }", 1, 14, f'unexpected ")"; expected {TERM}'),
        ("INSERT { (a,,b) }", 1, 13, f'unexpected ","; expected {CONSTANT} or ")"'),
        ("INSERT { (a b) }", 1, 13, 'unexpected "b"; expected "," or ")"'),
        (
            "SUBSCRIBE { (topic, house/kitchen/temp, ?d) }",
            1,
            26,
            'unexpected "/kitchen/temp"; expected "," or ")"; '
            'a text such as the name of a topic is written in double quotes: "house/kitchen/temp"',
        ),
        ("INSERT { a, b }", 1, 10, 'unexpected "a"; expected a tuple "(" or "}"'),
        ("INSERT { (a, ?b) }", 1, 14, '"?b" in INSERT, which takes constants only; variables and wildcards belong in SUBSCRIBE'),
        ("DELETE { (a, *) }", 1, 14, '"*" in DELETE, which takes constants only; variables and wildcards belong in SUBSCRIBE'),
        ("NOTIFY { (?b) }", 1, 11, '"?b" in NOTIFY, which takes constants only; variables and wildcards belong in SUBSCRIBE'),
        ("INSERT { NOT { (a) } }", 1, 10, "NOT in INSERT, which takes tuples only; NOT { ... } belongs in SUBSCRIBE"),
        ("SUBSCRIBE { (?, b) }", 1, 14, '"?" is no variable; a variable is ? and a name, such as ?x'),
        ("SUBSCRIBE { (?x), NTO { (a) } }", 1, 19, f'unexpected "NTO"; expected {CLAUSES} or "}}"; did you mean NOT?'),
        ("INSERT { (a, ^) }", 1, 14, "\"^\" is no attribute; expected ^ and a name, such as ^on or ^'odd name'"),
        (
            "INSERT { (a, 12abc) }",
            1,
            14,
            "\"12abc\" is neither a number nor a name; a name that begins with a digit is written in single quotes: '12abc'",
        ),
        ("INSERT { (a, 1e999) }", 1, 14, '"1e999" is beyond the range of a double, which ends at 1.8e308'),
        (
            "INSERT { (ex:a, b) }",
            1,
            13,
            "a name holds no colon; write a prefixed name in full as <iri>, or the name in single quotes",
        ),
        (
            "INSERT { (a, “b”) }",
            1,
            14,
            '"“" is a typographic quote; expected a plain " around a string or a plain \' around a name',
        ),
        (
            'INSERT {\n(a, "b\n)}',
            2,
            5,
            'this string is not closed on its line; expected a closing " (a line break inside is written \\n)',
        ),
        (
            "INSERT { ('a, b) }",
            1,
            11,
            "this quoted name is not closed on its line; expected a closing ' (a line break inside is written \\n)",
        ),
        (
            r'INSERT { (a, "b\q") }',
            1,
            16,
            r'"\q" is no escape; expected one of \\ \" ' + r"\' \n \t \r \b \f \uXXXX \UXXXXXXXX, or \\ for a backslash",
        ),
        (r"INSERT { (<a\n>) }", 1, 13, r'"\n" is no escape; expected one of \uXXXX \UXXXXXXXX, or \\ for a backslash'),
        (
            r'INSERT { ("\uD83D") }',
            1,
            12,
            r'"\uD83D" is no character; expected a code up to 10FFFF that is no surrogate (D800 to DFFF)',
        ),
        ('INSERT { ("\ud83d") }', 1, 12, "U+D83D is half of a surrogate pair; expected whole characters (is this text UTF-8?)"),
        ("INSERT { (<a b>) }", 1, 11, 'an IRI may not contain " "; write it as %20'),
        ("INSERT { (<a) }", 1, 11, 'this IRI is not closed; expected ">" on the same line'),
        ('INSERT { ("a"@1) }', 1, 14, '"@1" is no language tag; expected one such as @fr or @en-gb'),
        ('INSERT { ("5"^^b) }', 1, 16, f'unexpected "b"; expected a datatype such as <{XSD}date>'),
        ('INSERT { ("5"^^<>) }', 1, 16, "the datatype is empty; expected an IRI between < and >"),
        (
            "INSERT { (a) } SUBSCRIBE { NOT { (a) } }",
            1,
            16,
            "a subscription needs at least one tuple outside NOT, such as (?x, ^on, ?y): nothing else binds its variables",
        ),
        ("SUBSCRIBE { (?x) NOT { } }", 1, 18, "this NOT group is empty and would refuse every row; expected a tuple in it"),
        ("SUBSCRIBE {" + "(?x)" * 129 + "}", 1, 1, "a subscription of 129 tuples; expected at most 128: split it into several"),
        ("INSERT { (" + "1," * 256 + ") }", 1, 10, "a tuple of 256 terms; expected at most 255"),
        ("SUBSCRIBE { (?x) " + "NOT {" * 33 + "(a)" + "}" * 34, 1, 18, "groups in braces are nested more than 32 deep"),
    ],
)
def test_a_mistake_is_told_by_place_finding_and_expectation(text: str, line: int, column: int, problem: str) -> None:
    with pytest.raises(BadText) as caught:
        parse(text)

    assert (caught.value.line, caught.value.column, caught.value.problem) == (line, column, problem)


def test_the_message_shows_the_line_and_a_caret_below_the_place() -> None:
    with pytest.raises(BadText) as caught:
        parse("INSERT {\n\t(a, \x1b b)\r\n}", what="blocks.gsg")

    assert str(caught.value) == (
        'blocks.gsg line 2, column 6: unexpected character U+001B; expected a constant (a name, "string", number or <iri>) or ")"\n'
        "    \t(a, \N{REPLACEMENT CHARACTER} b)\n"
        "    \t    ^"
    )


def test_a_place_far_to_the_right_is_shown_by_what_stands_before_it() -> None:
    with pytest.raises(BadText, match=re.escape(r"belong in SUBSCRIBE (after ...a, a, a, a, a, a, a, a, a, a, )")) as caught:
        parse("INSERT { (" + "a, " * 100 + "?x) }")

    assert caught.value.source_line == ""


def test_a_long_line_is_cut_in_the_message() -> None:
    with pytest.raises(BadText) as caught:
        parse("x" * 10_000)

    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a subscription needs at least one tuple outside NOT, such as (?x, ^on, ?y): nothing else binds its variables"),
        (
            "{ NOT { (a) } }",
            "a subscription needs at least one tuple outside NOT, such as (?x, ^on, ?y): nothing else binds its variables",
        ),
        (
            "INSERT { (a) }",
            f"INSERT publishes, and this text is read as a query; expected SUBSCRIBE, {CLAUSES} or the end of the text, or `gsg p",
        ),
        ("SUBSCRIBE { (?x) } SUBSCRIBE { (?y) }", 'unexpected "SUBSCRIBE"; expected the end of the text'),
        ("{ (?x)", f'the text ends too early; expected {CLAUSES} or "}}"'),
        ("notify { (a, b) }", "or `gsg publish -e` for a block such as NOTIFY { (lamp, on) }"),
        ("DELETE DATA { <http://e/a> <http://e/b> 1 }", '"DELETE" begins a SPARQL update, and this text is read as GSG'),
        ("DELETE { (a, b) }", "DELETE publishes, and this text is read as a query; "),
        (
            "(?x, ^age, ?a) ORDER BY ?a LIMIT 1",
            "ORDER BY stands after the braces of SUBSCRIBE; expected SUBSCRIBE { ... } around what stands before it",
        ),
        (
            "{ (?x) FILTER ?x > 3 } LIMIT 1",
            "LIMIT stands after the braces of SUBSCRIBE; expected SUBSCRIBE { ... } around what stands before it",
        ),
    ],
)
def test_what_is_not_one_query_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadText, match=f"^subscription line 1, column .*{re.escape(problem)}"):
        parse_query(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("SUBSCRIBE { (?x) " + "NOT {" * 100_000, id="not groups"),
        pytest.param("{" * 1_000_000, id="braces"),
        pytest.param("INSERT { " + "(" * 1_000_000, id="parentheses"),
        pytest.param("INSERT { (" + "a" * 1_000_000, id="name"),
        pytest.param('INSERT { ("' + "a" * 1_000_000, id="string"),
        pytest.param("\x00" * 1_000_000, id="zeros"),
        pytest.param("INSERT { (a, " + "(a, " * 100_000, id="nested tuples"),
        pytest.param("SUBSCRIBE { (?x) FILTER ?x > " + "(" * 100_000, id="parentheses of an expression"),
        pytest.param("SUBSCRIBE { (?x) FILTER ?x > " + "!" * 100_000, id="operators"),
        pytest.param("SUBSCRIBE { (?x) FILTER ?x > " + "1 + " * 100_000 + "1 }", id="sum"),
        pytest.param(
            "SUBSCRIBE { (?x) FILTER " + ("1 + " * 100 + "IF(EXISTS { (?x) FILTER ") * 30 + "?x" + "}, 1, 2)" * 30 + "}",
            id="exists",
        ),
        pytest.param("SUBSCRIBE { (?x) " + "FILTER ?x > 1 " * 20_000 + "}", id="filters"),
        pytest.param("SUBSCRIBE { (?x) FILTER ?x > 1 " + "&& ?x > 1 " * 20_000 + "}", id="conjunction"),
        pytest.param("SUBSCRIBE { (?x) { }" + " UNION { }" * 20_000 + "}", id="union"),
        pytest.param("SUBSCRIBE " + ", ".join(f"?x AS ?x{number}" for number in range(5_000)) + " { (?x) }", id="selection"),
    ],
)
def test_large_and_deep_mistakes_are_answered_like_small_ones(text: str) -> None:
    with pytest.raises(BadText):
        parse(text)


def test_large_insert_blocks_are_read_by_the_road_for_plain_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    text = write_insert((Symbol(f"B{number}"), Symbol("on"), f"n{number}") for number in range(20_000))
    made: list[str] = []
    plain_term = _grammar._plain_term
    monkeypatch.setattr(_grammar, "_plain_term", lambda part: made.append(part) or plain_term(part))

    (block,) = parse(text)

    assert isinstance(block, Insert)
    assert len(block.tuples) == 20_000
    # Each term once, whatever tuples it stands in; by the grammar's other rules it would be none.
    assert len(made) == len(set(made)) == 40_001


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
terms: st.SearchStrategy[Term] = st.one_of(
    texts,
    st.integers().map(term),
    st.floats().map(term),
    st.booleans().map(term),
    texts.map(Symbol),
    st.sampled_from(["a", "left-of", "not", "x1", "é"]).map(Symbol),
    texts.map(IRI),
    st.from_regex(r"[A-Za-z0-9_]([\w.-]*[\w-])?", fullmatch=True).map(BlankNode),
    st.builds(literal, texts, texts, st.just("")),
    st.builds(literal, texts, st.just(""), st.from_regex(r"[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})?", fullmatch=True)),
)


@given(st.lists(st.lists(terms, min_size=1, max_size=6).map(fact)))
def test_what_is_written_is_read_back(tuples: list[tuple[Term, ...]]) -> None:
    assert parse(write_insert(tuples)) == (Insert(tuple(tuples)),)


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ((Variable("x"),), "?x in (?x) cannot be written in GSG script; expected names, strings, numbers and RDF terms"),
        ((Compound((Symbol("f"), 1)),), "f(1) in (f(1)) cannot be written"),
        ((List((1,)),), "[1] in ([1]) cannot be written"),
        ((BlankNode("a b"),), "_:a\\u0020b in (_:a\\u0020b) cannot be written"),
        (("\ud800",), "U+D800 is half of a surrogate pair, which no file can hold"),
    ],
)
def test_what_the_language_has_no_words_for_is_not_written(items: tuple[Term, ...], problem: str) -> None:
    with pytest.raises(BadTerm, match=re.escape(problem)):
        write_insert([items])


WORDS = """INSERT subscribe NOT NOTIFY WINDOW s EVENTS
FILTER OPTIONAL UNION LET = DISTINCT AS COUNT STRLEN( EXISTS IN && || + / < >= ! GROUP BY
HAVING ORDER LIMIT OFFSET SUBSCRIBE (?x,?y) {(?x)} { } ( ) , ?x * ^ ^on a-b "s" " ' 'q' < <i> @en ^^ _:b 1 1.5 1e # \\ : -"""
pieces = st.sampled_from([*WORDS.split(), "\n", " ", "\x00", "\ud800", "é"])


def refusal(read: Callable[[str], object], text: str) -> BadText | None:
    try:
        read(text)
    except BadText as error:
        return error
    except (BadQuery, Unsupported):
        pass  # of the query as a whole, which has no place
    return None


@settings(max_examples=500)
@given(st.one_of(st.text(), st.lists(pieces).map("".join), st.lists(pieces).map(" ".join)))
def test_any_text_is_parsed_or_answered_by_its_place(text: str) -> None:
    for error in filter(None, (refusal(parse, text), refusal(parse_query, text))):
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
        assert str(error).encode()
