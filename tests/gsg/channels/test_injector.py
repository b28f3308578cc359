"""Events around calls."""

from __future__ import annotations

import pytest

from gsg.channels.channel import Channel
from gsg.channels.injector import traced
from gsg.errors import Refused


def told_by(channel: Channel) -> list[dict[str, object]]:
    """The events of a channel from now on."""
    found: list[dict[str, object]] = []
    channel.subscribe(lambda event: found.append(event.fields), "true")
    return found


async def test_calls_name_their_callers_whether_they_wait_or_not() -> None:
    channel = Channel()
    found = told_by(channel)
    moments = iter(range(100))
    trace = traced(channel, clock=lambda: float(next(moments)))

    @trace
    def inner(number: int) -> int:
        return number + 1

    @trace
    async def outer(number: int) -> int:
        return inner(number)

    assert await outer(1) == 2
    first, second = found
    assert [str(each["of"]).rpartition(".")[2] for each in found] == ["inner", "outer"]
    assert (first["caller"], "caller" in second) == (second["call"], False)
    assert (first["seconds"], second["seconds"]) == (1.0, 3.0)


def test_a_call_whose_trace_is_refused_ends_as_it_does(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    channel = Channel()

    def refuse(event: object) -> None:
        raise Refused("too many")

    monkeypatch.setattr(channel, "publish", refuse)

    assert traced(channel)(lambda: 7)() == 7
    assert "is not traced: too many" in caplog.text


def test_a_call_that_fails_says_so_and_fails() -> None:
    channel = Channel()
    found = told_by(channel)

    @traced(channel)
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()

    assert [each["failed"] for each in found] == ["ValueError: no"]
