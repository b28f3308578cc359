"""The log of a data directory: what is in it holds, however often it is cleaned, and it does not outgrow what holds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

import dht
import gsg.storage.disk.compaction
from gsg.storage.clock import HybridClock
from gsg.storage.disk.compaction import Compaction
from gsg.storage.disk.data_directory import DataDirectory
from gsg.storage.disk.group_commit import GroupCommit
from gsg.storage.disk.journal import GROUP_FACTS, Group
from gsg.storage.facts_by_key import FactsByKey, Mark
from gsg.tuples.features import Key
from gsg.tuples.terms import Tuple
from tests.gsg.known import history_of

A, B, C = ("a",), ("b",), ("c",)
MARKS: list[Mark] = [(0, 1, 1)]


@pytest.fixture(autouse=True)
def _little_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.disk.compaction, "SPARE", 4)
    monkeypatch.setattr(gsg.storage.disk.compaction, "FACTS_A_WRITE", 5)


def key(fact: Tuple) -> Key:
    return (1, 0, fact[0])


def test_a_log_of_what_holds_is_left_alone_until_half_of_it_may_not() -> None:
    counted = []

    def alive() -> int:
        counted.append(0)
        return 100

    cleaning = Compaction(alive)

    assert not cleaning.is_due(3, 1)
    assert not cleaning.is_due(200, 1)
    assert not cleaning.is_due(203, 1)
    assert len(counted) == 1, "what holds is counted when the log has grown, not at each write"
    assert cleaning.is_due(204, 1)


def test_it_is_cleaned_up_to_the_last_group_that_there_was() -> None:
    cleaning = Compaction(lambda: 0)
    assert cleaning.is_due(5, 3)

    cleaning.note_written(Group([(A, MARKS)], clock=1, until=2))
    assert cleaning.is_due(4, 4), "what has been begun is brought to its end"
    cleaning.note_written(Group([(B, MARKS)], clock=1, until=3))

    assert not cleaning.is_due(3, 5)


def test_what_was_written_meanwhile_is_not_written_again() -> None:
    cleaning = Compaction(lambda: 0)
    cleaning.note_written(Group([(C, MARKS)], clock=1))
    assert cleaning.is_due(5, 3)
    cleaning.note_written(Group([(A, MARKS)], clock=1, until=1))

    assert cleaning.without_written([A, B, B, C]) == [B, C]
    cleaning.note_written(Group([], clock=1, until=3))
    assert cleaning.is_due(5, 4)
    assert cleaning.without_written([A, B]) == [A, B], "the next time all are looked at again"


def test_more_old_facts_are_looked_at_than_new_ones_are_written_up_to_a_group() -> None:
    assert Compaction.share(1) > 5
    assert Compaction.share(1_000) > 2_000
    assert Compaction.share(GROUP_FACTS) == GROUP_FACTS


async def written(folder: Path, seed: int, *, crash: bool) -> tuple[dict[Tuple, list[Mark]], list[int], set[int]]:
    """What holds after many changes, what the log weighed after each, and up to where it was cleaned."""
    rng = Random(seed)
    keeping, entries = GroupCommit(folder), FactsByKey()
    await keeping.open(None, lambda: dht.Identity(bytes(32)))
    await keeping.resume(entries, HybridClock(lambda: 1))
    weights, cleanings = [0], set()
    for stamp in range(300):
        for _ in range(rng.choice((1, 1, 5))):
            fact: Tuple = (rng.randrange(40),)
            if rng.random() < 0.6:
                entries.enter(key(fact), fact, stamp)
            elif rng.random() < 0.9:
                entries.leave(key(fact), fact, stamp)
            else:
                entries.drop(key(fact))
        await keeping._write()
        weights.append(keeping._disk.weight)
        cleanings.add(keeping._compaction._until)
    known = {fact: entries.marks(fact) for each in entries.known_keys() for _, fact, _ in history_of(entries, each)}
    if crash:
        keeping.abandon()
    else:
        await keeping.close()
    return known, weights, cleanings


@pytest.mark.parametrize("crash", [False, True], ids=["closed", "abandoned"])
@pytest.mark.parametrize("seed", range(5))
def test_what_holds_comes_back_however_often_the_log_was_cleaned(tmp_path: Path, seed: int, crash: bool) -> None:
    known, weights, cleanings = asyncio.run(written(tmp_path / "data", seed, crash=crash))

    disk = DataDirectory(tmp_path / "data")
    disk.open()
    rows = [row for some in disk.all_rows() for row in some]
    assert len(rows) == len(dict(rows)), "each once"
    assert dict(rows) == known
    assert disk.weight == weights[-1]
    disk.close()
    assert len(cleanings) > 3, "one after the other"
    assert max(weights) < 5 * 40, "600 changes were written, of 40 facts"


async def test_facts_whose_new_state_waits_beyond_a_group_do_not_go_with_their_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.storage.disk.journal, "GROUP_FACTS", 2)
    keeping, entries = GroupCommit(tmp_path), FactsByKey()
    await keeping.open(None, lambda: dht.Identity(bytes(32)))
    await keeping.resume(entries, HybridClock(lambda: 1))
    facts: list[Tuple] = [(number,) for number in range(9)]
    for stamp in range(3):
        for fact in facts:
            entries.enter(key(fact), fact, stamp)
        # Of nine that wait two are written at a time, while the groups of all go: the power may fail after each.
        while keeping._journal.waiting > 1:
            await keeping._write()
            rows = dict(row for some in keeping._disk.all_rows() for row in some)
            assert stamp == 0 or rows.keys() == set(facts)
    assert keeping._compaction._until or keeping._disk.weight < 3 * len(facts)
    await keeping.close()


def test_where_a_group_is_damaged_all_facts_are_written_once_more_and_the_groups_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.disk.compaction, "GROUP_FACTS", 2)
    cleaning = Compaction(lambda: 0)
    assert not cleaning.is_anew

    # Each fact as often as it has keys.
    cleaning.begin_anew(iter([A, B, A, B, C]), 7)

    assert cleaning.next_of_all() == (0, [A, B])
    cleaning.note_written(Group([(A, MARKS), (B, MARKS)], clock=1))
    assert cleaning.next_of_all() == (0, [])
    assert cleaning.next_of_all() == (7, [C])
    # The write failed, and what was taken waits in the journal.
    assert cleaning.next_of_all() == (7, [])
    assert cleaning.is_anew
    cleaning.note_written(Group([(C, MARKS)], clock=1, until=7))
    assert not cleaning.is_anew
    assert not cleaning.is_due(3, 9)
