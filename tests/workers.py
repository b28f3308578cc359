"""Which worker of pytest-xdist runs which test, so that no core waits.

There is one worker more than there are cores. The last one begins with what needs Spark, in one piece as one session serves it all,
and goes on with the modules that are marked with ``waits``: what these do is mostly to wait for processes and sockets, and another
worker uses the core meanwhile. Then it runs what the others run, and they what it has not begun. Longer tests come first
(:mod:`conftest` sorts them), so that the workers end together.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScheduling

LOW = 2
"""Tests that a worker holds when it is sent more: it begins one only when it knows the next."""
QUICK_S, AT_ONCE = 0.05, 8
"""Behind a test as quick as this stand others of its module: so many are sent in one message."""
LAST = 300
"""Tests that are sent one by one, for the workers to end together."""


class Workers(LoadScheduling):
    """pytest-xdist's scheduler of single tests, with a choice of its own. (Its groups are not found under pytest 9.2, and its
    scheduler for them counts all that was run after each test.)"""

    def schedule(self) -> None:
        """All workers have collected, or a new one has come for one that died."""
        if self.collection is None:
            if not self._check_nodes_have_same_collection():
                return
            self.collection = next(iter(self.node2collection.values()))
            kinds = [kind(self.config.rootpath / test.partition("::")[0]) for test in self.collection]
            self.pending = [number for number, each in enumerate(kinds) if each != "spark"]
            self._waiting = {number for number, each in enumerate(kinds) if each == "waits"}
            # Those that wait stand in front, for the last worker to take.
            self.pending.sort(key=lambda number: number not in self._waiting)
            if on_spark := [number for number, each in enumerate(kinds) if each == "spark"]:
                self._give(self.nodes[-1], on_spark)
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node: Any, duration: float = 0.0) -> None:  # Any: pytest-xdist's own
        """Give a worker what it is to run next, if it has little left, and tell it when there is nothing more to come."""
        held = len(self.node2pending[node])
        if node.shutting_down or held > LOW:
            return
        wanted = AT_ONCE if 0.0 < duration < QUICK_S and len(self.pending) > LAST else LOW + 1 - held
        is_last = node is self.nodes[-1]
        while wanted and self.pending:
            first = 0 if is_last else self._first_that_works()
            some = self.pending[first : first + wanted]
            del self.pending[first : first + wanted]
            self._waiting.difference_update(some)
            wanted -= len(some)
            self._give(node, some)
        if not self.pending:
            node.shutdown()

    def _first_that_works(self) -> int:
        """The place of the first test that does not wait, or of the first where all do."""
        waiting = len(self._waiting)
        return waiting if waiting < len(self.pending) else 0

    def _give(self, node: Any, tests: list[int]) -> None:  # Any: as above
        self.node2pending[node] += tests
        node.send_runtest_some(tests)


@cache
def kind(module: Path) -> str:
    """What the tests of a module do: ``spark``, ``waits``, or nothing of the kind. What runs on Spark names it."""
    text = module.read_text("utf-8")
    if "simulat" in str(module.relative_to(Path(__file__).parent)) and "spark" in text.lower():
        return "spark"
    return "waits" if "pytest.mark.waits" in text else ""
