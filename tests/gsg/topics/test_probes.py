"""A neighbour by which nothing comes is asked, and found silent where it does not answer."""

from __future__ import annotations

from contacts import contact, number_of

from dht import Contact
from gsg.topics.probes import MOST_PROBES, PROBE_S, Probes


def probed(neighbours: list[Contact], answers: set[int], times: int) -> tuple[list[int], list[bytes]]:
    """Whom to ask is asked, and who is found silent, in so many turns."""
    asked: list[int] = []
    probes = Probes(lambda to, _: not asked.append(number_of(to.id)))
    silent: list[bytes] = []
    for turn in range(times):
        silent += probes.probe(neighbours, turn * PROBE_S)
        for number in answers:
            probes.heard(contact(number).id, turn * PROBE_S + 0.1)
    return asked, silent


def test_only_who_says_nothing_is_asked_and_found_silent() -> None:
    asked, silent = probed([contact(1), contact(2)], {1}, 3)

    assert (asked, silent) == ([2], [contact(2).id])


def test_so_many_are_asked_at_a_time() -> None:
    asked, _ = probed([contact(number) for number in range(100)], set(), 2)

    assert len(asked) == MOST_PROBES


def test_who_is_late_itself_finds_nobody_silent() -> None:
    probes = Probes(lambda to, _: True)
    probes.probe([contact(1)], 0.0)
    probes.probe([contact(1)], PROBE_S)

    assert probes.probe([contact(1)], 10.0) == []


def test_a_new_neighbour_is_not_asked_at_once() -> None:
    asked, silent = probed([contact(1)], set(), 1)

    assert (asked, silent) == ([], [])


def test_who_is_late_finds_the_silent_ones_the_next_time() -> None:
    probes = Probes(lambda to, _: True)
    for now_s in (0.0, PROBE_S, 10.0):
        probes.probe([contact(1)], now_s)

    assert probes.probe([contact(1)], 10.0 + PROBE_S) == [contact(1).id]


def test_strangers_are_not_remembered() -> None:
    probes = Probes(lambda to, _: True)

    probes.heard(contact(1).id, 1.0)

    assert probes._heard_s == {}


def test_some_neighbours_may_say_nothing_for_longer() -> None:
    asked: list[Contact] = []
    probes = Probes(lambda to, _: not asked.append(to), probe_s=30.0)
    probes.probe([contact(1)], 0.0)
    probes.heard(contact(1).id, 1.0)

    probes.probe([contact(1)], 30.0)
    before = list(asked)
    probes.probe([contact(1)], 60.0)

    assert (before, asked) == ([], [contact(1)])
    assert probes.probe([contact(1)], 90.0) == [contact(1).id]
