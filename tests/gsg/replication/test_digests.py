"""Digests that are brought up to date are those of a look at everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import dht
from gsg.placement.rules import point_of
from gsg.replication.digests import RANGES, Digests
from gsg.storage.facts_by_key import FactsByKey
from gsg.storage.tombstones import PERIOD_S
from gsg.tuples.features import Key, key

PEERS = [dht.Contact(bytes([number * 40] * 20), "127.0.0.1", 7000 + number) for number in range(6)]
OWN = PEERS[0]
KEYS: list[Key] = [(2, position, f"c{number}") for position in range(2) for number in range(12)]


def holders_and_point(each: Key) -> tuple[list[dht.Contact], int]:
    """The three closest; of one key they are not known."""
    place = key(*each)
    if each == KEYS[-1]:
        return [], point_of(place)
    closest = sorted(PEERS, key=lambda peer: int.from_bytes(peer.id, "big") ^ int.from_bytes(place, "big"))
    return closest[:3], point_of(place)


def entries() -> FactsByKey:
    """Nothing held, with changes noted."""
    held = FactsByKey()
    held.remembering = True
    held.changed = {}
    return held


def looked_at_all(held: FactsByKey) -> Digests:
    """From the beginning."""
    digests = Digests(OWN.id, held, holders_and_point)
    digests.take_in(held.known_keys())
    return digests


CHANGES = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 3), st.sampled_from(["enter", "leave", "drop"])), max_size=40)


@given(st.lists(CHANGES, max_size=5))
def test_a_look_at_what_changed_is_as_good_as_one_at_everything(rounds: list[list[tuple[Key, int, str]]]) -> None:
    held = entries()
    digests = looked_at_all(held)
    stamp = 0

    for changes in rounds:
        for each, number, what in changes:
            stamp += 1
            fact = ("fact", f"{number}")
            if what == "drop":
                held.drop(each)
            else:
                (held.enter if what == "enter" else held.leave)(each, fact, stamp)
        changed, held.changed = held.changed, {}
        assert changed is not None
        digests.take_in(changed)

        anew = looked_at_all(held)
        # Who held something with us before is still asked, with digests of nothing.
        ranges = {peer: found for peer, found in digests.ranges.items() if peer in anew.ranges or any(found)}
        assert ranges == anew.ranges
        assert [digests.beside_peer(peer.id, 0) for peer in PEERS] == [anew.beside_peer(peer.id, 0) for peer in PEERS]
        assert sorted(digests.keys_in(range(RANGES))) == sorted(anew.keys_in(range(RANGES)))
        assert [digests.digest_of(each) for each in KEYS] == [anew.digest_of(each) for each in KEYS]
        assert digests.strays.keys() == anew.strays.keys()
        assert digests.unplaced.keys() == anew.unplaced.keys()


def test_a_tombstone_alone_is_compared_too() -> None:
    held = entries()
    mine = next(each for each in KEYS if OWN in holders_and_point(each)[0])
    held.leave(mine, ("fact", "1"), 5)

    digests = looked_at_all(held)

    assert {peer.id for peer in holders_and_point(mine)[0]} - {OWN.id} == set(digests.ranges)
    assert digests.keys_in(range(RANGES)) == [mine]


def test_tombstones_count_from_the_period_on_that_is_asked_for() -> None:
    held = entries()
    mine = next(each for each in KEYS if OWN in holders_and_point(each)[0])
    other = next(peer.id for peer in holders_and_point(mine)[0] if peer != OWN)
    held.leave(mine, ("fact", "1"), PERIOD_S * 1_000_000)

    digests = looked_at_all(held)

    assert [any(digests.beside_peer(other, since)) for since in (0, 1, 2)] == [True, True, False]
    assert [digests.digest_of(mine, since) != 0 for since in (0, 1, 2)] == [True, True, False]
    digests.forget_before(2)
    assert not any(digests.beside_peer(other, 0))
