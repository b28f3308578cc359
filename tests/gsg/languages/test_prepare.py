"""A language is built once, however many threads ask for it at the same time."""

from __future__ import annotations

import threading

import pytest

from gsg import languages


def test_threads_that_ask_at_once_build_a_language_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_PREPARED", set())
    all_ask, builds, never = threading.Barrier(4), [0], threading.Event()

    def build() -> None:
        builds[0] += 1
        # Another thread would be in here by then, if it could.
        never.wait(0.05)

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
