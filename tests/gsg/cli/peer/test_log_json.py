"""The log as JSON: each line one object, whatever a stranger says."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import urllib.request
from datetime import datetime

import pytest
from commands import END_S, peer_command

from gsg.cli.peer.log_json import JsonLine
from gsg.cli.peer.log_output import JSON, MAX_LINES, MEMBERSHIP, LogHandler, outlet_for
from gsg.monitoring.logs.fields import MESSAGE_CHARACTERS
from gsg.monitoring.logs.kinds import OF_A_KIND
from gsg.placement.membership_log import NAME

pytestmark = pytest.mark.waits


def record(message: str, *arguments: object, error: BaseException | None = None, **about: object) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    made = logging.LogRecord("gsg.http", logging.WARNING, "door.py", 7, message, arguments, info)
    made.__dict__.update(about)
    return made


def test_a_line_has_its_fields_and_whom_it_is_about() -> None:
    told = json.loads(JsonLine().format(record("%s is refused", "it", client="10.0.0.1:7", peer="ab", other="not told")))

    assert {name: told[name] for name in ("level", "logger", "message", "client", "peer")} == {
        "level": "WARNING",
        "logger": "gsg.http",
        "message": "it is refused",
        "client": "10.0.0.1:7",
        "peer": "ab",
    }
    assert sorted(told) == ["client", "level", "logger", "message", "peer", "time"]
    assert datetime.fromisoformat(told["time"]).utcoffset() is not None


def test_what_a_stranger_says_ends_no_line_and_speaks_to_no_terminal() -> None:
    evil = 'a"}\n{"level":"ERROR"\x1b[2J\u202e\u2028\x9b'

    line = JsonLine().format(record("said %s", evil))

    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["message"] == f"said {evil}"


def test_a_traceback_is_a_field_and_a_message_has_an_end() -> None:
    try:
        raise ValueError("odd")
    except ValueError as error:
        told = json.loads(JsonLine().format(record("x" * 100_000, error=error)))

    assert told["exception"].endswith("ValueError: odd")
    assert told["message"].endswith(f"... ({100_000 - MESSAGE_CHARACTERS:,} characters more)")


def test_what_the_log_says_of_itself_is_json_too() -> None:
    reading, writing = os.pipe()
    outlet = outlet_for(writing, JSON)
    logger = logging.Logger("noise")
    handler = LogHandler(outlet, limited=True)
    handler.setFormatter(JsonLine())
    logger.addHandler(handler)
    for number in range(OF_A_KIND + 5):
        logger.warning("noise %d", number)
    handler.handle(record("%d", "none"))

    outlet.close()
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = [json.loads(line) for line in pipe]

    assert len(told) == OF_A_KIND + 2 < MAX_LINES
    assert told[-1]["message"] == f"5 more like this in 60 s, the last: noise {OF_A_KIND + 4}"
    assert told[-2]["message"].startswith("a line of the log from door.py:7 could not be formatted")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_peer_logs_json_and_tells_of_others_by_default() -> None:
    first = subprocess.Popen(
        peer_command("--listen", ":0", "--http", "none", "--log-format", "json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert first.stdout is not None
    assert first.stderr is not None
    where = first.stdout.readline().split()[-1]
    second = subprocess.Popen(peer_command("--listen", ":0", "--http", "none", "--join", where), stdout=subprocess.PIPE, text=True)
    try:
        came = json.loads(first.stderr.readline())
        second.send_signal(signal.SIGKILL)
        while (gone := json.loads(first.stderr.readline()))["level"] != "WARNING":
            pass
    finally:
        for process in (second, first):
            process.kill()
            process.communicate(timeout=END_S)

    assert (came["logger"], came["level"]) == ("gsg.membership", "INFO")
    assert f"peer {came['peer'][:12]} at 127.0.0.1:" in came["message"]
    assert "has come; 2 peers are known, this one included; this one is responsible for about" in came["message"]
    share = came["message"].split()[-4]
    assert gone["message"].endswith(f"this one is responsible for about 100.0% of all keys, and was for {share}")
    assert "is gone: it does not answer; this peer knows of no other" in gone["message"]


def test_an_end_that_is_a_mistake_is_json_too(free_port: int) -> None:
    arguments = ("--listen", ":0", "--http", "none", "--join", f"127.0.0.1:{free_port}", "--log-format", "json")

    ended = subprocess.run(peer_command(*arguments), capture_output=True, text=True, timeout=END_S, check=False)

    assert ended.returncode == 1
    assert [json.loads(line)["message"].startswith("gsg: ") for line in ended.stderr.splitlines()][-1]


def test_a_peer_keeps_its_log_for_those_who_ask(url: str) -> None:
    with urllib.request.urlopen(f"{url}/log", timeout=END_S) as answer:
        told = json.load(answer)

    assert told.keys() == {"since", "records", "first", "last"}
    assert told["last"] == told["first"] + len(told["records"]) - 1


def test_the_log_knows_those_who_tell_of_peers_by_their_name() -> None:
    assert MEMBERSHIP == NAME
