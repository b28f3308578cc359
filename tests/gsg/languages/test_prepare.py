"""A language is built once, however many threads ask for it at a time, and no loop waits while another text is read in a thread."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gsg import languages
from gsg.languages.sparql import parsing


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


async def test_a_short_text_does_not_keep_the_loop_waiting_for_a_long_one() -> None:
    await asyncio.to_thread(languages.prepare, "sparql")
    is_reading, is_over = threading.Event(), threading.Event()

    def read_long() -> str:
        with parsing._ONE_AT_A_TIME:
            is_reading.set()
            assert is_over.wait(timeout=30), "the loop's thread does not come to say so"
            return "long"

    long = asyncio.create_task(languages.read_text(" " * (languages.READ_AT_ONCE + 1), "sparql", read_long))
    await asyncio.to_thread(is_reading.wait)
    short = asyncio.create_task(languages.read_query("SELECT * { ?what <http://x/p> ?how }", "sparql"))
    await asyncio.sleep(0)
    is_over.set()

    assert await long == "long"
    assert (await short).select == ("what", "how")


async def test_a_short_query_of_many_graphs_is_read_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    readers: list[threading.Thread] = []

    def read(*_: object, **__: object) -> None:
        readers.append(threading.current_thread())

    monkeypatch.setattr(languages, "parse_query", read)
    for count in (languages.GRAPHS_AT_ONCE, languages.GRAPHS_AT_ONCE + 1):
        await languages.read_query("ASK {}", "sparql", named_graphs=[f"urn:g:{number}" for number in range(count)])

    assert [reader is threading.current_thread() for reader in readers] == [True, False]
