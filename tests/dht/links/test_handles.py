"""File handles that run out: newcomers are refused before the last is taken."""

from __future__ import annotations

from dht.links.handles import Handles, in_use, limit


class Process:
    """One that may have 100 handles, and has 20."""

    def __init__(self) -> None:
        self.has = 20
        self.counted = 0

    def limit(self) -> int:
        return 100

    def in_use(self) -> int:
        self.counted += 1
        return self.has


def test_an_eighth_of_the_handles_is_left_to_others() -> None:
    process = Process()
    handles = Handles(process.limit, process.in_use)
    beyond = []
    for _ in range(80):
        process.has += 1
        beyond.append(handles.beyond())

    assert [number for number, by in enumerate(beyond, 21) if by > 0] == list(range(89, 101))
    assert beyond[-1] == 12


def test_they_are_counted_when_they_may_have_run_short_and_not_each_time() -> None:
    process = Process()
    handles = Handles(process.limit, process.in_use)
    for _ in range(660):
        assert handles.beyond() <= 0  # connections that come and go

    assert process.counted <= 11


def test_who_is_refused_is_told_how_many_there_may_be() -> None:
    assert "(it may have 100): its operator gives it more with ulimit -n" in Handles(Process().limit, Process().in_use).problem()


def test_without_a_limit_nobody_is_refused() -> None:
    assert Handles(lambda: None, Process().in_use).beyond() == 0


def test_the_handles_of_this_process_are_counted() -> None:
    most = limit()

    assert 3 < in_use() < (most or 1_000_000)
