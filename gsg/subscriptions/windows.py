"""What is said of windows: that one of them is full, and events leave it before their time."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

import rete
from rete.alpha import WindowMemory
from rete.compile.substitution import conditions_of

from ..errors import Overrun
from ..languages.query import Query, alphas
from ..tuples.terms import Tuple, n3


class WindowReader(Protocol):
    """A query that may ask for windows."""

    def looks_at(self, window: rete.AlphaSpec) -> bool:
        """Whether it asks for the events of a window."""

    def tell_full_window(self, overrun: Overrun) -> None:
        """Events leave a window of it early: that is told once."""


class FullWindows:
    """The windows of one network from which events left early since somebody asked."""

    def __init__(self, network: rete.Network) -> None:
        self._network = network
        self._told: dict[rete.AlphaSpec, int] = {}
        """How many events had left, by window, when it was told. Limit: the windows that were ever full, until :meth:`again`."""

    def tell(self, queries: Collection[WindowReader]) -> None:
        """Tell the queries that look at windows which are full, of each once."""
        cut_short = self._network.cut_short
        if len(cut_short) == len(self._told):
            return
        found = {spec: _overrun(spec, lost) for spec, lost in cut_short.items() if spec not in self._told}
        self._told = dict(cut_short)
        for spec, overrun in found.items():
            for query in [query for query in queries if query.looks_at(spec)]:
                query.tell_full_window(overrun)

    def again(self) -> None:
        """Somebody looks at the windows who was not told yet: those that go on losing events are told of again."""
        for spec in self._told:
            del self._network.cut_short[spec]
        self._told.clear()


def windowed(network: rete.Network, condition: rete.Condition | rete.AlphaSpec) -> Iterable[Tuple]:
    """The events that are in the window of a condition now, before its tests where another query has the same without."""
    alike = [
        memory
        for memory in network.memories()
        if isinstance(memory, WindowMemory) and (memory.spec.template, memory.window) == (condition.template, condition.window)
    ]
    alike.sort(key=lambda memory: len(memory.spec.tests))
    return [event for _, event in alike[0].events] if alike else []


def looks_at(query: Query, spec: rete.AlphaSpec) -> bool:
    """Whether a query asks for the events of a window."""
    windows = (condition.window for condition in conditions_of(query.body))
    return spec.window in windows and spec in alphas(query)


def _overrun(spec: rete.AlphaSpec, lost: int) -> Overrun:
    assert spec.window is not None, "only windows are full"
    extent = f"of {spec.window.count} events" if spec.window.seconds is None else f"of {spec.window.seconds:g} s"
    shown = ", ".join("*" if constant is None else n3(constant) for constant in spec.template.pattern)
    return Overrun(
        f"the window {extent} on ({shown:.200}) is full, with {rete.MAX_WINDOW_EVENTS} events or {rete.MAX_WINDOW_BYTES} bytes of "
        "them: the oldest leave early from now on, and their rows with them; expected a shorter window, or fewer or shorter events",
        lost=lost,
    )
