"""What works in a thread lets the loop have its turn soon, and only as long as it does; a collection walks what is new."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator

import pytest

from gsg import interleaving
from gsg.interleaving import SWITCH_S, YOUNG_OBJECTS, in_thread, interleaved, shorten_collections


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


def _fail(why: str) -> None:
    raise ValueError(why)


@pytest.fixture
def collections() -> Iterator[list[dict[str, int]]]:
    """Those that were made, as the collector tells of them; it is as before afterwards."""
    made: list[dict[str, int]] = []

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            made.append(info)

    usual = gc.get_threshold()
    gc.callbacks.append(collected)
    undo = shorten_collections()
    yield made
    undo()
    gc.callbacks.remove(collected)
    assert gc.get_threshold() == usual
    assert not gc.get_freeze_count()
    gc.freeze()  # as it was for the other tests


def test_no_collection_walks_more_than_what_was_made_lately(collections: list[dict[str, int]]) -> None:
    held: list[list[object]] = []
    most = 0

    for _ in range(300_000):
        held.append([held])
        if collections and collections.pop():
            most = max(most, len(gc.get_objects()))

    assert 0 < most < 60_000
    assert gc.get_freeze_count() > 200_000


def test_an_object_is_walked_once(collections: list[dict[str, int]]) -> None:
    held: list[list[object]] = []

    for _ in range(300_000):
        held.append([held])

    assert 0 < len(collections) <= 300_000 // YOUNG_OBJECTS + 1


def test_a_cycle_that_was_frozen_is_found_in_the_end(collections: list[dict[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interleaving, "WHOLE", 3)
    undo = shorten_collections()
    cycle: list[object] = []
    cycle.append(cycle)
    gc.collect()
    frozen = gc.get_freeze_count()
    del cycle

    gc.collect()
    gc.collect()
    found = collections[-1]["collected"]
    gc.collect()
    undo()

    assert frozen
    assert (found, collections[-1]["collected"] >= 1) == (0, True)
