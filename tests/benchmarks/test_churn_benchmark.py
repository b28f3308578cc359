"""The benchmark of churn notices what it is there to notice, over few peers in virtual time."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import churn, churn_crowd, churn_memory
from benchmarks.churn_crowd import Crowd, Member, Tally, disturb, facts
from benchmarks.churn_memory import World
from gsg import Symbol
from gsg.tuples.features import key


def broken(work: Callable[[World], Coroutine[Any, Any, None]], size: int = 6) -> bool:  # Any: as coroutines have it
    """Whether work with so many peers finds a broken promise."""
    tally = Tally()
    churn_memory.run(size, 1, 0.0, tally, work)
    return tally.broken


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(churn_crowd, "PATIENCE_S", 40.0)


async def forget_a_key(crowd: Crowd, world: World) -> None:
    """One of its holders has nothing of it any more."""
    place = (3, 0, next(iter(crowd.facts))[0])
    world.peers[crowd.closest(key(*place))[1]]._parts.rendezvous.held.drop(place)


@pytest.mark.parametrize("wrong", [("--peers", "0"), ("--facts", "-1"), ("--share", "2"), ("--steps", "0"), ("--loss", "1")])
def test_what_cannot_be_run_is_refused(wrong: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(churn, "memory", lambda *_: None)

    result = CliRunner().invoke(churn.main, ["--part", "memory", *wrong])

    assert result.exit_code == 2
    assert f"Invalid value for '{wrong[0]}'" in result.output


def test_examples_of_the_help_have_a_line_each() -> None:
    assert re.search(
        r"\n +python -m benchmarks.churn --part restart .*\n +python -m", CliRunner().invoke(churn.main, ["--help"]).output
    )


def test_a_request_to_end_ends_it_as_ctrl_c_does(monkeypatch: pytest.MonkeyPatch) -> None:
    # As in a job that a shell has put into the background.
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr(churn, "memory", lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        result = CliRunner().invoke(churn.main, ["--part", "memory"])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert result.output.endswith("Aborted!\n")


def test_deaths_break_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert not broken(lambda world: disturb(world.crowd, world.die, 0.3, 1, 60), size=8)
    assert "every key of" in capsys.readouterr().out


def test_a_fact_that_a_holder_lacks_is_noticed() -> None:
    async def work(world: World) -> None:
        await world.crowd.publish(facts(30, world.crowd.rng), world.crowd.living)
        await forget_a_key(world.crowd, world)
        await world.crowd.until_held(asyncio.get_running_loop().time(), wanted_s=1.0)

    assert broken(work)


def test_a_row_too_few_is_noticed() -> None:
    async def work(world: World) -> None:
        await world.crowd.subscribe(["(?x, p0, ?y)"], world.crowd.living)
        world.crowd.said([("never", Symbol("p0"), "published")])
        await world.crowd.compare([])

    assert broken(work)


def test_a_lookup_that_names_others_is_noticed() -> None:
    async def work(world: World) -> None:
        world.crowd.living.append(Member(bytes(20), world.crowd.living[0].door))
        await world.crowd.look_up(1.0)

    assert broken(work)
