"""Filters as standing queries over the levels of a topic: what they match, and that they meet what they match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg import Space, Symbol
from gsg.languages import parse_query
from gsg.languages.query import alphas
from gsg.rendezvous import condition_tests
from gsg.topics.backlog import TopicEvent
from gsg.topics.filters import ARITY, event_of, features_of, levels_event, query_of
from gsg.topics.names import MAX_LEVELS, topic_name
from gsg.tuples.terms import Compound, List, Tuple, fact

PUBLISHER = b"p" * 20


def heard(topic_filter: str, *names: str) -> list[str]:
    """The names that a filter matches, as a space decides that has its query."""
    with Space() as space:
        rows = space.subscribe(query_of(topic_name(topic_filter)))
        space.notify([levels_event(name, (21,), PUBLISHER, 1) for name in names])
        return [str(row["name"]) for _, row in rows]


def naive(levels: list[str], name: list[str]) -> bool:
    """MQTT 5.0, section 4.7, as it reads; ``$`` apart."""
    if levels == ["#"]:
        return True
    if not levels or not name:
        return not levels and not name
    return levels[0] in ("+", name[0]) and naive(levels[1:], name[1:])


@pytest.mark.parametrize(
    ("topic_filter", "matched", "others"),
    [
        # MQTT 5.0, s. 4.7.1.2
        (
            "sport/tennis/player1/#",
            ["sport/tennis/player1", "sport/tennis/player1/ranking", "sport/tennis/player1/score/wimbledon"],
            ["sport/tennis", "sport/tennis/player2"],
        ),
        ("sport/#", ["sport", "sport/"], ["/sport", "sports"]),
        ("#", ["sport", "/finance", "/", "a/" * 100], []),
        # s. 4.7.1.3
        ("sport/tennis/+", ["sport/tennis/player1", "sport/tennis/player2"], ["sport/tennis/player1/ranking", "sport/tennis"]),
        ("sport/+", ["sport/"], ["sport"]),
        ("+", ["finance"], ["/finance"]),
        ("+/tennis/#", ["sport/tennis", "/tennis/x/y"], ["tennis"]),
        ("sport/+/player1", ["sport/tennis/player1", "sport//player1"], ["sport/player1", "sport/a/b/player1"]),
        ("+/+", ["/finance"], ["finance", "/finance/"]),
        ("/+", ["/finance"], ["finance"]),
        # s. 4.7.2
        ("#", [], ["$SYS", "$SYS/monitor/Clients"]),
        ("+/monitor/Clients", ["a/monitor/Clients"], ["$SYS/monitor/Clients"]),
        ("$SYS/#", ["$SYS/monitor/Clients"], ["SYS/monitor"]),
        ("$SYS/monitor/+", ["$SYS/monitor/Clients"], []),
        ("+/$SYS", ["a/$SYS"], []),
        # s. 4.7.3
        ("ACCOUNTS/#", ["ACCOUNTS"], ["Accounts"]),
        ("+/#", ["Accounts payable", "/"], []),
        # `#` after a `+` needs the level of the `+`
        ("house/+/#", ["house/", "house/a", "house/a/b"], ["house"]),
        ("+/+/#", ["a/b", "/", "a/b/c"], ["a"]),
        # a zero is no absent level, and quotes and marks stand for themselves
        ("0/+", ["0/0"], ["0", "0/0/0"]),
        ('"?x"/*/+', ['"?x"/*/\\'], ['"?x"/y/\\']),
        # levels beyond those of filters
        ("/".join("a" * MAX_LEVELS) + "/#", ["/".join("a" * 16), "/".join("a" * 17)], ["/".join("a" * 15), "/".join("b" * 17)]),
        ("/".join("a" * (MAX_LEVELS - 1)) + "/+", ["/".join("a" * 16)], ["/".join("a" * 17)]),
    ],
)
def test_filters_match_as_mqtt_says(topic_filter: str, matched: list[str], others: list[str]) -> None:
    assert heard(topic_filter, *others, *matched) == matched


level = st.sampled_from(["", "a", "b", "$a", "0", "topic-levels", "?x"]) | st.text("ab/$ \"\\'é*", max_size=3)
levels = st.lists(level.map(lambda text: text.replace("/", "")), min_size=1, max_size=5)


@given(levels.map("/".join).filter(bool), st.lists(levels | st.just(["+"]), min_size=1, max_size=4), st.booleans())
def test_filters_match_as_a_naive_matcher_and_meet_what_they_match(name: str, parts: list[list[str]], is_open: bool) -> None:
    check(name, [level for part in parts for level in part] + ["#"] * is_open)


@given(levels, st.data())
def test_filters_made_of_a_name_match_as_a_naive_matcher(parts: list[str], data: st.DataObject) -> None:
    length = data.draw(st.integers(0, len(parts)))
    pattern = [data.draw(st.sampled_from([part, "+"])) for part in parts[:length]] + ["#"] * data.draw(st.booleans())

    check("/".join(parts), pattern)


def check(name: str, pattern: list[str]) -> None:
    """One filter and one name agree with the naive matcher, and meet where they match."""
    topic_filter = "/".join(pattern)
    if not name or not topic_filter or not {"+", "#"}.intersection(pattern) or len(pattern) > MAX_LEVELS:
        return
    expected = naive(pattern, name.split("/")) and not (name.startswith("$") and pattern[0] in ("+", "#"))
    event = levels_event(name, (), PUBLISHER, 1)

    assert heard(topic_filter, name) == [name] * expected
    [alpha] = alphas(parse_query(query_of(topic_filter), "gsg"))
    test, is_all = condition_tests.test_of(alpha)
    assert test is not None
    assert is_all, "all of a filter is decided at the rendezvous"
    passes = condition_tests.compile_test(test)(event, None)
    constants = {position: alpha.template.pattern[position] for position in alpha.template.anchors()}
    assert constants
    assert (passes and all(event[position] == constant for position, constant in constants.items())) == expected
    if expected:
        assert set(constants) <= set(features_of(event)), "they meet, at whichever constant the filter is anchored"


@pytest.mark.parametrize("values", [(), (21, "warm"), (List((1, 2)), Compound((Symbol("at"), 3)))], ids=["none", "plain", "nested"])
def test_an_event_comes_back_as_it_was_published(values: Tuple) -> None:
    event = levels_event("a/b", values, PUBLISHER, 7)

    assert fact(event) == event
    assert len(event) == ARITY
    assert event_of(event[-4:]) == TopicEvent("a/b", values, PUBLISHER, 7)


@pytest.mark.parametrize(
    "row",
    [
        ("a", "no hex", 1, Compound((Symbol("values"),))),
        ("a", "aa", "1", Compound((Symbol("values"),))),
        ("a", "aa", 1, Compound((Symbol("other"), 21))),
        ("a", "aa", 1, List((21,))),
        (1, "aa", 1, Compound((Symbol("values"),))),
        ("a", "aa", 1),
    ],
)
def test_what_others_say_in_that_shape_is_no_event(row: Tuple) -> None:
    assert event_of(row) is None
