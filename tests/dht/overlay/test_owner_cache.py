"""The owner cache says nothing that is not so: checked against brute force over random networks."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dht import Contact, Regions, distance
from dht.overlay.owner_cache import MAX_CACHED_KEYS, MAX_REGIONS

K = 8


def contact(id: bytes, port: int = 1) -> Contact:
    return Contact(id, "10.0.0.1", port)


def network(rng: Random, size: int) -> list[Contact]:
    return [contact(rng.randbytes(20)) for _ in range(size)]


def closest(peers: list[Contact], key: bytes, r: int) -> tuple[Contact, ...]:
    return tuple(sorted(peers, key=lambda each: distance(each.id, key))[:r])


def near(rng: Random, point: bytes) -> bytes:
    """A key that shares some bits with the point."""
    free = rng.randrange(161)
    return (int.from_bytes(point, "big") ^ rng.getrandbits(free) if free else int.from_bytes(point, "big")).to_bytes(20, "big")


@given(seed=st.integers(0, 10**6), size=st.integers(1, 100), r=st.integers(1, 5))
def test_what_a_lookup_taught_is_exact_for_every_key(seed: int, size: int, r: int) -> None:
    rng = Random(seed)
    peers = network(rng, size)
    regions = Regions(K)
    for _ in range(3):
        target = rng.randbytes(20)
        regions.learn(target, closest(peers, target, K))

        for key in (target, *(near(rng, target) for _ in range(10)), rng.randbytes(20)):
            assert regions.owners(key, r) in (None, closest(peers, key, r))
        assert regions.owners(target, r) == closest(peers, target, r)


@given(seed=st.integers(0, 10**6), size=st.integers(2, 100), r=st.integers(1, 4))
def test_it_stays_exact_while_peers_die_and_come(seed: int, size: int, r: int) -> None:
    rng = Random(seed)
    peers = network(rng, size)
    regions = Regions(K)
    for _ in range(30):
        target = rng.randbytes(20)
        what = rng.random()
        if what < 0.3:
            regions.learn(target, closest(peers, target, K))
        elif what < 0.6 and len(peers) > 1:
            regions.forget(peers.pop(rng.randrange(len(peers))).id)
        elif what < 0.8:
            # Perhaps a known id: then it has moved.
            new = contact(near(rng, rng.choice(peers).id), rng.randrange(1, 65536))
            peers = [*(each for each in peers if each.id != new.id), new]
            regions.discovered(new)
        key = near(rng, rng.choice([target, rng.choice(peers).id]))
        # Asked twice: found, and remembered.
        for _ in range(2):
            assert regions.owners(key, r) in (None, closest(peers, key, r))


def test_a_network_smaller_than_k_is_known_whole_from_one_lookup() -> None:
    rng = Random(1)
    peers = network(rng, K - 1)
    regions = Regions(K)

    regions.learn(rng.randbytes(20), peers)

    for key in (rng.randbytes(20) for _ in range(100)):
        assert regions.owners(key, 3) == closest(peers, key, 3)
    assert regions.owners(bytes(20), K) == closest(peers, bytes(20), K)


def test_a_network_that_grew_to_k_is_no_longer_known_whole() -> None:
    rng = Random(1)
    peers = network(rng, K - 1)
    regions = Regions(K)
    regions.learn(rng.randbytes(20), peers)

    regions.discovered(contact(rng.randbytes(20)))

    assert regions.owners(rng.randbytes(20), 1) is None


def test_most_keys_near_a_looked_up_one_need_no_lookup() -> None:
    rng = Random(1)
    peers = network(rng, 5000)
    regions = Regions(20)
    key = rng.randbytes(20)
    regions.learn(key, closest(peers, key, 20))

    # A region of ten to twenty out of five thousand is named by the first 8 bits at least.
    answered = [regions.owners(key[:2] + rng.randbytes(18), 3) for _ in range(100)]

    assert None not in answered


def test_where_the_subtree_is_thin_the_target_itself_is_remembered() -> None:
    # One peer shares the first bit with the key; the seven others do not.
    peers = [contact(bytes([1]) + bytes(19)), *(contact(bytes([0x80 + number]) + bytes(19)) for number in range(7))]
    regions = Regions(K)

    regions.learn(bytes(20), closest(peers, bytes(20), K))

    assert regions.owners(bytes(20), 3) == closest(peers, bytes(20), 3)
    assert regions.owners(bytes(19) + b"\x01", 1) == (peers[0],)
    assert regions.owners(bytes(19) + b"\x01", 3) is None


def test_a_dead_owner_is_forgotten_for_remembered_keys_too() -> None:
    rng = Random(1)
    peers = network(rng, 5)
    regions = Regions(K)
    regions.learn(bytes(20), peers)
    first, second = regions.owners(bytes(20), 2) or ()

    regions.forget(first.id)

    assert regions.owners(bytes(20), 1) == (second,)


def test_an_owner_that_moved_is_answered_with_its_new_address() -> None:
    peers = network(Random(1), 5)
    regions = Regions(K)
    regions.learn(bytes(20), peers)
    (owner,) = regions.owners(bytes(20), 1) or ()

    regions.discovered(contact(owner.id, port=99))

    assert regions.owners(bytes(20), 1) == (contact(owner.id, port=99),)


def test_regions_are_bounded_and_the_oldest_goes() -> None:
    regions = Regions(2)
    targets = [number.to_bytes(2, "big") + bytes(18) for number in range(0, 65536, 8)][: MAX_REGIONS + 1]

    for target in targets:
        # Two peers right beside each target: a subtree of its own.
        regions.learn(target, [contact(target[:2] + bytes(17) + bytes([end])) for end in (1, 2)])

    assert len(regions) <= MAX_REGIONS
    assert regions.owners(targets[0], 1) is None
    assert regions.owners(targets[-1], 1) is not None


def test_remembered_keys_are_bounded() -> None:
    regions = Regions(K)
    # Two peers that differ in their last bit alone: all bits of a key decide which of them is closer.
    regions.learn(bytes(20), [contact(bytes(20)), contact(bytes(19) + b"\x01")])

    for number in range(MAX_CACHED_KEYS + 10):
        regions.owners(number.to_bytes(20, "big"), 1)

    assert len(regions._cached[1]) == 10


def test_keys_that_begin_alike_have_one_remembered_answer() -> None:
    rng = Random(3)
    peers = network(rng, 4)
    regions = Regions(K)
    regions.learn(bytes(20), peers)
    keys = [rng.randbytes(20) for _ in range(1_000)]

    found = [regions.owners(key, 3) for key in keys]

    assert found == [closest(peers, key, 3) for key in keys]
    assert len(regions._cached[3]) <= 256
    assert len(set(map(id, found))) == len(set(found)) <= 24


def test_a_newcomer_right_beside_another_peer_takes_its_own_keys_from_it() -> None:
    rng = Random(4)
    peers = network(rng, 4)
    regions = Regions(K)
    regions.learn(bytes(20), peers)
    old = peers[0].id
    before = regions.owners(old, 1)

    new = old[:-1] + bytes([old[-1] ^ 1])
    regions.discovered(contact(new))

    assert before == (contact(old),)
    assert regions.owners(old, 1) == (contact(old),)
    assert regions.owners(new, 1) == (contact(new),)


def test_stale_regions_are_named_oldest_first() -> None:
    regions = Regions(1)
    for number, now in ((1, 10.0), (2, 20.0), (3, 30.0)):
        target = bytes([number]) + bytes(19)
        regions.learn(target, [contact(target[:-1] + b"\x01")], now)

    assert [target[0] for target in regions.stale(25.0, 10)] == [1, 2]
    assert [target[0] for target in regions.stale(25.0, 1)] == [1]


def test_learning_nothing_changes_nothing() -> None:
    regions = Regions(K)

    regions.learn(bytes(20), [])

    assert len(regions) == 0
    assert regions.owners(bytes(20), 1) is None


@pytest.mark.parametrize("r", [1, 2])
def test_a_cleared_cache_knows_nothing(r: int) -> None:
    regions = Regions(K)
    regions.learn(bytes(20), [contact(bytes(20)), contact(b"\x01" * 20)])
    regions.owners(bytes(20), r)

    regions.clear()

    assert regions.owners(bytes(20), r) is None


def test_whoever_remembers_answers_hears_that_they_may_be_others_by_now() -> None:
    peers = network(Random(1), 5)
    regions = Regions(K)
    regions.learn(b"\0" * 20, peers)
    versions = [regions.version]

    # Also by a lookup that found fewer, as somebody was slow, and one that finds all again.
    for change in (lambda: regions.learn(b"\0" * 20, peers[1:]), lambda: regions.learn(b"\0" * 20, peers)):
        change()
        versions.append(regions.version)
    regions.learn(b"\0" * 20, peers)

    assert versions == sorted(set(versions))
    assert regions.version == versions[-1]
