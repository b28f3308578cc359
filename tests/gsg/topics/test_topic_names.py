"""Names of topics and filters: what is one, and what is refused."""

from __future__ import annotations

import re

import pytest

from gsg.errors import LocalError
from gsg.topics.names import MAX_LEVELS, is_filter, topic_name

NAMES = ["house/kitchen/temp", "/", "/finance", "sport/", "Accounts payable", "$SYS/monitor/Clients", "x" * 256, "a/" * 100 + "b"]
# MQTT 5.0, s. 4.7.1.2 and 4.7.1.3.
FILTERS = ["#", "+", "sport/tennis/#", "+/tennis/#", "sport/+/player1", "/+", "+/+", "$SYS/#", "/".join("+" * MAX_LEVELS) + "/#"]


@pytest.mark.parametrize("name", NAMES)
def test_names_without_wildcards_are_taken_as_they_are(name: str) -> None:
    assert topic_name(name) == name
    assert not is_filter(name)


@pytest.mark.parametrize("name", FILTERS)
def test_filters_are_known_by_their_wildcards(name: str) -> None:
    assert topic_name(name) == name
    assert is_filter(name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "a topic's name of 0 characters"),
        ("x" * 257, "a topic's name of 257 characters"),
        (7, "a topic's name of 7; expected a text"),
        ("sport/tennis#", "level 'tennis#' of 'sport/tennis#' has '#' beside other characters; expected the wildcard alone"),
        ("sport+", "level 'sport+' of 'sport+' has '+' beside other characters; expected the wildcard alone"),
        ("house/+/##", "level '##' of 'house/+/##' has '#' beside other characters"),
        ("sport/tennis/#/ranking", "levels after '#' in 'sport/tennis/#/ranking'; expected '#' only at the end"),
        ("#/#", "levels after '#' in '#/#'"),
        ("/" * MAX_LEVELS + "+", f"a filter of {MAX_LEVELS + 1} levels, '{'/' * MAX_LEVELS}+'; expected at most {MAX_LEVELS}"),
    ],
)
def test_what_is_neither_is_refused_with_what_to_write(name: str, problem: str) -> None:
    with pytest.raises(LocalError, match="^" + re.escape(problem)):
        topic_name(name)
