"""What has changed and is not on disk yet: each fact once, as it stands, in the order of the changes."""

from __future__ import annotations

from math import inf

import pytest

import gsg.storage.disk.journal
import gsg.storage.tombstones
from gsg.storage.clock import CLOCKS_APART_S, HybridClock
from gsg.storage.disk.journal import Group, Journal
from gsg.storage.facts_by_key import FactsByKey
from gsg.tuples.features import Key
from gsg.tuples.terms import Tuple
from tests.gsg.known import history_of

A, B = ("a", 1), ("b", 2)


def key(fact: Tuple, position: int = 0) -> Key:
    return (len(fact), position, fact[position])


@pytest.fixture
def entries() -> FactsByKey:
    entries = FactsByKey()
    entries.remembering = True
    return entries


@pytest.fixture
def journal(entries: FactsByKey) -> Journal:
    versions = HybridClock(lambda: 0)
    versions.latest = 7
    return Journal(entries, versions)


def test_a_batch_says_how_each_fact_stands(entries: FactsByKey, journal: Journal) -> None:
    entries.enter(key(A), A, 1)
    entries.enter(key(A, 1), A, 1)
    entries.leave(key(A, 1), A, 2)
    entries.enter(key(B), B, 3)

    assert journal.take() == Group([(A, [(0, 1, 1), (1, -1, 2)]), (B, [(0, 1, 3)])], clock=7)
    journal.written()
    assert journal.take() is None


def test_what_is_to_be_written_once_more_is_a_batch_of_its_own_where_nothing_else_waits(
    entries: FactsByKey, journal: Journal
) -> None:
    entries.enter(key(A), A, 1)
    journal.take()
    journal.written()

    assert journal.take([A, B]) == Group([(A, [(0, 1, 1)])], clock=7)
    journal.written()
    assert journal.take([], 5) == Group([], clock=7, until=5)


def test_what_is_forgotten_is_written_as_such(entries: FactsByKey, journal: Journal) -> None:
    entries.enter(key(A), A, 1)
    entries.leave(key(B), B, 2)
    journal.take()
    journal.written()

    entries.drop(key(A))
    entries.buried.forget_before(inf)

    assert journal.take() == Group([(A, []), (B, [])], clock=7)


def test_a_dropped_key_takes_its_tombstones_along(entries: FactsByKey, journal: Journal) -> None:
    entries.leave(key(B), B, 2)
    journal.take()
    journal.written()

    entries.drop(key(B))

    assert journal.take() == Group([(B, [])], clock=7)


def test_a_mark_is_reached_when_all_before_it_is_on_disk(
    entries: FactsByKey, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.storage.disk.journal, "GROUP_FACTS", 1)
    entries.enter(key(A), A, 1)
    first = journal.mark()
    entries.enter(key(B), B, 2)
    second = journal.mark()
    assert journal.on_disk < first < second

    journal.take()
    journal.written()
    assert first <= journal.on_disk < second

    journal.take()
    assert journal.on_disk < journal.mark() == second
    journal.written()
    assert journal.mark() == journal.on_disk == second


def test_a_batch_that_failed_comes_again_as_things_stand_then(entries: FactsByKey, journal: Journal) -> None:
    entries.enter(key(A), A, 1)
    journal.take()
    entries.enter(key(B), B, 2)
    entries.leave(key(A), A, 3)

    journal.failed()

    assert journal.waiting == 2
    assert journal.take() == Group([(A, [(0, -1, 3)]), (B, [(0, 1, 2)])], clock=7)
    journal.written()
    assert journal.mark() == journal.on_disk


def test_a_failure_without_a_batch_is_nothing(entries: FactsByKey, journal: Journal) -> None:
    entries.enter(key(A), A, 1)

    journal.failed()

    assert journal.waiting == 1


def test_entries_come_back_as_their_batches_said(entries: FactsByKey, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    for stamp, fact in ((5, A), (2, B), (4, ("c", 3))):
        entries.enter(key(fact), fact, stamp)
        entries.leave(key(fact, 1), fact, stamp + 1)
    batch = journal.take()
    assert batch is not None

    again = FactsByKey()
    latest = again.restore(batch.rows)
    again.restored()

    assert latest == 6
    for feature in entries.known_keys():
        assert history_of(again, feature) == history_of(entries, feature)
    # The oldest tombstone goes first, in whatever order they came back.
    monkeypatch.setattr(gsg.storage.tombstones, "TOMBSTONES", 3)
    again.remembering = True
    again.leave(key(("d", 4)), ("d", 4), 9)
    assert [again.stamp_of(key(fact, 1), fact) for fact in (A, B, ("c", 3))] == [6, -1, 5]


def test_the_time_is_written_when_what_is_kept_is_too_old_for_a_clock_that_is_set_back(entries: FactsByKey) -> None:
    now_s = [CLOCKS_APART_S + 1]
    journal = Journal(entries, HybridClock(lambda: now_s[0]))

    assert journal.take() == Group([], clock=int(now_s[0]) * 1_000_000)
    journal.written()
    now_s[0] += CLOCKS_APART_S
    assert journal.take() is None
    now_s[0] += 1
    assert journal.take() == Group([], clock=int(now_s[0]) * 1_000_000)


def test_a_time_beyond_what_a_restart_would_make_of_the_clock_is_written_without_a_fact(entries: FactsByKey) -> None:
    versions = HybridClock(lambda: 0)
    journal = Journal(entries, versions)
    versions.latest = ahead = int(CLOCKS_APART_S * 1_000_000) + 1

    assert journal.take() == Group([], clock=ahead)
    journal.failed()
    assert journal.take() == Group([], clock=ahead)
    journal.written()
    assert journal.take() is None
