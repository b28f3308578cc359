"""A neighbour by which nothing comes is asked, and found silent where it does not answer."""

from __future__ import annotations

from dht import Contact
from gsg.topics.arrivals import LEAST_S, MOST_S, Arrivals
from gsg.topics.probes import MOST_PROBES, PROBE_S, Probes


def contact(number: int) -> Contact:
    return Contact(number.to_bytes(20, "big"), "10.0.0.1", 1 + number)


def probed(neighbours: list[Contact], answers: set[int], times: int) -> tuple[list[int], list[bytes]]:
    """Whom to ask is asked, and who is found silent, in so many turns."""
    asked: list[int] = []
    probes = Probes(lambda to, _: not asked.append(int.from_bytes(to.id, "big")))
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


def test_patience_follows_how_late_events_are_and_not_those_that_were_asked_for() -> None:
    arrivals = Arrivals()
    before = arrivals.patience_s
    arrivals.announced(b"s", 1, 0.0)
    arrivals.arrived(b"s", 1, 9.0, was_asked_for=True)
    asked_for = arrivals.patience_s
    for number in range(2, 50):
        arrivals.announced(b"s", number, float(number))
        arrivals.arrived(b"s", number, number + 0.5, was_asked_for=False)

    assert before == asked_for == LEAST_S
    assert 0.45 < arrivals.patience_s <= MOST_S
