"""Sealed datagrams: who is believed, and who is not."""

from __future__ import annotations

from random import Random

import pytest

from dht import BadSeal, Identity, Membership
from dht.datagrams.sealed_datagrams import (
    INTRODUCTION,
    MAX_SESSIONS,
    REFUSED,
    REFUSED_BURST,
    SEALED,
    VERIFIED_BURST,
    WINDOW,
    Budget,
    SealedDatagrams,
)
from dht.errors import Refusal

HERE, THERE, ELSEWHERE = ("10.0.0.1", 7400), ("10.0.0.2", 7400), ("10.0.0.3", 7400)
A, B, C = (Identity(name * 32) for name in (b"a", b"b", b"c"))


def seals(identity: Identity, at: tuple[str, int], *, life: int = 1, **options: object) -> SealedDatagrams:
    made = SealedDatagrams(Membership(identity, **options), life=life, rng=Random(identity.id + bytes([life])))  # type: ignore[arg-type]
    made.set_own_address(at)
    return made


@pytest.mark.parametrize("link_tls", [True, False], ids=["to one with plain links", "to one with TLS"])
def test_those_whose_links_would_not_fit_are_refused_by_name(link_tls: bool) -> None:
    a, b = (
        SealedDatagrams(Membership(who), life=1, rng=Random(1), link_tls=tls) for who, tls in ((A, link_tls), (B, not link_tls))
    )
    a.set_own_address(HERE)
    b.set_own_address(THERE)
    said = a.seal(b"q", THERE)

    with pytest.raises(BadSeal, match="other links") as caught:
        b.open(said, HERE, 0.0)
    told = b.refusal_for(said, caught.value, 0.0)
    assert told is not None
    with pytest.raises(BadSeal, match="refused by others"):
        a.open(told, THERE, 0.0)

    assert a.refused_by(THERE) is (Refusal.PLAIN_ONLY if link_tls else Refusal.TLS_ONLY)


def test_two_processes_with_one_key_that_meet_are_both_told() -> None:
    told: list[tuple[str, tuple[str, int]]] = []
    first, second = (
        SealedDatagrams(
            Membership(A), life=life, rng=Random(life), on_duplicate_id=lambda at, life=life: told.append((f"life {life}", at))
        )  # type: ignore[misc]  # bound now
        for life in (1, 2)
    )
    first.set_own_address(HERE)
    second.set_own_address(THERE)
    said = second.seal(b"q", HERE)

    with pytest.raises(BadSeal, match="second process with one id") as caught:
        first.open(said, THERE, 0.0)
    answer = first.refusal_for(said, caught.value, 0.0)
    assert answer is not None
    with pytest.raises(BadSeal, match="refused by others"):
        second.open(answer, HERE, 0.0)

    assert told == [("life 1", THERE), ("life 2", HERE)]
    assert second.refused_by(HERE) is Refusal.SAME_ID


def test_a_process_that_was_copied_is_met_again_when_its_copy_is_dead() -> None:
    before, copy, other = seals(A, HERE, life=1), seals(A, ELSEWHERE, life=2), seals(B, THERE)
    other.open(before.seal(b"q", THERE), HERE, 0.0)
    other.open(copy.seal(b"q", THERE), ELSEWHERE, 0.0)
    with pytest.raises(BadSeal, match="second process with one id"):
        other.open(before.seal(b"q", THERE, again=True), HERE, 0.0)

    other.note_death(A.id)

    assert other.open(before.seal(b"on", THERE, again=True), HERE, 0.0) == (A.id, b"on")
    assert other.open(copy.seal(b"back", THERE, again=True), ELSEWHERE, 0.0) == (A.id, b"back")
    with pytest.raises(BadSeal, match="second process with one id"):
        other.open(before.seal(b"q", THERE, again=True), HERE, 0.0)


def test_who_knows_a_later_life_elsewhere_tells_the_earlier_one() -> None:
    told: list[tuple[str, int]] = []
    before = SealedDatagrams(Membership(A), life=1, rng=Random(1), on_duplicate_id=told.append)
    before.set_own_address(HERE)
    copy, other = seals(A, ELSEWHERE, life=2), seals(B, THERE)
    other.open(before.seal(b"q", THERE), HERE, 0.0)
    other.open(copy.seal(b"q", THERE), ELSEWHERE, 0.0)
    said = before.seal(b"q", THERE, again=True)

    with pytest.raises(BadSeal, match="second process with one id") as caught:
        other.open(said, HERE, 0.0)
    answer = other.refusal_for(said, caught.value, 0.0)
    assert answer is not None
    with pytest.raises(BadSeal, match="refused by others"):
        before.open(answer, THERE, 0.0)

    assert told == [THERE]
    assert other.open(copy.seal(b"still", THERE), ELSEWHERE, 0.0) == (A.id, b"still")


def pair() -> tuple[SealedDatagrams, SealedDatagrams]:
    """Two that have met."""
    a, b = seals(A, HERE), seals(B, THERE)
    b.open(a.seal(b"q", THERE), HERE, 0.0)
    a.open(b.seal(b"a", HERE), THERE, 0.0)
    b.open(a.seal(b"q", THERE), HERE, 0.0)
    return a, b


def test_the_first_datagrams_are_introductions_and_the_others_are_sealed() -> None:
    a, b = seals(A, HERE), seals(B, THERE)

    first = a.seal(b"one", THERE)
    assert b.open(first, HERE, 0.0) == (A.id, b"one")
    second = b.seal(b"two", HERE)
    assert a.open(second, THERE, 0.0) == (B.id, b"two")
    third = a.seal(b"three", THERE)
    assert b.open(third, HERE, 0.0) == (A.id, b"three")
    fourth = b.seal(b"four", HERE)
    assert a.open(fourth, THERE, 0.0) == (B.id, b"four")

    assert [each[:1] for each in (first, second, third, fourth)] == [INTRODUCTION, INTRODUCTION, SEALED, SEALED]


def test_a_peer_that_hears_only_introductions_answers_with_them() -> None:
    """B cannot know that A has its introduction before A says so: it must not seal what A could not open."""
    a, b = seals(A, HERE), seals(B, THERE)
    for _ in range(3):
        b.open(a.seal(b"q", THERE, again=True), HERE, 0.0)

    assert b.seal(b"answer", HERE)[:1] == INTRODUCTION


@pytest.mark.parametrize("restarted", [False, True], ids=["forgotten", "started anew"])
def test_a_peer_that_lost_its_keys_is_met_again_at_the_second_try(restarted: bool) -> None:
    a, _ = pair()
    b = seals(B, THERE, life=2)
    if restarted:
        assert a.open(b.seal(b"hello", HERE), THERE, 0.0) == (B.id, b"hello")

    with pytest.raises(BadSeal, match="datagrams of forgotten peers"):
        b.open(pair()[0].seal(b"q", THERE), HERE, 0.0)
    assert b.open(a.seal(b"q", THERE, again=True), HERE, 0.0) == (A.id, b"q")
    assert a.open(b.seal(b"a", HERE), THERE, 0.0) == (B.id, b"a")
    assert b.open(a.seal(b"q", THERE), HERE, 0.0) == (A.id, b"q")


@pytest.mark.parametrize("met", [False, True], ids=["introduction", "sealed"])
def test_nothing_is_taken_twice_nor_from_another_address_nor_changed(met: bool) -> None:
    a, b = pair() if met else (seals(A, HERE), seals(B, THERE))
    data = a.seal(b"said", THERE)

    for at in range(len(data)):
        with pytest.raises(BadSeal):
            b.open(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], HERE, 0.0)
    with pytest.raises(BadSeal, match="datagrams from another address"):
        b.open(data, ELSEWHERE, 0.0)
    assert b.open(data, HERE, 0.0) == (A.id, b"said")
    with pytest.raises(BadSeal, match="datagrams repeated"):
        b.open(data, HERE, 0.0)


def test_what_was_said_in_an_earlier_life_is_not_taken() -> None:
    old = seals(A, HERE, life=1).seal(b"old", THERE)
    b = seals(B, THERE)
    b.open(seals(A, HERE, life=2).seal(b"new", THERE), HERE, 0.0)

    with pytest.raises(BadSeal, match="datagrams repeated"):
        b.open(old, HERE, 0.0)


def test_who_is_met_in_a_later_life_is_told_of_once() -> None:
    told: list[tuple[bytes, int]] = []
    b = SealedDatagrams(Membership(B), life=1, rng=Random(1), on_new_life=lambda peer, life: told.append((peer, life)))
    b.set_own_address(THERE)
    b.open(seals(A, HERE, life=2).seal(b"q", THERE), HERE, 0.0)
    again = seals(A, HERE, life=7)

    b.open(again.seal(b"q", THERE), HERE, 0.0)
    b.open(again.seal(b"q", THERE, again=True), HERE, 0.0)

    assert told == [(A.id, 7)]


def test_datagrams_may_overtake_each_other_within_the_window() -> None:
    a, b = pair()
    said = [a.seal(bytes([number % 256]), THERE) for number in range(WINDOW + 1)]

    b.open(said[-1], HERE, 0.0)

    with pytest.raises(BadSeal, match="datagrams repeated"):
        b.open(said[0], HERE, 0.0)
    assert b.open(said[1], HERE, 0.0) == (A.id, b"\x01")
    with pytest.raises(BadSeal, match="datagrams repeated"):
        b.open(said[1], HERE, 0.0)


def test_nobody_speaks_with_anothers_public_key() -> None:
    b = seals(B, THERE)
    own, stolen = seals(C, HERE).seal(b"x", THERE), seals(A, HERE).seal(b"x", THERE)
    forged = stolen[9:41] + own[41:]

    with pytest.raises(BadSeal, match="datagrams forged") as told:
        b.open(INTRODUCTION + Membership(C).check(forged) + forged, HERE, 0.0)
    assert told.value.refusal is Refusal.ID_NOT_PROVED
    assert len(b) == 0


def test_a_stranger_with_another_secret_is_told_so_and_costs_no_signature() -> None:
    inside = seals(B, THERE, secret=b"the network's secret")
    outside = seals(A, HERE, secret=b"another network's secret")
    knock = outside.seal(b"ping", THERE)

    with pytest.raises(BadSeal, match="datagrams of another network") as told:
        inside.open(knock, HERE, 0.0)
    refusal = inside.refusal_for(knock, told.value, 0.0)

    assert refusal is not None
    assert len(refusal) < len(knock)
    with pytest.raises(BadSeal, match="refused by others"):
        outside.open(refusal, THERE, 0.0)
    assert outside.refused_by(THERE) is Refusal.OTHER_NETWORK
    assert outside.refused_by(ELSEWHERE) is None


def test_a_peer_that_is_not_allowed_is_told_so() -> None:
    inside = seals(B, THERE, allowed=[C.id])
    knock = seals(A, HERE).seal(b"ping", THERE)

    with pytest.raises(BadSeal, match="datagrams of peers not allowed") as told:
        inside.open(knock, HERE, 0.0)
    assert told.value.refusal is Refusal.NOT_ALLOWED
    assert inside.open(seals(C, ELSEWHERE).seal(b"ping", THERE), ELSEWHERE, 0.0) == (C.id, b"ping")


@pytest.mark.parametrize(
    "data",
    [REFUSED + bytes(9), REFUSED, REFUSED + bytes(100)],
    ids=["to nothing that was said", "empty", "long"],
)
def test_a_forged_refusal_says_nothing(data: bytes) -> None:
    a = seals(A, HERE)
    a.seal(b"ping", THERE)

    with pytest.raises(BadSeal, match="refusals of nothing that was said"):
        a.open(data, THERE, 0.0)

    assert a.refused_by(THERE) is None


def test_refusals_are_few_and_none_answers_a_refusal() -> None:
    inside = seals(B, THERE, secret=b"the network's secret")
    knock = seals(A, HERE).seal(b"ping", THERE)
    told = [inside.refusal_for(knock, BadSeal("x", Refusal.OTHER_NETWORK), 0.0) for _ in range(2 * REFUSED_BURST)]

    assert sum(each is not None for each in told) == REFUSED_BURST
    assert inside.refusal_for(REFUSED + bytes(9), BadSeal("x", Refusal.NOT_SIGNED), 100.0) is None


def test_a_flood_of_introductions_is_cut_off_and_those_who_met_before_are_not() -> None:
    a, b = pair()
    flood = seals(C, ELSEWHERE).seal(b"x", THERE)
    forged = flood[9:-1] + b"y"
    forged = INTRODUCTION + Membership(C).check(forged) + forged
    reasons = []
    for _ in range(VERIFIED_BURST + 1):
        with pytest.raises(BadSeal) as told:
            b.open(forged, ELSEWHERE, 0.0)
        reasons.append(str(told.value))

    assert reasons[0] == "datagrams forged"
    assert reasons[-1] == "datagrams beyond the budget for signatures"
    assert b.open(a.seal(b"still here", THERE), HERE, 0.0) == (A.id, b"still here")
    assert b.open(flood, ELSEWHERE, 10.0) == (C.id, b"x")


def test_a_peer_that_listens_everywhere_names_no_address() -> None:
    b = seals(B, THERE)

    assert b.open(seals(A, ("0.0.0.0", 7400)).seal(b"x", THERE), ELSEWHERE, 0.0) == (A.id, b"x")
    with pytest.raises(BadSeal, match="datagrams from another address"):
        b.open(seals(C, ("0.0.0.0", 7400)).seal(b"x", THERE), ("10.0.0.3", 7401), 0.0)


def test_the_peer_met_longest_ago_makes_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dht.datagrams.sealed_datagrams.MAX_SESSIONS", 4)
    assert MAX_SESSIONS > 4
    b = seals(B, THERE)
    for number in range(8):
        at = (f"10.0.1.{number}", 7400)
        b.open(seals(Identity(bytes([number]) * 32), at).seal(b"x", THERE), at, 0.0)

    assert len(b) == 4
    assert len(b._at) == 4


def test_a_budget_fills_again_with_time_and_not_beyond_its_burst() -> None:
    budget = Budget(10, 2)

    assert [budget.spend(0.0) for _ in range(3)] == [True, True, False]
    assert [budget.spend(0.1), budget.spend(0.1)] == [True, False]
    assert [budget.spend(100.0) for _ in range(3)] == [True, True, False]
