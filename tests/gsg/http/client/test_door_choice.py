"""Which door a client tries next: pure, without time."""

from __future__ import annotations

from math import inf
from random import Random

import pytest

import gsg
from gsg.http.client.door_choice import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    MAX_GIVEN,
    MAX_LEARNT,
    STEADY_S,
    DoorChoice,
    GiveUp,
    Pause,
    Try,
    pause_s,
    urls_of,
)

A, B, C = (f"http://10.0.0.{number}:8470" for number in (1, 2, 3))


def made(*given: str, reconnect_s: float = inf, seed: int = 1) -> DoorChoice:
    return DoorChoice(given, Random(seed), reconnect_s=reconnect_s)


def one_round(choice: DoorChoice, now_s: float) -> list[str]:
    """The doors that are tried between one pause and the next."""
    assert isinstance(choice.next(now_s), Pause)
    tried: list[str] = []
    for _ in range(MAX_GIVEN + MAX_LEARNT):
        if len(tried) == len(choice.doors()):
            break
        order = choice.next(now_s)
        assert isinstance(order, Try)
        tried.append(order.url)
    return tried


@pytest.mark.parametrize(
    ("given", "urls"),
    [(A, [A]), (f"{A},{B}", [A, B]), (f" {A} , {B},", [A, B]), ([A, B, A], [A, B])],
    ids=["one", "with a comma", "with blanks", "a list, one twice"],
)
def test_several_doors_are_a_list_or_a_text_with_commas(given: str | list[str], urls: list[str]) -> None:
    assert urls_of(given) == urls


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("", "'' is no address of a peer"),
        ([], r"\[\] is no address"),
        ([f"http://h{n}" for n in range(65)], "65 addresses of peers"),
    ],
)
def test_no_door_and_too_many_are_refused(given: str | list[str], problem: str) -> None:
    with pytest.raises(gsg.LocalError, match=problem):
        urls_of(given)


def test_clients_that_are_given_the_same_doors_do_not_all_begin_at_the_same_one() -> None:
    assert {made(A, B, C, seed=seed).first()[0] for seed in range(20)} == {A, B, C}


def test_a_round_tries_every_door_once_and_the_one_that_was_lost_last() -> None:
    choice = made(A, B)
    choice.learn([C])
    choice.connected(A, 0.0)
    choice.lost(100.0)

    tried = one_round(choice, 100.0)

    assert sorted(tried) == [A, B, C]
    assert tried[-1] == A


def test_pauses_grow_to_the_longest_and_are_drawn() -> None:
    choice = made(A)
    choice.connected(A, 0.0)
    choice.lost(100.0)
    pauses: list[float] = []
    for _ in range(12):
        pause = choice.next(100.0)
        assert isinstance(pause, Pause)
        pauses.append(pause.pause_s)
        assert choice.next(100.0) == Try(A)

    most = [min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**number) for number in range(12)]
    assert all(longest / 2 <= pause <= longest for pause, longest in zip(pauses, most, strict=True))
    assert pause_s(0, Random(1)) != pause_s(0, Random(2))


def test_a_connection_that_is_lost_at_once_does_not_begin_with_the_shortest_pause_again() -> None:
    choice = made(A)
    choice.connected(A, 0.0)
    for now_s in (10.0, 11.0, 12.0, 13.0):
        choice.lost(now_s)
        pause = choice.next(now_s)
        choice.connected(A, now_s)
    assert isinstance(pause, Pause)
    assert pause.pause_s > FIRST_PAUSE_S

    choice.lost(13.0 + STEADY_S)
    pause = choice.next(13.0 + STEADY_S)

    assert isinstance(pause, Pause)
    assert pause.pause_s <= FIRST_PAUSE_S


def test_it_gives_up_after_so_many_seconds_and_waits_for_no_longer() -> None:
    choice = made(A, reconnect_s=10.0)
    choice.connected(A, 0.0)
    choice.lost(100.0)
    assert one_round(choice, 100.0) == [A]

    pause = choice.next(109.99)

    assert isinstance(pause, Pause)
    assert pause.pause_s == pytest.approx(0.01)
    assert choice.next(110.0) == Try(A)
    assert choice.next(110.0) == GiveUp(10.0)


def test_what_a_peer_tells_replaces_what_was_told_and_is_bounded() -> None:
    choice = made(A)

    choice.learn([B])
    choice.learn([A, "nonsense", "http://user:secret@10.0.0.9", *(f"http://10.0.1.{number}:1" for number in range(100))])

    assert choice.doors() == [A, *(f"http://10.0.1.{number}:1" for number in range(MAX_LEARNT))]


def test_what_earlier_peers_have_told_is_known_where_the_next_one_tells_nothing_and_is_bounded() -> None:
    choice = made(A)
    choice.learn([B])
    choice.connected(B, 1.0)
    choice.learn([])
    assert choice.doors() == [A, B]

    for number in range(3):
        choice.learn(f"http://10.0.{number}.{at}:1" for at in range(MAX_LEARNT))
        choice.connected(A, 2.0)

    assert choice.doors() == [A, *(f"http://10.0.2.{at}:1" for at in range(MAX_LEARNT))]


def test_who_was_given_doors_with_tls_is_led_to_no_others() -> None:
    choice = made("https://a.example.org:8470")

    choice.learn([B, "https://b.example.org:8470"])

    assert choice.doors()[1:] == ["https://b.example.org:8470"]
