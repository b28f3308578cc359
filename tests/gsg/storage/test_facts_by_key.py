"""Facts under keys: the later change counts, and what went is remembered for a while."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gsg.storage.checksums
import gsg.storage.tombstones
from gsg.storage.facts_by_key import FactsByKey
from gsg.storage.tombstones import LATELY_S, TOMBSTONE_S
from gsg.tuples.terms import Tuple
from tests.gsg.known import history_of

KEY = (2, 0, "a")
A, B, C = ("a", 1), ("a", 2), ("a", 3)


class Clock:
    """Stands until it is set."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def held(clock: Clock) -> FactsByKey:
    held = FactsByKey(clock)
    held.remembering = True
    return held


def test_a_change_says_whether_it_was_one(held: FactsByKey) -> None:
    assert (held.enter(KEY, A, 1), held.enter(KEY, A, 2), held.leave(KEY, A, 3), held.leave(KEY, A, 4)) == (
        True,
        False,
        True,
        False,
    )
    assert (KEY in held, len(held), held.stamp_of(KEY, A)) == (False, 0, 4)


@pytest.mark.parametrize(
    ("sign", "stamp", "behind"),
    [(1, 4, [1]), (1, 5, [1]), (1, 6, []), (-1, 2, [0]), (-1, 3, []), (-1, 4, [])],
    ids=["came before it went", "at the same time", "later", "went before it came", "at the same time, too", "later, too"],
)
def test_of_two_contrary_changes_the_later_one_counts(held: FactsByKey, sign: int, stamp: int, behind: list[int]) -> None:
    held.enter(KEY, A, 3)
    held.leave(KEY, B, 5)

    assert held.behind(sign, [A, B, C], [b"\x00"] * 3, stamp) == behind


def test_what_is_said_twice_keeps_the_later_time(held: FactsByKey) -> None:
    held.enter(KEY, A, 5)
    held.leave(KEY, B, 5)

    assert (held.enter(KEY, A, 3), held.leave(KEY, B, 3)) == (False, False)

    assert (held.stamp_of(KEY, A), held.stamp_of(KEY, B)) == (5, 5)


def test_history_has_what_is_there_and_what_went(held: FactsByKey) -> None:
    held.enter(KEY, A, 1)
    held.enter(KEY, B, 2)
    held.leave(KEY, B, 3)
    held.leave(KEY, C, 4)
    held.enter(KEY, C, 5)

    assert history_of(held, KEY) == [(1, A, 1), (1, C, 5), (-1, B, 3)]
    assert held.known_keys() == {KEY}


def test_a_peer_alone_remembers_nothing_of_what_went() -> None:
    held = FactsByKey()
    held.enter(KEY, A, 1)
    held.leave(KEY, A, 2)

    assert (held.known_keys(), held.stamp_of(KEY, A)) == (set(), -1)


def test_tombstones_go_with_time_and_those_that_were_overtaken_do_not_count(held: FactsByKey, clock: Clock) -> None:
    held.leave(KEY, A, 1)
    held.leave(KEY, B, 2)
    clock.now_s = TOMBSTONE_S
    held.leave(KEY, A, 3)

    clock.now_s = TOMBSTONE_S + 1
    held.leave(KEY, C, 4)

    assert (history_of(held, KEY), held.buried.forgotten, held.buried.count) == ([(-1, A, 3), (-1, C, 4)], 0, 2)


def test_a_clock_that_is_hours_ahead_ends_no_memory_of_what_went(held: FactsByKey) -> None:
    held.leave(KEY, A, 1)

    held.leave(KEY, B, 10 * TOMBSTONE_S * 1_000_000)

    assert held.stamp_of(KEY, A) == 1


def test_what_went_before_a_peer_was_stopped_is_remembered_from_its_start(clock: Clock) -> None:
    clock.now_s = 10 * TOMBSTONE_S
    held = FactsByKey(clock)
    held.remembering = True
    held.restore([(A, [(0, -1, 1)])])
    held.restored()

    clock.now_s += TOMBSTONE_S
    held.leave(KEY, B, 2)
    assert held.stamp_of(KEY, A) == 1
    clock.now_s += 1
    held.leave(KEY, C, 3)
    assert held.stamp_of(KEY, A) == -1


def test_a_fact_that_comes_and_goes_is_one_tombstone_at_most(held: FactsByKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.tombstones, "TOMBSTONES", 2)
    monkeypatch.setattr(gsg.storage.tombstones, "SPARE", 5)
    held.leave(KEY, A, 1)
    for stamp in range(2, 100, 2):
        held.enter(KEY, B, stamp)
        held.leave(KEY, B, stamp + 1)

    assert (held.stamp_of(KEY, A), held.buried.forgotten, held.buried.count) == (1, 0, 2)
    assert len(held.buried._order) <= 2 * 2 + 5


def test_beyond_the_limit_the_oldest_tombstone_goes_and_is_counted(held: FactsByKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.tombstones, "TOMBSTONES", 2)
    for stamp, fact in enumerate((A, B, C), 1):
        held.leave(KEY, fact, stamp)

    assert (history_of(held, KEY), held.buried.forgotten) == ([(-1, B, 2), (-1, C, 3)], 1)


def test_a_dropped_key_leaves_nothing(held: FactsByKey) -> None:
    held.enter(KEY, A, 1)
    held.leave(KEY, B, 2)

    assert held.drop(KEY) == {A: 1}
    assert held.known_keys() == set()
    held.buried.forget_before(9)
    assert (held.buried.forgotten, held.buried.count) == (0, 0)


@given(
    st.lists(st.tuples(st.sampled_from([b"\x00", b"\x01", b"\x00\x01", b"\x01\x00"]), st.sampled_from([1, -1]), st.integers(0, 5)))
)
def test_changes_under_several_keys_at_once_are_those_under_each(changes: list[tuple[bytes, int, int]]) -> None:
    at_once, each = FactsByKey(), FactsByKey()
    for held in (at_once, each):
        held.remembering, held.touched, held.changed = True, {}, {}

    for positions, sign, stamp in changes:
        keys = [(2, position, A[position]) for position in positions]
        later = [key for key in keys if sign < 0 or each.stamp_of(key, A) < stamp]
        changed = [key for key in later if each.change(A, sign)(key, A, stamp)]

        assert at_once.change_all(A, positions, sign, stamp) == changed

    assert at_once.marks(A) == each.marks(A)
    assert (at_once.touched, at_once.changed) == (each.touched, each.changed)
    assert [history_of(at_once, key) for key in each.known_keys()] == [history_of(each, key) for key in each.known_keys()]


CHANGES = st.lists(
    st.tuples(st.sampled_from(["enter", "enter all", "leave", "drop", "digest"]), st.integers(0, 5), st.integers(0, 20))
)


@given(CHANGES)
def test_a_digest_is_of_what_is_there_whatever_happened_since_the_last_one(changes: list[tuple[str, int, int]]) -> None:
    held = FactsByKey()
    held.remembering = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gsg.storage.checksums, "LARGE", 2)
        for what, number, stamp in changes:
            if what == "drop":
                held.drop(KEY)
            elif what == "digest":
                held.digest_of_all(KEY, 0)
            elif what == "enter all":
                held.change_all(("a", number), b"\x00", 1, stamp)
            else:
                (held.enter if what == "enter" else held.leave)(KEY, ("a", number), stamp)

        anew = FactsByKey()
        anew.remembering = True
        for sign, fact, stamp in history_of(held, KEY):
            anew.change(fact, sign)(KEY, fact, stamp)
        assert (held.digest(KEY), held.buried.digest(KEY)) == (anew.digest(KEY), anew.buried.digest(KEY))


def test_a_digest_tells_a_fact_from_one_that_went(held: FactsByKey) -> None:
    there = FactsByKey()
    there.enter(KEY, A, 1)
    held.leave(KEY, A, 1)

    assert len({there.digest_of_all(KEY, 0), held.digest_of_all(KEY, 0), held.digest_of_all(KEY, 1), 0}) == 3


def test_a_digest_is_of_what_was_there_at_a_moment_and_of_what_went_since_a_period(held: FactsByKey) -> None:
    period_us = gsg.storage.tombstones.PERIOD_S * 1_000_000
    held.enter(KEY, A, 1)
    held.leave(KEY, B, period_us)
    before = held.digest_of_all(KEY, 1)
    held.enter(KEY, C, period_us + 7)
    held.leave(KEY, ("a", 4), period_us + 7)
    held.leave(KEY, ("a", 5), period_us - 1)

    assert held.digest_of_all(KEY, 1) != before
    assert held.digest_of_all(KEY, 1, until=period_us + 7) == before


def test_what_is_forgotten_ends_its_period(held: FactsByKey) -> None:
    period_us = gsg.storage.tombstones.PERIOD_S * 1_000_000
    for number, fact in enumerate((A, B)):
        held.leave(KEY, fact, 5 * period_us + number)

    held.buried.forget_before(inf)

    assert (held.buried.since, held.buried.digest(KEY)) == (6, {})


def test_digests_tell_facts_of_one_message_apart(held: FactsByKey) -> None:
    other = FactsByKey()
    held.enter(KEY, A, 1)
    other.enter(KEY, B, 1)

    assert held.digest(KEY) != other.digest(KEY)


def test_what_went_lately_is_known_until_it_comes_back(held: FactsByKey, clock: Clock) -> None:
    held.leave(KEY, C, 1)
    clock.now_s = LATELY_S + 1
    held.leave(KEY, A, 2)
    held.leave(KEY, B, 3)
    held.leave((2, 1, 1), A, 2)

    assert held.recently_gone(lambda fact: True) == [(B, 3), (A, 2)]
    held.enter(KEY, B, 4)
    assert held.recently_gone(lambda fact: True) == [(A, 2)]
    assert held.recently_gone(lambda fact: fact != A) == []


def test_of_many_that_went_lately_no_more_than_so_many_are_looked_at(held: FactsByKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.tombstones, "LOOKED_AT", 2)
    for stamp, fact in enumerate((A, B, C)):
        held.leave(KEY, fact, stamp)
    tried: list[Tuple] = []

    def admits(fact: Tuple) -> bool:
        tried.append(fact)
        return False

    assert held.recently_gone(admits) == []
    assert tried == [C, B]
