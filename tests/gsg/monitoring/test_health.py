"""Whether a peer lives, has started and is ready, decided from what it knows of itself."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from peers import guest_of, quiet, simulate
from well import WELL

from dht.simnet import SimNet
from gsg import Peer
from gsg.monitoring.health import (
    LATE_S,
    Checks,
    Grade,
    as_dict,
    as_text,
    failing,
    live_checks,
    ready_checks,
    startup_checks,
)
from gsg.monitoring.vitals import Doors


@pytest.mark.parametrize("checks", [live_checks, startup_checks, ready_checks])
def test_nothing_fails_where_all_is_well(checks: Checks) -> None:
    assert failing(checks(WELL)) == []


@pytest.mark.parametrize(
    ("change", "name", "detail", "grade"),
    [
        ({"ended": ("disk", "pauses")}, "work", "has ended, and will not go on: disk, pauses", Grade.CRITICAL),
        ({"has_entered": False}, "overlay", "not entered yet", Grade.CRITICAL),
        ({"doors": {"http": True, "pedro": False}}, "doors", "not open: pedro", Grade.CRITICAL),
        ({"loop_late_s": LATE_S}, "loop", "turns 1000 ms late", Grade.WARNING),
        ({"peers": 1}, "peers", "it was told to join others, and knows of none", Grade.CRITICAL),
        ({"disk_problem": "its disk is full"}, "disk", "its disk is full", Grade.CRITICAL),
        ({"leaving": True}, "handover", "this peer is about to stop", Grade.CRITICAL),
        ({"comparing": 7}, "handover", "7 keys are being compared with their other holders", Grade.WARNING),
        ({"stale_feeds": 2}, "feeds", "2 stale", Grade.WARNING),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_peer_is_not_ready_while_one_check_fails(change: dict[str, Any], name: str, detail: str, grade: Grade) -> None:
    [check] = failing(ready_checks(replace(WELL, **change)))

    assert (check.name, check.detail, check.grade) == (name, detail, grade)


def test_who_was_told_to_join_nobody_is_ready_alone() -> None:
    assert failing(ready_checks(replace(WELL, peers=1, joins=False))) == []


def test_only_what_a_new_start_mends_makes_a_peer_dead() -> None:
    ill = replace(WELL, has_entered=False, leaving=True, peers=1, loop_late_s=9.0, disk_problem="full", stale_feeds=9, comparing=9)

    assert failing(live_checks(ill)) == []
    assert [check.name for check in failing(live_checks(replace(ill, ended=("handover",))))] == ["work"]


def test_a_check_that_is_excluded_does_not_count_and_is_shown() -> None:
    checks = ready_checks(replace(WELL, stale_feeds=1))

    assert as_text("readyz", checks, {"feeds"}, verbose=False, details=True) == "ok\n"
    assert "[-]feeds excluded: 1 stale\nreadyz check passed\n" in as_text("readyz", checks, {"feeds"}, verbose=True, details=True)
    assert as_dict(checks, {"feeds"}, details=False)["ok"] is True


def test_whoever_may_not_read_hears_no_details() -> None:
    checks = ready_checks(replace(WELL, disk_problem="cannot write /secret/place"))

    said = as_text("readyz", checks, verbose=True, details=False) + str(as_dict(checks, details=False))

    assert "[-]disk failed\n" in said
    assert "secret" not in said


def test_a_door_that_is_expected_does_not_stand_yet() -> None:
    doors = Doors()
    doors.expect("pedro")
    doors.add("http", lambda: True)

    assert doors.standing() == {"pedro": False, "http": True}
    doors.add("pedro", lambda: True)
    doors.expect("pedro")
    assert doors.standing() == {"pedro": True, "http": True}
    doors.remove("pedro")
    doors.remove("pedro")
    assert doors.standing() == {"http": True}


def test_peers_know_whether_they_are_alone_by_choice() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        first, second = peers
        assert failing(ready_checks(first.vitals.state())) == failing(ready_checks(second.vitals.state())) == []

        net.crash(first.contact.host)
        await first.__aexit__(ConnectionError, None, None)
        await asyncio.sleep(60)

        assert [check.name for check in failing(ready_checks(second.vitals.state()))] == ["peers"]

    simulate(work, seed=3, size=2)


def test_work_that_has_ended_is_named_and_work_that_ends_with_the_peer_is_not() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [peer] = peers
        peer._work["heartbeats"].cancel()
        await quiet()

        assert peer.vitals.state().ended == ("heartbeats",)
        peer._parts.responsibility.leave()
        assert peer.vitals.state().ended == ()

    simulate(work, seed=4, size=1)


def test_a_newcomer_whose_keys_are_compared_says_so_until_they_are() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with guest_of(net, peers) as newcomer:
            newcomer._parts.catching_up._comparing((1, 0, "x"))
            assert newcomer.vitals.state().comparing == 1
            await quiet()
            assert newcomer.vitals.state().comparing == 0

    simulate(work, seed=5, size=4)
