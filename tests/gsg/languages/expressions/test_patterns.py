"""Patterns of XPath: what they match, and that none takes more than its bounds, whoever wrote it."""

from __future__ import annotations

import re
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.languages.expressions.errors import ExpressionError
from gsg.languages.expressions.patterns import patterns
from gsg.languages.expressions.patterns.patterns import compiled, replacement
from gsg.languages.expressions.patterns.syntax import BadPattern

LONGEST = 1_000


@pytest.mark.parametrize(
    ("pattern", "flags", "matching", "others"),
    [
        ("^(a+)+$", "", ["aaa"], ["a" * 40 + "!", ""]),
        ("^(?:(x+x+)+y)$", "", ["xxy"], ["x" * 60]),
        ("[a-z-[aeiou]]", "", ["b"], ["a", "B"]),
        ("^[^a-c-[x-z]]$", "", ["d", "-"], ["a", "y"]),
        ("^[a-z-[b-y-[m]]]$", "", ["a", "m", "z"], ["b", "n"]),
        ("[a-c-[a-c]]", "", [], ["a", "b", ""]),
        ("^[A-Z-[IO]]$", "i", ["a", "K", "k"], ["i", "O"]),
        ("^[^q]$", "i", ["r"], ["q", "Q"]),
        ("^k$", "i", ["K", "k", "\N{KELVIN SIGN}"], ["x"]),
        ("^σ$", "i", ["Σ", "ς"], ["s"]),
        (r"^\p{Lu}$", "i", ["Ä"], ["ä"]),
        (r"^\p{IsGreek}\p{IsLatin-1Supplement}$", "", ["αé"], ["ae"]),
        (r"^\P{IsBasicLatin}+$", "", ["äö"], ["ab"]),
        (r"^\i\c*$", "", ["a-1.b", "_:x"], ["1a", "-"]),
        (r"^\I\C$", "", ["1 "], ["a "]),
        (r"^[\i-[:]][\c-[:]]*$", "", ["name"], ["a:b"]),
        (r"^\w+$", "", ["a+1", "é"], ["a b", "a.b"]),
        (r"^\p{Cn}$", "", ["\u0378"], ["a"]),
        (r"^\d\D\s\S\W$", "", ["٣a\t!."], ["aa\ta."]),
        (r"^[\n\r\t\\\-\]\[]+$", "", ["\n\r\t\\-]["], ["n"]),
        ("a$", "", ["ba"], ["a\n"]),
        ("^b$", "m", ["a\nb\nc"], ["a b c"]),
        ("a.b", "", ["a\rb"], ["a\nb"]),
        ("a.b", "s", ["a\nb"], ["ab"]),
        ("a b[ ]c", "x", ["ab c"], ["a b c"]),
        ("a+(b", "q", ["xa+(b"], ["aab"]),
        ("A.", "qi", ["a."], ["ab"]),
        ("a{2,3}?b{0}c{1,}", "", ["aacc"], ["ac"]),
        ("", "", ["", "a"], []),
    ],
)
def test_a_pattern_matches_as_xpath_says(pattern: str, flags: str, matching: list[str], others: list[str]) -> None:
    found = compiled(pattern, flags)

    assert [text for text in chain(matching, others) if found.matches(text)] == matching


@pytest.mark.parametrize(
    ("pattern", "position", "problem"),
    [
        (r"^(a)\1$", 4, r'the back-reference "\\1" is not supported: it cannot be matched in linear time'),
        ("(?=a)b", 0, r'"\(\?=" is no group of XPath'),
        ("a(?i)b", 1, r'"\(\?i" is no group of XPath'),
        (r"\bword", 0, r'"\\b" is no escape of XPath'),
        (r"a\p{Xx}", 1, "names no category or block of Unicode"),
        (r"\p{IsNowhere}", 0, "names no category or block of Unicode"),
        ("[abc", 0, r'this "\[" is never closed'),
        ("(abc", 3, r'a "\(" is never closed'),
        ("ab)", 2, r'this "\)" closes nothing'),
        ("a]", 1, r'this "\]" closes nothing'),
        ("a++", 1, "one quantifier after another"),
        ("|*", 1, 'there is nothing before "\\*" that could be repeated'),
        ("a{3,2}", 1, '"{3,2}" ends before it begins'.replace("{", r"\{")),
        ("a{1001}", 1, "repeats more than 1,000 times"),
        ("[z-a]", 0, 'the range "z-a" ends before it begins'),
        (r"[\d-z]", 0, "a range of what is no single character"),
        ("[]", 0, "a class without a character"),
        ("[a-[b]c]", 0, "a class that is subtracted stands last"),
        ("[a[b]]", 0, r'a "\[" inside a class'),
        ("a\\", 1, "the pattern ends too early"),
        ("(a{1000}){1000}", 9, "a pattern of more than 3,000 items, repetitions included"),
        (r"\w{1,200}", 0, "a pattern that needs more than 512 KiB"),
        ("a" * 2001, 0, "a pattern of 2,001 characters; expected at most 2,000"),
    ],
)
def test_what_is_no_pattern_or_too_large_is_told_by_its_place(pattern: str, position: int, problem: str) -> None:
    with pytest.raises(BadPattern, match=problem) as caught:
        compiled(pattern, "")

    assert caught.value.position == position


def test_a_flag_that_xpath_has_not_is_told() -> None:
    with pytest.raises(BadPattern, match="unknown flag 'g'; expected some of s, m, i, x and q"):
        compiled("a", "ig")


def test_a_text_that_is_too_long_for_a_pattern_is_an_error_and_not_a_wait() -> None:
    found = compiled("(a|b){500}c", "")

    with pytest.raises(ExpressionError):
        found.matches("ab" * 50_000)


def test_a_replacement_that_would_look_at_the_text_again_and_again_is_an_error() -> None:
    # For each "a" the engine looks for a "b" to the end of the text.
    with pytest.raises(ExpressionError):
        compiled("a.*b|a", "").replaced("a" * 50_000, ("x",), 1_000_000)


@pytest.mark.parametrize(("pattern", "by"), [(",", ";"), (r"\s+", ""), (r",\s*", " "), ("^ +| +$", "")])
def test_usual_replacements_are_made_in_long_texts(pattern: str, by: str) -> None:
    text = "a, b  c," * 2_000

    assert compiled(pattern, "").replaced(text, (by,), len(text)) == re.sub(pattern, by, text)


def test_a_replacement_that_grows_beyond_its_bound_is_an_error() -> None:
    with pytest.raises(ExpressionError):
        compiled("a", "").replaced("a" * 600, (0, 0), LONGEST)


@pytest.mark.parametrize(
    ("template", "groups", "parts"),
    [
        ("$1-$2", 2, (1, "-", 2)),
        ("$12", 1, (1, "2")),
        ("$12", 12, (12,)),
        ("$3", 2, ()),
        ("$0", 0, (0,)),
        (r"\$1\\", 1, ("$", "1", "\\")),
        ("plain", 0, ("plain",)),
    ],
)
def test_a_replacement_names_groups_and_escapes_signs(template: str, groups: int, parts: tuple[str | int, ...]) -> None:
    assert replacement(template, groups) == parts


@pytest.mark.parametrize("template", ["$", "$a", "\\", r"\n"])
def test_a_sign_that_stands_alone_in_a_replacement_is_told(template: str) -> None:
    with pytest.raises(BadPattern, match="in a replacement stands before"):
        replacement(template, 9)


def _pieces(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:%s|%s)".__mod__),
        inner.map("(%s)".__mod__),
        st.tuples(inner.map("(?:%s)".__mod__), st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "*?", "+?"])).map("".join),
    )


# What both Python and XPath have, with one meaning.
COMMON = st.recursive(st.sampled_from(["a", "b", "A", ".", "[ab]", "[^a]", r"\d", r"\.", "^", "é"]), _pieces, max_leaves=8)


@given(COMMON, st.text("abAé1.\n", max_size=12), st.sampled_from(["", "i", "s"]))
def test_a_pattern_that_python_has_too_matches_as_there(pattern: str, text: str, flags: str) -> None:
    known = re.compile(pattern, (re.IGNORECASE if "i" in flags else 0) | (re.DOTALL if "s" in flags else 0))

    assert compiled(pattern, flags).matches(text) == (known.search(text) is not None)


@given(COMMON, st.text("abA1.", max_size=12))
def test_a_replacement_is_made_where_python_makes_it(pattern: str, text: str) -> None:
    found = compiled(pattern, "")
    known = re.compile(pattern)

    expected = text if found.matches_nothing else known.sub(lambda match: f"<{match[0]}>", text)
    made = text if found.matches_nothing else found.replaced(text, ("<", 0, ">"), LONGEST)

    assert made == expected


@given(
    st.text(r"ab()[]{}*+?|\^$.-,12piIcCswLu ", max_size=30), st.text("ab1 -", max_size=30), st.sampled_from(["", "i", "mx", "q"])
)
def test_whatever_a_text_says_it_is_a_pattern_or_an_error(pattern: str, text: str, flags: str) -> None:
    try:
        compiled(pattern, flags).matches(text)
    except BadPattern as error:
        place = error.position
    else:
        place = 0

    assert 0 <= place <= len(pattern)


def test_patterns_are_kept_up_to_a_number() -> None:
    for number in range(patterns.MAX_KEPT + 10):
        compiled(f"x{number}", "")

    assert patterns._compiled.cache_info().currsize == patterns.MAX_KEPT
