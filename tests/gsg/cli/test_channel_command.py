"""`gsg channel` against a peer in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from commands import END_S, Gsg

from gsg.cli.publish.progress import TOLD

pytestmark = pytest.mark.waits


def subscribed(url: str, *arguments: str) -> subprocess.Popen[str]:
    """A subscriber in a process of its own, which has said that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gsg", "channel", "subscribe", *arguments],
        env={**os.environ, "GSG_PEER": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "gsg: ready: what is published from now on comes\n"
    return process


def test_events_of_arguments_and_of_standard_input_are_heard(gsg: Gsg, url: str) -> None:
    reader = subscribed(url, "(exists of_arguments)", "--count", "3", "--jsonl")

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
    reader = subscribed(url, "(exists printed)", "--count", "1", "--report", "(* (twice (* printed 2)) (who (env who)))")

    gsg("channel", "publish", "printed: #4; text: a", "--environment", "who: Fred")

    assert reader.communicate(timeout=END_S)[0] == "printed: #4; text: a; twice: #8; who: Fred\n"


def test_a_line_that_holds_no_event_is_told_with_its_number_and_what_was_published(gsg: Gsg) -> None:
    found = gsg("channel", "publish", "-", input="a: b\nrubbish\nc: d\n")

    assert found.exit_code == 2
    assert "1 event published" in found.stderr
    assert 'line 2 of standard input: event line 1, column 1: no "name: value"' in found.stderr
    assert "    --lenient skips what cannot be read and goes on" in found.stderr


def test_lines_that_hold_no_event_are_skipped_with_their_numbers_where_that_is_asked(gsg: Gsg) -> None:
    too_large = json.dumps({f"f{number}": number for number in range(1_001)})
    lines = f"a: b\nrubbish\n\n{too_large}\nc: d\n"

    found = gsg("channel", "publish", "-", "--lenient", input=lines)
    as_json = gsg("channel", "publish", "-", "--lenient", "--json", input=lines)

    assert found.exit_code == 0
    assert re.findall(r"^gsg: skipped: line (\d+) of standard input: ", found.stderr, re.MULTILINE) == ["2", "4"]
    assert "2 events published; 2 mistakes skipped" in found.stderr
    assert json.loads(as_json.stdout) == {"published": 2, "skipped": 2}


def test_of_very_many_lines_that_hold_no_event_the_first_are_told(gsg: Gsg) -> None:
    found = gsg("channel", "publish", "-", "--lenient", input="rubbish\n" * (TOLD + 5))

    assert found.stderr.count("gsg: skipped: ") == TOLD
    assert found.stderr.count("gsg: more is skipped, and counted at the end") == 1
    assert f"0 events published; {TOLD + 5} mistakes skipped" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["publish"], "give an EVENT"),
        (["publish", "rubbish"], 'no "name: value"'),
        (["subscribe"], "give the subscription as TEXT"),
        (["subscribe", "(= type"], "never closed"),
        (["subscribe", "true", "--report", "x"], "gsg: report line 1, column 1: a report that is no list"),
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
        gsg("channel", "publish", "shown: yes")

        shown = gsg("channel", "stats").stdout

        assert "matcher compile: " in shown
        assert text in shown
    finally:
        reader.kill()
        reader.communicate()
