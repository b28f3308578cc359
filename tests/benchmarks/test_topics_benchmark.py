"""The benchmark of topics runs over real peers, names who is not there, and notices what is wrong."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from benchmarks import topics, topics_role
from benchmarks.topics import Sizes, sent_for_an_event
from benchmarks.topics_role import Listener
from gsg.errors import Overrun

SMALL = Sizes(burst=20, bursts=1, per_s=50, rate_s=0.4, members=20, virtual_s=1.0)


class Script:
    """A way on which that comes, or is told, and then nothing."""

    def __init__(self, *said: list[int] | Overrun) -> None:
        self._said = list(said)

    async def receive(self) -> list[tuple[int, int]]:
        if not self._said:
            await asyncio.Event().wait()
        said = self._said.pop(0)
        if isinstance(said, Overrun):
            raise said
        return [(number, 0) for number in said]


async def listened(*said: list[int] | Overrun) -> Listener:
    """What a listener makes of it."""
    listener = Listener(Script(*said))  # type: ignore[arg-type]  # it is only asked for what comes
    task = asyncio.create_task(listener.listen())
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    return listener


def test_it_runs_at_small_sizes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(topics, "QUICK", SMALL)
    monkeypatch.setattr(topics, "missing", lambda kind: "" if kind == "topic" else "the program")
    monkeypatch.setattr(sys, "argv", ["topics", "--quick", "--json", "--peers", "3"])

    assert topics.main() == 0

    found = json.loads(capsys.readouterr().out)
    assert [figure["name"] for figure in found["figures"]] == ["topic", "topic, no TLS"]
    assert found["left_out"] == {"nats": "needs the program", "mqtt": "needs the program"}
    assert found["virtual"]["wrong"] == 0


@pytest.mark.parametrize(
    ("said", "wrong", "lost"),
    [
        ([[0, 1, 2]], 0, 0),
        ([[0, 1, 1]], 1, 0),
        ([[0, 2, 1]], 2, 0),
        ([[0], Overrun("lost", lost=2), [3]], 0, 2),
    ],
    ids=["as promised", "twice", "out of order", "a gap"],
)
def test_what_is_not_as_promised_is_counted(said: list[list[int] | Overrun], wrong: int, lost: int) -> None:
    listener = asyncio.run(listened(*said))

    assert (listener.wrong, listener.lost) == (wrong, lost)


def test_a_virtual_member_that_misses_an_event_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(topics.VirtualPeers):
        def run(self, seconds: float) -> None:
            super().run(seconds)
            del self.peers[-1].told[:]

    monkeypatch.setattr(topics, "VirtualPeers", Deaf)

    assert sent_for_an_event(SMALL).wrong == 1


def test_an_event_is_as_large_as_others_make_it() -> None:
    assert len(topics_role.text_of((12, 34), topics_role.TEXT_BYTES)) == topics_role.TEXT_BYTES
