"""The lookup, fed by hand and over random networks."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dht import Contact, Lookup, Send, distance

OWN = b"\xff" * 20
TARGET = bytes(20)


def contact(number: int, host: str = "10.0.0.1") -> Contact:
    """The contact at distance ``number`` from TARGET."""
    return Contact(number.to_bytes(20, "big"), host, 7400)


def sends(*numbers: int) -> list[Send]:
    return [Send(contact(number)) for number in numbers]


def test_no_seeds_give_an_empty_result_at_once() -> None:
    lookup = Lookup(TARGET, [], own=OWN)

    assert lookup.start() == []
    assert lookup.result is not None
    assert lookup.result.contacts == ()


def test_the_closest_are_asked_first_and_no_more_than_alpha() -> None:
    lookup = Lookup(TARGET, [contact(number) for number in (5, 3, 1, 4, 2)], own=OWN, alpha=3)

    assert lookup.start() == sends(1, 2, 3)


def test_an_answer_sends_the_next_query_without_waiting_for_the_others() -> None:
    lookup = Lookup(TARGET, [contact(8), contact(9)], own=OWN, alpha=2)
    lookup.start()

    assert lookup.received(contact(9).id, [contact(1), contact(2)]) == sends(1)
    assert lookup.result is None


def test_it_ends_when_the_k_closest_have_answered() -> None:
    lookup = Lookup(TARGET, [contact(5)], own=OWN, k=2)
    lookup.start()
    lookup.received(contact(5).id, [contact(1), contact(2), contact(9)])
    lookup.received(contact(2).id, [])
    assert lookup.result is None

    lookup.received(contact(1).id, [])

    assert lookup.result is not None
    assert lookup.result.contacts == (contact(1), contact(2))


def test_the_dead_are_not_in_the_result_and_those_behind_them_move_up() -> None:
    lookup = Lookup(TARGET, [contact(1), contact(2), contact(3)], own=OWN, k=2, alpha=2)
    assert lookup.start() == sends(1, 2)

    assert lookup.timed_out(contact(1).id) == sends(3)
    lookup.received(contact(2).id, [])
    lookup.received(contact(3).id, [])

    assert lookup.result is not None
    assert lookup.result.contacts == (contact(2), contact(3))


def test_a_slow_peer_gives_up_its_place_but_is_waited_for() -> None:
    lookup = Lookup(TARGET, [contact(1), contact(2)], own=OWN, alpha=1)
    assert lookup.start() == sends(1)

    assert lookup.slow(contact(1).id) == sends(2)
    assert lookup.slow(contact(1).id) == []
    lookup.received(contact(2).id, [])
    assert lookup.result is None
    lookup.received(contact(1).id, [])

    assert lookup.result is not None
    assert lookup.result.contacts == (contact(1), contact(2))


def test_who_comes_behind_a_slow_peer_is_asked_before_that_one_has_failed() -> None:
    lookup = Lookup(TARGET, [contact(1), contact(2), contact(3), contact(4)], own=OWN, k=2, alpha=2)
    assert lookup.start() == sends(1, 2)

    assert lookup.slow(contact(1).id) == sends(3)
    assert lookup.slow(contact(3).id) == sends(4)
    lookup.received(contact(2).id, [])
    lookup.received(contact(4).id, [])
    assert lookup.result is None
    assert lookup.timed_out(contact(3).id) == []
    assert lookup.timed_out(contact(1).id) == []

    assert lookup.result is not None
    assert lookup.result.contacts == (contact(2), contact(4))


def test_a_slow_peer_that_answers_leaves_those_asked_behind_it_out() -> None:
    lookup = Lookup(TARGET, [contact(1), contact(2), contact(3)], own=OWN, k=2, alpha=2)
    lookup.start()
    lookup.slow(contact(1).id)
    lookup.received(contact(2).id, [])
    lookup.received(contact(1).id, [])

    assert lookup.result is not None
    assert lookup.result.contacts == (contact(1), contact(2))


def test_an_id_at_two_addresses_is_tried_at_both() -> None:
    old, new = contact(1), contact(1, "10.0.0.2")
    lookup = Lookup(TARGET, [old, contact(2)], own=OWN)
    lookup.start()
    lookup.received(contact(2).id, [new])

    assert lookup.timed_out(old.id) == [Send(new)]
    lookup.received(new.id, [])

    assert lookup.result is not None
    assert lookup.result.contacts == (new, contact(2))


def test_an_address_heard_after_the_other_failed_is_tried_too() -> None:
    old, new = contact(1), contact(1, "10.0.0.2")
    lookup = Lookup(TARGET, [old, contact(2)], own=OWN)
    lookup.start()
    lookup.timed_out(old.id)

    assert lookup.received(contact(2).id, [new]) == [Send(new)]


def test_an_id_at_ever_more_addresses_is_tried_at_three() -> None:
    lookup = Lookup(TARGET, [contact(1), contact(2)], own=OWN)
    lookup.start()
    lookup.received(contact(2).id, [contact(1, f"10.0.1.{number}") for number in range(9)])

    tried = [lookup.timed_out(contact(1).id) for _ in range(4)]

    assert [len(each) for each in tried] == [1, 1, 0, 0]


def test_contacts_invented_without_end_are_not_followed_without_end() -> None:
    lookup = Lookup(TARGET, [contact(10**9)], own=OWN, k=2, max_asked=50)
    asked = 0
    pending = lookup.start()
    while pending:
        asked += 1
        peer = pending.pop().contact.id
        # Each claims to know one still closer.
        pending += lookup.received(peer, [contact(int.from_bytes(peer, "big") - 1)])

    assert asked == 50
    assert lookup.result is not None
    assert not lookup.result.complete


@pytest.mark.parametrize("event", ["received", "slow", "timed_out"])
def test_what_was_not_asked_for_changes_nothing(event: str) -> None:
    lookup = Lookup(TARGET, [contact(1)], own=OWN)
    lookup.start()

    unknown = contact(7).id
    unasked = {
        "received": lambda: lookup.received(unknown, [contact(2)]),
        "slow": lambda: lookup.slow(unknown),
        "timed_out": lambda: lookup.timed_out(unknown),
    }[event]()

    assert unasked == []
    assert lookup.result is None


def test_we_are_never_asked_nor_found() -> None:
    lookup = Lookup(TARGET, [Contact(OWN, "10.0.0.9", 1), contact(1)], own=OWN)
    assert lookup.start() == sends(1)

    assert lookup.received(contact(1).id, [Contact(OWN, "10.0.0.9", 1)]) == []

    assert lookup.result is not None
    assert lookup.result.contacts == (contact(1),)


@given(seed=st.integers(0, 10**6), size=st.integers(1, 120), dead_share=st.sampled_from([0.0, 0.3, 0.6]))
def test_in_any_network_with_full_tables_the_living_closest_are_found(seed: int, size: int, dead_share: float) -> None:
    rng = Random(seed)
    peers = {peer.id: peer for peer in (Contact(rng.randbytes(20), "10.0.0.1", port + 1) for port in range(size))}
    dead = {peer for peer in peers if rng.random() < dead_share}
    target = rng.randbytes(20)
    ordered = sorted(peers.values(), key=lambda each: distance(each.id, target))
    lookup = Lookup(target, rng.sample(list(peers.values()), min(3, size)), own=OWN, k=8)

    pending = lookup.start()
    while pending:
        # Answers come in any order; every peer knows the 30 closest, the dead included.
        peer = pending.pop(rng.randrange(len(pending))).contact.id
        if rng.random() < 0.2:
            pending += lookup.slow(peer)
        pending += lookup.timed_out(peer) if peer in dead else lookup.received(peer, ordered[:30])

    assert lookup.result is not None
    reachable = [each for each in ordered if each.id not in dead]
    if set(lookup._by_id) >= {each.id for each in reachable[:8]}:
        assert lookup.result.contacts == tuple(reachable[:8])
    assert not {each.id for each in lookup.result.contacts} & dead
