"""What the log is told of peers that come and go: once, calmly, with what it means for keys."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

import dht
from dht.simnet import SimNet, run
from gsg.placement.membership_log import GONE, NAME, NOTED, REST_S, SHOWN, TOLD_AFTER_S, MembershipLog

MANY = 50


def contact(number: int) -> dht.Contact:
    return dht.Contact(number.to_bytes(20, "big"), "10.0.0.1", 7000 + number)


def who(number: int) -> str:
    return f"peer {contact(number).id.hex()[:12]} at 10.0.0.1:{7000 + number}"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[int, str]]]:
    """What was told since this was asked last: the level and the text of each line."""
    caplog.set_level(logging.INFO, logger=NAME)

    def told() -> list[tuple[int, str]]:
        found = [(one.levelno, one.getMessage()) for one in caplog.records if one.name == NAME]
        caplog.clear()
        return found

    return told


class Said:
    """A log whose peer knows what the test says."""

    def __init__(self) -> None:
        self.known, self.share, self.asked = 2, 0.5, 0
        self.log = MembershipLog(lambda: self.known, self.own_share, asyncio.get_running_loop().time)

    def own_share(self) -> float:
        self.asked += 1
        return self.share

    def gone(self, number: int, how: str = "it does not answer", level: int = logging.WARNING) -> None:
        self.log.note_gone(contact(number).id, who(number), how, level=level)


async def after(seconds: float) -> None:
    await asyncio.sleep(seconds + 0.01)


def test_one_that_comes_and_dies_and_is_back_is_a_line_each(lines: Callable[[], list[tuple[int, str]]]) -> None:
    async def main(net: SimNet) -> None:
        said = Said()
        said.log.note_came(contact(1))
        await after(TOLD_AFTER_S)
        came = lines()
        said.gone(1)
        said.gone(1, "another reason")
        said.known, said.share = 1, 1.0
        await after(REST_S)
        gone = lines()
        said.log.note_came(contact(1))
        said.known, said.share = 2, 0.25
        await after(REST_S)

        known = "2 peers are known, this one included; this one is responsible for about"
        assert came == [(logging.INFO, f"{who(1)} has come; {known} 50.0% of all keys")]
        assert gone == [
            (
                logging.WARNING,
                f"{who(1)} is gone: it does not answer; this peer knows of no other; this one is responsible for about 100.0% of "
                "all keys, and was for 50.0%",
            )
        ]
        assert lines() == [(logging.WARNING, f"{who(1)} is back; {known} 25.0% of all keys, and was for 100.0%")]

    run(main, seed=1)


def test_a_crowd_is_a_line(lines: Callable[[], list[tuple[int, str]]]) -> None:
    async def main(net: SimNet) -> None:
        said = Said()
        for number in range(MANY):
            said.log.note_came(contact(number))
        await after(TOLD_AFTER_S)
        for number in range(MANY):
            said.log.note_came(contact(MANY + number))
            await asyncio.sleep(REST_S / MANY / 2)
        await after(REST_S)

        first, second = lines()
        assert first[1].startswith(f"{MANY} peers have come: {who(0)}, {who(1)}, {who(2)} and {MANY - SHOWN} more; 2 peers")
        assert second[1].startswith(f"{MANY} peers have come: ")
        assert said.asked == 2

    run(main, seed=1)


def test_those_that_die_and_those_that_leave_are_told_apart(lines: Callable[[], list[tuple[int, str]]]) -> None:
    async def main(net: SimNet) -> None:
        said = Said()
        said.gone(1)
        said.gone(2, "it has stopped", logging.INFO)
        said.gone(3)
        await after(TOLD_AFTER_S)

        assert [(level, text.partition(";")[0]) for level, text in lines()] == [
            (logging.WARNING, f"2 peers are gone: {who(1)} (it does not answer), {who(3)} (it does not answer)"),
            (logging.INFO, f"{who(2)} is gone: it has stopped"),
        ]

    run(main, seed=1)


def test_one_that_is_back_before_it_was_told_is_no_news(lines: Callable[[], list[tuple[int, str]]]) -> None:
    async def main(net: SimNet) -> None:
        said = Said()
        said.gone(1)
        said.log.note_came(contact(1))
        await after(TOLD_AFTER_S)

        assert lines() == []
        assert said.log.gone_at_s(contact(1).id) is None

    run(main, seed=1)


def test_nothing_is_worked_out_where_nobody_reads_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger=NAME)

    async def main(net: SimNet) -> None:
        said = Said()
        said.log.note_came(contact(1))
        await after(TOLD_AFTER_S)
        said.gone(1)
        await after(TOLD_AFTER_S)

        assert [one.getMessage() for one in caplog.records if one.name == NAME] == [
            f"{who(1)} is gone: it does not answer; 2 peers are known, this one included"
        ]
        assert said.asked == 0

    run(main, seed=1)


def test_a_peer_that_stops_says_nothing_of_others(lines: Callable[[], list[tuple[int, str]]]) -> None:
    async def main(net: SimNet) -> None:
        said = Said()
        said.gone(1)
        said.log.stop()
        said.gone(2)
        await after(REST_S)

        assert lines() == []

    run(main, seed=1)


def test_those_that_went_first_are_forgotten_at_the_limit() -> None:
    async def main(net: SimNet) -> None:
        said = Said()
        for number in range(GONE + 1):
            said.gone(number)

        assert said.log.gone_at_s(contact(0).id) is None
        assert said.log.gone_at_s(contact(1).id) is not None

    run(main, seed=1)


def test_what_the_log_passes_over_is_noted_and_the_oldest_goes() -> None:
    async def main(net: SimNet) -> None:
        said = Said()
        said.gone(1)
        said.log.note_came(contact(1))
        said.log.note_suspected(contact(2), True)
        said.log.note_suspected(contact(2), False)
        said.log.note_came(contact(3))
        said.log.note_suspected(contact(3), True)
        said.log.note_suspected(contact(3), False)
        noted = [(one.peer, one.what, one.why) for one in said.log.changes]
        for number in range(NOTED):
            said.log.note_came(contact(10 + number))

        assert noted == [
            (contact(1).id, "went", "it does not answer"),
            (contact(1).id, "back", "it answers again, and was gone: it does not answer"),
            (contact(2).id, "suspected", "it answers neither this peer nor others that were asked to try"),
            (contact(2).id, "back", "it answers after all"),
            (contact(3).id, "came", "it answers"),
        ]
        assert (len(said.log.changes), said.log.changes[0].peer) == (NOTED, contact(10).id)

    run(main, seed=1)


def test_a_peer_that_stops_notes_nothing_of_others() -> None:
    async def main(net: SimNet) -> None:
        said = Said()
        said.log.stop()
        said.gone(1)
        said.log.note_suspected(contact(2), True)

        assert list(said.log.changes) == []

    run(main, seed=1)
