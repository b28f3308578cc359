"""A language is built once, however many threads ask for it at the same time."""

from __future__ import annotations

import threading

import pytest

from gsg import languages


class Watched:
    """A lock that says when four threads have come to it."""

    def __init__(self) -> None:
        self._lock, self._counting, self._count = threading.Lock(), threading.Lock(), 0
        self.all_wait = threading.Event()

    def __enter__(self) -> None:
        with self._counting:
            self._count += 1
            if self._count == 4:
                self.all_wait.set()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_threads_that_ask_at_once_build_a_language_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_PREPARED", set())
    lock, all_ask, builds = Watched(), threading.Barrier(4), [0]
    monkeypatch.setattr(languages, "_PREPARING", lock)

    def build() -> None:
        builds[0] += 1
        # All are asking by then, so any other would be in here if it could.
        assert lock.all_wait.wait(timeout=30)

    monkeypatch.setattr("gsg.languages.script.prepare", build)

    def ask() -> None:
        all_ask.wait()
        languages.prepare("gsg")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert builds == [1]
    assert languages.is_prepared("gsg")
