"""How commands that talk to a peer end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from commands import END_S, Gsg

pytestmark = pytest.mark.waits


def lost_clients(gsg: Gsg) -> int:
    lost: int = json.loads(gsg("status", "--json").stdout)["peers"][0]["counts"]["http_clients_lost"]
    return lost


def running(*arguments: str) -> subprocess.Popen[str]:
    # As from a terminal: where tests run in the background these are ignored, and a process that is started would inherit that.
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGHUP)}
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen([sys.executable, "-m", "gsg", *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["Ctrl-C", "SIGTERM", "SIGHUP"]
)
def test_a_subscription_that_is_told_to_end_says_goodbye(gsg: Gsg, url: str, number: signal.Signals, code: int) -> None:
    before = lost_clients(gsg)
    word = f"x:ends-{number.name}"
    assert gsg("publish", "--format", "nt", "-", input=f"<x:s> <{word}> <x:o> .\n").exit_code == 0
    process = running("subscribe", f"(?s, <{word}>, ?o)", "--peer", url)
    assert process.stdout is not None
    assert process.stdout.readline() == "+ ?s=<x:s> ?o=<x:o>\n"

    process.send_signal(number)
    _, said = process.communicate(timeout=END_S)

    assert (process.returncode, said) == (code, "")
    assert lost_clients(gsg) == before


def test_a_publication_that_is_told_to_end_says_goodbye(gsg: Gsg, url: str) -> None:
    before = lost_clients(gsg)
    listening = running("subscribe", "(?s, <x:told>, *)", "--count", "1", "--peer", url)
    process = running("publish", "--format", "nt", "-", "--peer", url)
    assert process.stdin is not None
    process.stdin.writelines(f"<x:{number}> <x:told> <x:o> .\n" for number in range(20_000))
    process.stdin.flush()
    listening.communicate(timeout=END_S)

    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=END_S)

    assert process.returncode == 143
    assert "Traceback" not in said
    assert lost_clients(gsg) == before
