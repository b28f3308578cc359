"""What works in a thread lets the loop have its turn soon, and only as long as it does."""

from __future__ import annotations

import asyncio
import gc
import sys

import pytest

from gsg.interleaving import SWITCH_S, YOUNG_OBJECTS, YOUNG_ROUNDS, in_thread, interleaved


def test_threads_take_turns_more_often_until_the_last_work_is_done() -> None:
    usual_s = sys.getswitchinterval()

    def within() -> tuple[float, float]:
        before_s = sys.getswitchinterval()
        return before_s, interleaved(sys.getswitchinterval)

    inside = asyncio.run(in_thread(within))

    assert inside == (pytest.approx(SWITCH_S), pytest.approx(SWITCH_S))
    assert sys.getswitchinterval() == pytest.approx(usual_s)


def test_work_that_fails_leaves_the_usual_interval() -> None:
    usual_s = sys.getswitchinterval()

    with pytest.raises(ValueError, match="no number"):
        interleaved(_fail, "no number")

    assert sys.getswitchinterval() == pytest.approx(usual_s)


def test_an_interval_that_is_shorter_already_stays() -> None:
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S / 2)
    try:
        assert interleaved(sys.getswitchinterval) == pytest.approx(SWITCH_S / 2)
    finally:
        sys.setswitchinterval(usual_s)


def test_the_collector_walks_fewer_objects_meanwhile() -> None:
    usual = gc.get_threshold()
    gc.set_threshold(50_000, 20, 50)
    try:
        assert interleaved(gc.get_threshold) == (YOUNG_OBJECTS, YOUNG_ROUNDS, 50)
        assert gc.get_threshold() == (50_000, 20, 50)
        gc.set_threshold(700, 5, 10)
        assert interleaved(gc.get_threshold) == (700, 5, 10)
    finally:
        gc.set_threshold(*usual)


def _fail(why: str) -> None:
    raise ValueError(why)
