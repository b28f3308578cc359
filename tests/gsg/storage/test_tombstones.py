"""What remains of facts that went is bounded in number, age and bytes, and as short however long they were."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from place import compile_test, everywhere

import gsg.storage.tombstones
from gsg.rendezvous.rendezvous import Rendezvous
from gsg.replication.copying import Copy
from gsg.storage.disk.records import records, rows_of
from gsg.storage.facts_by_key import FactsByKey
from gsg.tuples.audiences import Restricted
from gsg.tuples.features import keys_at
from gsg.tuples.long_constants import LONG_BYTES, Hashed, remains_of, size_of
from gsg.tuples.terms import Symbol, Tuple

CAMERA, IMAGE = Symbol("camera"), Symbol("image")
READERS = frozenset((b"p" * 20,))


def image(number: int, length: int = 100_000) -> Tuple:
    return (CAMERA, IMAGE, f"{number:06d}".ljust(length, "z"))


def holder() -> FactsByKey:
    held = FactsByKey()
    held.remembering = True
    return held


def test_a_long_fact_that_went_leaves_hashes() -> None:
    held = holder()
    held.change_all(image(1), b"\x00\x01\x02", 1, 1)

    held.change_all(image(1), b"\x00\x01\x02", -1, 2)

    assert len(held) == 0
    assert {type(term) for key in held.known_keys() for term in key} == {int, Symbol, Hashed}
    assert held.buried.count == 3
    assert held.buried.size_bytes == 3 * 3 * LONG_BYTES


def test_a_long_fact_lies_once_at_a_holder_however_often_it_comes() -> None:
    held = holder()

    for position in range(3):
        held.change_all(image(1), bytes((position,)), 1, 1)

    assert len({id(fact) for key in held.known_keys() for fact in held.under(key)}) == 1


def test_a_thousand_long_facts_that_went_take_bounded_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.tombstones, "TOMBSTONES_BYTES", 100_000)
    held = holder()

    for number in range(1_000):
        held.change_all(image(number, 5_000), b"\x00\x01\x02", 1, 2 * number)
        held.change_all(image(number, 5_000), b"\x00\x01\x02", -1, 2 * number + 1)
        assert held.buried.size_bytes <= 100_000

    assert held.buried.forgotten == 3_000 - held.buried.count > 0
    assert held.stamp_of(*_home(image(999, 5_000))) == 1_999
    assert held.stamp_of(*_home(image(0, 5_000))) == -1


def _home(fact: Tuple) -> tuple[tuple[int, int, object], Tuple]:
    return keys_at(fact, b"\x00")[0], fact


def test_the_bytes_of_tombstones_are_given_back_whichever_way_they_go() -> None:
    held = holder()
    for number in range(4):
        held.change_all(image(number), b"\x00\x01\x02", -1, 1)

    held.change_all(image(0), b"\x00\x01\x02", 1, 2)
    held.drop((3, 0, CAMERA))
    held.buried.forget_before(float("inf"))

    assert (held.buried.count, held.buried.size_bytes) == (0, 0)


def test_of_tuples_of_very_many_terms_the_bytes_count() -> None:
    held = holder()
    fact = tuple("x" * 200 + str(number) for number in range(200))

    held.change_all(fact, b"\x00", -1, 1)

    assert held.buried.size_bytes > size_of(fact) > 100 * LONG_BYTES / 2


def test_a_late_copy_of_a_long_fact_does_not_bring_it_back_and_a_later_one_does() -> None:
    held = holder()
    held.change_all(image(1), b"\x00\x01\x02", -1, 5)

    assert held.behind(1, [image(1)], [b"\x02"], 5) == [0]
    assert held.behind(1, [image(1)], [b"\x02"], 6) == []
    assert held.change_all(image(1), b"\x00\x01\x02", 1, 5) == []
    assert len(held.change_all(image(1), b"\x00\x01\x02", 1, 6)) == 3
    assert held.buried.count == 0
    assert held.behind(-1, [image(1)], [b"\x00"], 5) == [0]


def test_a_holder_finds_a_long_fact_by_what_remains_of_it_elsewhere() -> None:
    here = Rendezvous(compile_test)
    here.publish(1, [image(1), image(2)], [b"\x00\x01\x02"] * 2, stamp=1)

    here.take_over([-1], [remains_of(image(1))], [b"\x00\x01\x02"], [2])

    assert set(here.held.under((3, 1, IMAGE))) == {image(2)}


def test_a_disk_has_what_remains_of_a_long_fact_that_went_and_it_comes_back_as_that() -> None:
    held = holder()
    held.touched = {}
    for number in (1, 2):
        held.change_all(image(number), b"\x00\x01\x02", 1, number)
    held.change_all(Restricted(image(2), READERS), b"\x00\x01\x02", 1, 5)
    held.change_all(image(1), b"\x00\x01\x02", -1, 9)
    held.change_all(image(2), b"\x02", -1, 9)

    written = [record for _, record in records(held.rows(held.touched))]
    again = holder()
    again.restore([row for record in written for row in rows_of(record)])
    again.restored()

    assert sum(map(len, written)) < 2 * 100_000 + 2_000
    assert {key: again.under(key) for key in again.known_keys()} == {key: held.under(key) for key in held.known_keys()}
    assert {key: again.buried.under(key) for key in again.known_keys()} == {
        key: held.buried.under(key) for key in held.known_keys()
    }
    assert (again.buried.count, again.buried.size_bytes) == (held.buried.count, held.buried.size_bytes)
    assert again.change_all(image(1), b"\x00", 1, 8) == []


def test_a_directory_of_a_version_that_kept_facts_that_went_is_read() -> None:
    # So that version wrote what is -1 everywhere: with the whole text.
    [(_, record)] = records([(image(1), [(0, -1, 7), (2, -1, 7)])])
    held = holder()

    held.restore(rows_of(record))

    assert list(held.buried.under((3, 0, CAMERA))) == [remains_of(image(1))]


def test_a_record_that_has_only_a_hash_of_a_fact_that_is_there_is_none() -> None:
    [(_, record)] = records([(remains_of(image(1)), [(0, 1, 7)])])

    with pytest.raises(ValueError, match="only a hash of a fact that is there"):
        rows_of(record)


FACTS: Sequence[Tuple] = [
    *(fact for number in (1, 2) for fact in (image(number, 400), Restricted(image(number, 400), READERS))),
    ("a" * 400, IMAGE, "b" * 400),
    ("a" * 400, IMAGE, "short"),
    (CAMERA, IMAGE, "short"),
]
CHANGES = st.lists(st.tuples(st.integers(0, 1), st.sampled_from((1, 1, -1)), st.sampled_from(FACTS)), max_size=25)


@given(CHANGES, st.booleans())
def test_two_holders_that_told_each_other_what_they_know_agree(changes: list[tuple[int, int, Tuple]], first: bool) -> None:
    holders = [Rendezvous(compile_test) for _ in range(2)]
    last: dict[Tuple, int] = {}
    for place in holders:
        place.held.remembering = True
    for stamp, (at, sign, fact) in enumerate(changes, 1):
        if sign > 0 or last.get(fact, -1) > 0:
            holders[at].publish(sign, [fact], [everywhere(fact)], stamp=stamp)
            last[fact] = sign

    for teller, told in ((first, not first), (not first, first)):
        copy = Copy()
        for key in holders[teller].all_keys():
            copy.add_key(holders[teller].held, key)
        for sign, rows in ((1, copy.facts), (-1, copy.remains)):
            facts, places = [fact for fact, _, _ in rows], [there for _, there, _ in rows]
            holders[told].take_over([sign] * len(rows), facts, places, [stamp for _, _, stamp in rows])

    there = {fact for fact, sign in last.items() if sign > 0}
    for place in holders:
        assert {fact for key in place.held.known_keys() for fact in place.held.under(key)} == there
        assert set(map(remains_of, place.held._long.values())) == set(place.held._long)
        assert set(place.held._long.values()) == {fact for fact in there if remains_of(fact) is not fact}
    known = [{key: place.held.digest_of_all(key, 0) for key in place.all_keys()} for place in holders]
    assert known[0] == known[1]
