"""Queues are those that taking one arrival and one reading after the other comes to."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from simulations.subscribers.frames import frames_of
from simulations.subscribers.queues import Limits, Pause, Policy, Told, delays_of, play

ALWAYS = Pause()
LIMITS = Limits(full=600, drained=200, kept=8, kept_bytes=10_000, snapshot_part=5, ask_s=7.0, round_trip_s=2.0)
"""Six entries of 100 bytes fill a link, two are few, and eight are kept besides."""


def arrivals(count: int, seed: int, mean_s: float = 1.0) -> np.ndarray:
    """At no two of them, and at none when anything is read, the same moment."""
    return np.cumsum(np.random.default_rng(seed).exponential(mean_s, count))


def hybrid(events: bool, at_s: list[float], read_s: float) -> tuple[dict[int, float], int, int, int, int]:
    """When each is read; lost, facts of snapshots, gaps, and the most that waited: one thing after the other."""
    ends: dict[int, float] = {}
    link: deque[int] = deque()
    kept: list[int] = []
    lost = stored = gaps = most = 0
    full = gap = False
    reading_s: float | None = None
    snapshot_s: float | None = None
    begins_s: float | None = None
    there = 0
    number = 0
    missed: list[int] = []
    while number < len(at_s) or link or snapshot_s is not None or begins_s is not None or kept:
        came_s = at_s[number] if number < len(at_s) else float("inf")
        moments = [came_s, *(moment for moment in (reading_s, snapshot_s, begins_s) if moment is not None)]
        now = min(moments)
        if now == came_s:
            loading = snapshot_s is not None
            if begins_s is not None or (gap and not events):
                missed.append(number)
            elif gap:
                lost += 1
            elif full or loading:
                if len(kept) == 8:
                    gap, gaps = True, gaps + 1
                    if events:
                        lost += 1
                    else:
                        missed, kept = [*missed, *kept, number], []
                else:
                    kept.append(number)
            else:
                link.append(number)
                if reading_s is None:
                    reading_s = now + read_s
                full = len(link) >= 6
            most = max(most, len(link) + len(kept))
            number += 1
        elif now == reading_s:
            ends[link.popleft()] = now
            reading_s = now + read_s if link else None
            if full and len(link) <= 2:
                full = False
                link.extend(kept)
                kept = []
                full = len(link) >= 6
                if gap and events:
                    gap = False
                reading_s = now + read_s if link else None
            if not link and gap and not events:
                begins_s = now + 2.0
        elif now == begins_s:
            begins_s, there, gap = None, number, False
            stored += there
            snapshot_s = now + read_s * there
        else:
            ends.update(dict.fromkeys([each for each in missed if each < there], now))
            missed, snapshot_s = [each for each in missed if each >= there], None
            if gap:
                begins_s = now + 2.0
                continue
            link.extend(kept)
            kept = []
            full = len(link) >= 6
            reading_s = now + read_s if link else None
    return ends, lost, stored, gaps, most


@pytest.mark.parametrize("read_s", [0.3, 0.9, 1.1, 1.6, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_queue_that_is_pushed_is_read_one_after_the_other(read_s: float, seed: int) -> None:
    at_s = arrivals(300, seed)
    ends, free, most = [], 0.0, 0
    for number, came in enumerate(at_s.tolist()):
        free = max(free, came) + read_s
        ends.append(free)
        most = max(most, sum(1 for end in ends[: number + 1] if end > came))

    found = play(Policy.PUSH, at_s, read_s, LIMITS, 100.0, events=False, pause=ALWAYS)

    assert found.ends_s.tolist() == pytest.approx(ends)
    assert (found.waiting, found.lost, found.messages) == (most, 0, 300)


@pytest.mark.parametrize("events", [False, True], ids=["facts", "events"])
@pytest.mark.parametrize("read_s", [0.3, 0.9, 1.1, 1.6, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_hybrid_queue_is_that_of_one_thing_after_the_other(events: bool, read_s: float, seed: int) -> None:
    at_s = arrivals(300, seed)

    found = play(Policy.HYBRID, at_s, read_s, LIMITS, 100.0, events=events, pause=ALWAYS)

    ends, lost, stored, gaps, most = hybrid(events, at_s.tolist(), read_s)
    assert {number: end for number, end in enumerate(found.ends_s.tolist()) if end == end} == pytest.approx(ends)
    assert (found.lost, found.stored, found.gaps, found.waiting) == (lost, stored, gaps, most)
    assert len(ends) + lost == 300


def test_who_reads_in_time_is_told_alike_by_push_and_hybrid() -> None:
    at_s = arrivals(500, 3)

    pushed, hybrid_ = (
        play(policy, at_s, 0.2, LIMITS, 100.0, events=False, pause=ALWAYS) for policy in (Policy.PUSH, Policy.HYBRID)
    )

    assert hybrid_.ends_s.tolist() == pytest.approx(pushed.ends_s.tolist())
    assert (hybrid_.gaps, hybrid_.messages) == (0, pushed.messages)


def test_who_pulls_asks_again_when_all_is_read_but_not_too_soon() -> None:
    at_s = np.array([0.5, 1.0, 1.5, 20.0])

    found = play(Policy.PULL, at_s, 1.0, LIMITS, 100.0, events=False, pause=ALWAYS)

    # Asked at 0, 7, 14 and 21; each answer takes a round trip.
    assert found.ends_s.tolist() == [10.0, 11.0, 12.0, 24.0]
    assert (found.waiting, found.answers, found.asked, found.answered, found.lost) == (3, 4, 4, 4, 0)


def test_empty_answers_before_something_comes_are_counted_however_many() -> None:
    found = play(Policy.PULL, np.array([7e12]), 1.0, LIMITS, 100.0, events=False, pause=ALWAYS)

    assert (found.answers, found.answered, found.waiting) == (10**12 + 1, 1, 1)
    assert found.ends_s.tolist() == [7e12 + 3.0]


def test_an_answer_has_so_many_and_the_rest_is_asked_for_at_once() -> None:
    at_s = np.linspace(0.1, 0.2, 12)

    found = play(Policy.PULL, at_s, 1.0, LIMITS, 100.0, events=False, pause=ALWAYS)

    assert found.ends_s.tolist() == [*range(10, 15), *range(17, 22), 24, 25]
    assert (found.waiting, found.answers) == (12, 4)


def test_a_reader_that_stands_still_reads_nothing_meanwhile() -> None:
    at_s = np.array([0.5, 3.0, 4.0, 11.5])
    pause = Pause(2.0, 9.0)

    found = play(Policy.PUSH, at_s, 1.0, LIMITS, 100.0, events=False, pause=pause)

    assert delays_of(found, at_s, pause).tolist() == [1.0, 9.0, 9.0, 2.5]
    assert found.waiting == 3


def test_bytes_are_of_messages_both_ways() -> None:
    frames = frames_of()
    none = np.zeros(0)

    assert Told(none, pushed=3).bytes(frames, events=False) == 3 * (frames.deltas + frames.fact)
    assert Told(none, pushed=3).bytes(frames, events=True) == 3 * (frames.happened + frames.event)
    asked = Told(none, answers=2, answered=9, asked=2)
    assert asked.bytes(frames, events=False) == 2 * (frames.deltas + frames.resume) + 9 * frames.fact
    gap = Told(none, parts=2, stored=7, asked=1, gaps=1)
    assert gap.bytes(frames, events=False) == 2 * frames.snapshot + 7 * frames.stored + frames.resume + frames.missed
    assert gap.messages == 4
