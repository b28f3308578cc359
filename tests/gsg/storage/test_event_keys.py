"""Keys of events: what is known of them, for how long, of how many, and as bytes."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gsg.storage.event_keys as keys_module
from gsg import LocalError, Symbol
from gsg.storage.event_keys import KEPT_S, RECORD_BYTES, EventKeys, EventsHash, KeyRecord, record_of
from gsg.tuples.terms import Tuple

BELL: list[Tuple] = [("bell", Symbol("rang"))]


def asked(key: str, owner: str = "", at_s: float = 0, events: list[Tuple] = BELL) -> KeyRecord:
    return record_of(owner, key, EventsHash(events), None, at_s)


def known(keys: EventKeys, *names: str, owner: str = "", at_s: float = 0) -> list[bool]:
    return [keys.find(asked(name, owner, at_s)) is not None for name in names]


def test_a_key_is_known_when_its_events_were_told_and_not_before() -> None:
    keys = EventKeys()
    before = known(keys, "a")

    keys.remember(asked("a"))

    assert (before, known(keys, "a", "b")) == ([False], [True, False])


def test_keys_of_one_owner_are_not_those_of_another() -> None:
    keys = EventKeys()

    keys.remember(asked("a", "lake"))

    assert (known(keys, "a", owner="lake"), known(keys, "a"), known(keys, "a", owner="la")) == ([True], [False], [False])


def test_a_key_with_other_events_is_refused() -> None:
    keys = EventKeys()
    keys.remember(asked("a"))

    with pytest.raises(LocalError, match=r"^the key of these events was used for others, which were told; expected"):
        keys.find(asked("a", events=[("bell", Symbol("broke"))]))


def test_events_for_other_readers_are_others() -> None:
    readers = frozenset([b"\0" * 20])

    assert record_of("", "a", EventsHash(BELL), readers, 0).events != asked("a").events


def test_a_key_is_forgotten_after_a_day() -> None:
    keys = EventKeys()
    keys.remember(asked("a", at_s=100))

    assert known(keys, "a", at_s=100 + KEPT_S) == [True]
    assert known(keys, "a", at_s=101 + KEPT_S) == [False]
    keys.remember(asked("b", at_s=101 + KEPT_S))
    assert keys.count == 1


def test_the_oldest_keys_of_one_owner_make_room_for_newer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "KEYS_OF_ONE", 3)
    keys = EventKeys()
    keys.remember(asked("other", "lake"))

    for name in ("a", "b", "a", "c", "d"):
        keys.remember(asked(name))

    assert known(keys, "a", "b", "c", "d") == [True, False, True, True]
    assert known(keys, "other", owner="lake") == [True]
    assert keys.count == 4


def test_the_owner_with_the_most_keys_makes_room_where_all_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "KEYS", 3)
    keys = EventKeys()
    for name in ("a", "b"):
        keys.remember(asked(name, "lake"))

    for name in ("c", "d"):
        keys.remember(asked(name, "sea"))

    assert (known(keys, "a", "b", owner="lake"), known(keys, "c", "d", owner="sea")) == ([False, True], [True, True])
    assert keys.count == 3


def test_an_owner_without_keys_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "KEYS", 1)
    keys = EventKeys()

    for name in ("a", "b", "c"):
        keys.remember(asked("key", name))

    assert len(keys.records()) == 1


def calls_of(work: Callable[[], object]) -> int:
    """How many calls of functions it takes."""
    kinds: list[str] = []
    sys.setprofile(lambda _frame, kind, _what: kinds.append(kind))
    try:
        work()
    finally:
        sys.setprofile(None)
    return kinds.count("call")


def test_making_room_costs_the_same_however_many_owners_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = []
    for owners in (10, 1_000):
        monkeypatch.setattr(keys_module, "KEYS", 2 * owners)
        keys = EventKeys()
        for number in range(2 * owners):
            keys.remember(asked("a" if number < owners else "b", f"{number % owners}"))
        newest = asked("c", "0")
        costs.append(calls_of(lambda keys=keys, newest=newest: keys.remember(newest)))  # type: ignore[misc]  # binds them
        assert keys.count == 2 * owners

    assert costs[0] == costs[1]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=60))
def test_no_more_keys_are_known_than_may_be_and_the_newest_is(told: list[tuple[str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(keys_module, "KEYS", 6)
        patched.setattr(keys_module, "KEYS_OF_ONE", 4)
        keys = EventKeys()

        for at_s, (owner, number) in enumerate(told):
            keys.remember(asked(f"{number}", owner, at_s * KEPT_S // 8))

            assert known(keys, f"{number}", owner=owner, at_s=at_s * KEPT_S // 8) == [True]
            assert keys.count == len(keys.records()) <= 6


@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb", "\ud800", 7], ids=["empty", "long", "newline", "surrogate", "number"])
def test_what_can_be_no_key_is_refused(key: str) -> None:
    with pytest.raises(LocalError, match="is no key for events; expected a text of 1 to 200 printable characters, such as a UUID"):
        asked(key)


def test_records_are_read_as_they_were_written_in_their_order() -> None:
    keys, again = EventKeys(), EventKeys()
    for name in ("b", "a", "c"):
        keys.remember(asked(name, at_s=7))

    for packed in keys.records():
        record = KeyRecord.unpack(packed)
        assert record is not None
        again.remember(record)

    assert again.records() == keys.records()
    assert {len(record) for record in keys.records()} == {RECORD_BYTES}


@given(st.binary(max_size=2 * RECORD_BYTES))
def test_bytes_that_are_no_record_are_none(data: bytes) -> None:
    assert KeyRecord.unpack(data) is None


@given(st.integers(0, 8 * RECORD_BYTES - 1))
def test_a_record_with_a_wrong_bit_is_none(bit: int) -> None:
    packed = bytearray(asked("a").pack())
    packed[bit // 8] ^= 1 << bit % 8

    assert KeyRecord.unpack(bytes(packed)) is None
