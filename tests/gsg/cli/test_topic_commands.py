"""`gsg publish --topic`, `gsg subscribe --topic` and `gsg topics` against a peer in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from commands import END_S, Gsg

pytestmark = pytest.mark.waits


def subscribed(url: str, *arguments: str) -> subprocess.Popen[str]:
    """A subscriber in a process of its own, when it has said that it is ready."""
    reader = subprocess.Popen(
        [sys.executable, "-m", "gsg", "subscribe", "--topic", *arguments],
        env={**os.environ, "GSG_PEER": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert reader.stderr is not None
    assert "ready" in reader.stderr.readline()
    return reader


def test_values_and_lines_are_heard(gsg: Gsg, url: str) -> None:
    reader = subscribed(url, "values", "--count", "3")

    published = gsg("publish", "--topic", "values", "22", "warm", '"a text"')
    lines = gsg("publish", "--topic", "values", "-", input="one\ntwo\n")
    said, problems = reader.communicate(timeout=END_S)

    assert (published.exit_code, lines.exit_code) == (0, 0)
    assert said.splitlines() == ['! 22, warm, "a text"', '! "one"', '! "two"']
    assert (reader.returncode, problems) == (0, "")


def test_a_filter_hears_topics_by_their_names(gsg: Gsg, url: str) -> None:
    plain, as_json = subscribed(url, "house/+/temp", "--count", "2"), subscribed(url, "house/#", "--count", "2", "--jsonl")

    gsg("publish", "--topic", "house/kitchen/temp", "22", "warm")
    gsg("publish", "--topic", "house/hall/temp", "19")
    lines = [json.loads(line) for line in as_json.communicate(timeout=END_S)[0].splitlines()]

    assert plain.communicate(timeout=END_S)[0].splitlines() == ["! house/kitchen/temp: 22, warm", "! house/hall/temp: 19"]
    assert [(line["topic"], line["values"]) for line in lines] == [
        ("house/kitchen/temp", [22, "warm"]),
        ("house/hall/temp", [19]),
    ]


def test_many_lines_are_heard_in_order_and_the_last_one_needs_no_end(gsg: Gsg, url: str) -> None:
    reader = subscribed(url, "many", "--count", "3002")

    published = gsg("publish", "--topic", "many", "-", input="\n".join([*map(str, range(3_000)), "", "end"]))
    said, _ = reader.communicate(timeout=END_S)

    assert published.exit_code == 0
    assert said.splitlines() == [f'! "{line}"' for line in (*range(3_000), "", "end")]


def test_events_are_lines_of_json_where_that_is_asked_for(gsg: Gsg, url: str) -> None:
    reader = subscribed(url, "lines", "--count", "1", "--jsonl")

    gsg("publish", "--topic", "lines", "22", "warm")
    told = json.loads(reader.communicate(timeout=END_S)[0])

    assert (told["topic"], told["number"], told["values"]) == ("lines", 1, [22, "warm"])
    assert len(told["publisher"]) == 40


def test_topics_are_listed_with_their_members(gsg: Gsg, url: str) -> None:
    reader = subscribed(url, "listed")

    plain, as_json = gsg("topics"), gsg("topics", "--json")
    reader.kill()
    reader.communicate(timeout=END_S)

    assert "listed  1" in plain.stdout.splitlines()
    assert json.loads(as_json.stdout)["listed"] == 1


def test_the_help_says_what_the_mark_is_that_a_topic_without_known_members_has(gsg: Gsg) -> None:
    told = " ".join(gsg("topics", "--help").stdout.split())

    assert "it does not know how many members they have, which is shown as ?" in told


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("publish", "--topic", "a/+", "1"), "'a/+' is a filter, for subscribing"),
        (("subscribe", "--topic", "a/b+"), "has '+' beside other characters"),
        (("publish", "--topic", "a"), "give the values of the event"),
        (("publish", "--topic", "a", "1)(2"), "'1)(2' cannot be the values of an event"),
        (("publish", "--topic", "a", "?x"), "'?x' cannot be the values of an event: \"?x\" in NOTIFY"),
        (("publish", "--topic", "a", "1", "--json"), "--json is for files and scripts; --topic goes with values alone"),
        (("publish", "--topic", "a", "1", "-e", "(x)"), "--topic goes with values alone"),
        (("subscribe", "--topic", "a", "(?x)"), "query '(?x)' beside --topic"),
        (("subscribe", "--topic", "a", "--snapshot"), "--snapshot is for a query, and a topic has none; leave it out"),
        (("subscribe", "--topic", "a", "--overflow", "error"), "--overflow is for a query"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(gsg: Gsg, arguments: tuple[str, ...], problem: str) -> None:
    answer = gsg(*arguments)

    assert answer.exit_code in (1, 2)
    assert problem in answer.stderr


def test_a_line_that_is_no_text_is_shown(gsg: Gsg, url: str) -> None:
    answer = gsg("publish", "--peer", url, "--topic", "lines", "-", input=b"\xffab\n")

    assert answer.exit_code == 2
    assert "line b'\\xffab' of standard input is no UTF-8; expected text in UTF-8" in answer.stderr
