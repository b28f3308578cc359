"""Events as JSON and as name-value pairs, both ways."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.channels.notation import from_json, read, to_json, write
from gsg.channels.values import Reference
from gsg.errors import BadTerm, BadText

texts = st.text(max_size=6) | st.sampled_from(["a;b", "#1", "<x>", "[", "}", "true", " x", "a,b", '"', "a:b", "12"])
names = texts.filter(bool)
simple = texts | st.integers(-5, 10**20) | st.floats(allow_nan=False) | st.booleans() | st.none()
values = st.recursive(
    simple | st.builds(Reference, texts), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)
)
events = st.dictionaries(names, values, max_size=4)


@given(events)
def test_an_event_comes_back_from_both_notations(event) -> None:
    assert read(write(event)) == event
    assert from_json(to_json(event)) == event


@given(st.text() | events.map(write).map(lambda text: text[:-1] + ";{"))
def test_whatever_is_read_is_an_event_or_refused(text: str) -> None:
    with contextlib.suppress(BadText):
        assert isinstance(read(text), dict)


def test_the_papers_event_is_read_as_texts() -> None:
    found = read("userid: Fred; time: 12:40:18; type: error; message: read unhappy, again")

    assert found == {"userid": "Fred", "time": "12:40:18", "type": "error", "message": "read unhappy, again"}


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("userid", 1, 'no "name: value"'),
        ("a: #five", 4, "#five is neither a number"),
        ("a: [x, y", 9, 'expected "," and the next'),
        ('a: "x', 4, "never closed"),
        ("a: <x", 4, "never closed"),
        ('a: "x" y', 8, 'expected ";"'),
        ("a: #nan", 4, "neither a number"),
    ],
)
def test_a_mistake_is_refused_with_its_place(text: str, column: int, said: str) -> None:
    with pytest.raises(BadText) as refused:
        read(text)

    assert (refused.value.column, said in str(refused.value)) == (column, True)


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000, '{"a": ' * 100 + "1" + "}" * 100])
def test_json_that_is_no_event_is_refused(text: str) -> None:
    with pytest.raises(BadTerm):
        to_json(from_json(text))
