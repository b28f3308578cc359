"""Which events have come."""

from __future__ import annotations

from gsg.channels.seen import BEHIND, MAX_SOURCES, SeenEvents


def test_an_event_is_new_once_whatever_the_order() -> None:
    seen = SeenEvents()

    assert [seen.is_new("a", number) for number in (3, 1, 3, 2, 1, 7)] == [True, True, False, True, False, True]
    assert seen.is_new("b", 3)


def test_what_is_far_behind_is_old() -> None:
    seen = SeenEvents()
    for number in range(1, 5 * BEHIND, 2):
        seen.is_new("a", number)

    assert not seen.is_new("a", 2)
    assert seen.is_new("a", 5 * BEHIND - 2)
    assert len(seen._sources["a"].came) <= 2 * BEHIND


def test_numbers_of_all_sources_are_bounded(monkeypatch) -> None:
    monkeypatch.setattr("gsg.channels.seen.MAX_NUMBERS", 100)
    seen = SeenEvents()
    for number in range(1_000):
        for source in "abc":
            seen.is_new(source, number)

    assert seen._numbers == sum(len(source.came) for source in seen._sources.values()) <= 1_000 + 100
    assert not seen.is_new("c", 999)


def test_sources_are_bounded() -> None:
    seen = SeenEvents()
    for number in range(MAX_SOURCES + 5):
        seen.is_new(str(number), 1)

    assert len(seen._sources) == MAX_SOURCES
