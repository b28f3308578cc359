"""`gsg channel` against a peer in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from commands import END_S, Gsg

pytestmark = pytest.mark.waits


def subscribed(url: str, *arguments: str) -> subprocess.Popen[str]:
    """A subscriber in a process of its own; it has subscribed when `gsg channel stats` says so."""
    return subprocess.Popen(
        [sys.executable, "-m", "gsg", "channel", "subscribe", *arguments],
        env={**os.environ, "GSG_PEER": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until_subscribed(gsg: Gsg, text: str) -> None:
    while text not in [each["text"] for each in json.loads(gsg("channel", "stats", "--json").stdout)["subscriptions"]]:
        pass


def test_events_of_arguments_and_of_standard_input_are_heard(gsg: Gsg, url: str) -> None:
    text = "(exists of_arguments)"
    reader = subscribed(url, text, "--count", "3", "--jsonl")
    until_subscribed(gsg, text)

    published = gsg(
        "channel",
        "publish",
        "of_arguments: #1; x: a",
        '{"other": 1}',
        "-",
        "--json",
        input='{"of_arguments": [2]}\n\nof_arguments: c\n',
    )
    said, problems = reader.communicate(timeout=END_S)

    assert (published.exit_code, json.loads(published.stdout)) == (0, {"published": 4})
    assert [json.loads(line)["event"] for line in said.splitlines()] == [
        {"of_arguments": 1, "x": "a"},
        {"of_arguments": [2]},
        {"of_arguments": "c"},
    ]
    assert (reader.returncode, problems) == (0, "")


def test_events_are_printed_as_they_are_written(gsg: Gsg, url: str) -> None:
    text = "(exists printed)"
    reader = subscribed(url, text, "--count", "1", "--report", "(* (twice (* printed 2)) (who (env who)))")
    until_subscribed(gsg, text)

    gsg("channel", "publish", "printed: #4; text: a", "--environment", "who: Fred")

    assert reader.communicate(timeout=END_S)[0] == "printed: #4; text: a; twice: #8; who: Fred\n"


def test_a_line_that_holds_no_event_is_told_with_its_number_and_what_was_published(gsg: Gsg) -> None:
    found = gsg("channel", "publish", "-", input="a: b\nrubbish\nc: d\n")

    assert found.exit_code == 2
    assert "1 event published" in found.stderr
    assert 'line 2 of standard input: event line 1, column 1: no "name: value"' in found.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["publish"], "give an EVENT"),
        (["publish", "rubbish"], 'no "name: value"'),
        (["subscribe"], "give the subscription as TEXT"),
        (["subscribe", "(= type"], "never closed"),
        (["subscribe", "true", "--report", "x"], "a report that is no list"),
        (["explain"], "No such command"),
    ],
)
def test_a_mistake_is_told(gsg: Gsg, arguments: list[str], said: str) -> None:
    found = gsg("channel", *arguments)

    assert found.exit_code == 2
    assert said in found.stderr


def test_the_stats_are_shown(gsg: Gsg, url: str) -> None:
    text = "(exists shown)"
    reader = subscribed(url, text)
    try:
        until_subscribed(gsg, text)
        gsg("channel", "publish", "shown: yes")

        shown = gsg("channel", "stats").stdout

        assert "matcher compile: " in shown
        assert text in shown
    finally:
        reader.kill()
        reader.communicate()
