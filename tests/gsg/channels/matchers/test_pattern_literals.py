"""What a regular expression requires is in each text in which it is found."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from gsg.channels.matchers.pattern_literals import required_texts

REQUIRED = {
    r"ping\s+-n.{6,64}echo EEEE\s?>": ["ping", "-n", "echo eeee", ">"],
    r"cmd.{0,5}(?:/c|/r).+powershell": ["cmd", "powershell"],
    r"(?i)Echo.*clip": ["echo", "clip"],
    r"C:\\temp\.": ["c:\\temp."],
    "abc*d+e?f": ["ab", "d", "f"],
    "ab{2}c{1,}d{,3}": [],
    "a|bc": [],
    "(a|b)?cd": ["cd"],
    "((a)[)](b)+)cd": ["cd"],
    "[]abc]d[^]e]f[[:alpha:]]g": ["d", "f", "g"],
    r"\x41b\x{41}c\pNd\P{Greek}e\bf": ["b", "c", "d", "e", "f"],
    "\u212aa\u017fb": ["a", "b"],
    r"\Qa.b\E": [],
    r"\101b": [],
    "a+(?i)*": [],
    "(a{)|(b})cd": [],
    "(a": [],
}


@pytest.mark.parametrize(("pattern", "texts"), REQUIRED.items(), ids=REQUIRED)
def test_a_pattern_requires(pattern: str, texts: list[str]) -> None:
    assert required_texts(pattern) == texts


PIECES = st.sampled_from(
    [
        *"abkKsS.^$|()[]{}*+?,:-1 \u212a\u017f\u00df",
        *("(?i)", "(?i:", "(?:", "[[:alpha:]", "[^", "[]", "{2}", "{0,1}", "{,2}"),
        *(r"\.", r"\b", r"\s", r"\x61", r"\x{62}", r"\pL", r"\p{Latin}", r"\Q", r"\E", r"\\", r"\(", r"\141", r"\C"),
    ]
)


@given(st.lists(PIECES, max_size=8).map("".join), st.lists(st.text("abkKsS.()]{},: \u212a\u017f\u1e9e\\", max_size=10), max_size=8))
def test_what_is_required_is_in_each_text_in_which_the_pattern_is_found(pattern: str, texts: list[str]) -> None:
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    try:
        search = re2.compile(pattern, options=options).search
    except re2.error:
        return

    for text in [text for text in texts if search(text)]:
        assert all(each in text.casefold() for each in required_texts(pattern)), text
