"""The workload of an overlay that ran: what its peers' clients published and asked for, from traces (:mod:`gsg.monitoring.trace`).

Rows of publishers are taken, in the order of peers' clocks. Only triples are simulated: tuples of other arities, and templates for
them, are counted and told. Each subscription has the anchor that its peer would have chosen by the loads of the moment.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import msgspec
import numpy as np

from gsg.monitoring import trace
from gsg.monitoring.trace import What
from gsg.tuples.features import Template
from gsg.tuples.terms import Variable
from gsg.wire.messages import Test

from ..engine.kernels import Whole
from ..engine.ownership import prefixes_of
from ..engine.randomness import Words
from ..engine.warnings_told import counted, malformed
from ..errors import BadWorkload
from .anchors_in_order import Step, changes_of, rarest_in_order
from .codes import Codes
from .pieces import Malformed
from .trace_rows import rows_of_publishers, unfinished_parts
from .workload import ARITY, Mix, Recorded, Subscriptions, Times

_SIGN = {What.INSERT: 1, What.RETRACT: -1, What.EVENT: 0}
_READ = ("peer", "run_us", "row", "at_us", "what", "role", "terms", "condition", "source", "number")


@dataclass(frozen=True)
class Traced(Recorded):
    """Tuples of a trace, at the times at which they were published, and the subscriptions that came with them."""

    at_s: Times = field(default_factory=lambda: np.zeros(0))
    asked: Subscriptions | None = None

    def published_s(self, numbers: Whole) -> Times:
        """When the tuples of these numbers were published."""
        return self.at_s[numbers]

    def only(self, numbers: Whole) -> Self:
        """The tuples of these numbers, each at its time; anchors of subscriptions stay what they were."""
        return replace(super().only(numbers), at_s=self.at_s[numbers])

    def subscriptions(self, count: int, mix: Mix, seed: int) -> Subscriptions:
        """Those of the trace, or so many others where it is to have none."""
        return super().subscriptions(count, mix, seed) if self.asked is None else self.asked


@dataclass(frozen=True, slots=True)
class Trace:
    """What was read."""

    ids: tuple[str, ...]
    """The peers that traced, by their ids in hexadecimal, in order."""
    workload: Traced
    subscriptions: int
    remarks: tuple[str, ...]
    """What is missing or was left out, a sentence each."""

    @property
    def peers(self) -> Words:
        """The peers' ids by their first 64 bits."""
        return prefixes_of([bytes.fromhex(peer) for peer in self.ids])


def read_trace(folder: str | Path) -> Trace:
    """The trace of an overlay, from all parts in a folder and below. Raises BadWorkload when there is none that can be read."""
    rows, runs = rows_of_publishers(Path(folder), _READ)
    history = _History()
    for row in rows:
        history.add(row)
    if not history.tuples:
        raise BadWorkload(f"{folder} has no triples that were published while peers traced{_list(history.remarks())}")
    remarks = [*runs.gaps(unfinished_parts(Path(folder))), *history.remarks()]
    return Trace(tuple(runs.peers()), history.workload(), len(history.asked), tuple(remarks))


def _list(remarks: list[str]) -> str:
    return f" ({'; '.join(remarks)})" if remarks else ""


class _History:
    """Tuples and subscriptions, taken in one by one."""

    def __init__(self) -> None:
        self.tuples: list[tuple[object, ...]] = []
        self.signs: list[int] = []
        self.at_us: list[int] = []
        self.asked: list[tuple[Template, Test | None]] = []
        self.steps: list[Step] = []
        self._standing: dict[tuple[object, ...], int] = {}
        self._left_out: Counter[str] = Counter()
        self._malformed = Malformed()

    def add(self, row: dict[str, object]) -> None:
        """One row more."""
        try:
            if row["what"] in _SIGN:
                self._tuple(row)
            else:
                self._subscription(row)
        except (msgspec.MsgspecError, TypeError) as error:
            self._malformed.complain(f"{str(row['peer'])[:12]} row {row['row']}", str(error))

    def _tuple(self, row: dict[str, object]) -> None:
        items = trace.tuple_of(row["terms"])  # type: ignore[arg-type]  # TypeError is expected
        if len(items) != ARITY or any(type(item) is Variable for item in items):
            self._left_out["tuple"] += 1
            return
        self.tuples.append(items)
        self.signs.append(_SIGN[What(str(row["what"]))])
        self.at_us.append(row["at_us"])  # type: ignore[arg-type]  # the column has integers

    def _subscription(self, row: dict[str, object]) -> None:
        # The number of a template is its own within a run of its peer.
        name = (row["peer"], row["run_us"], row["number"])
        if row["what"] == What.UNSUBSCRIBE:
            number = self._standing.pop(name, None)
            if number is not None:
                self.steps.append(Step(len(self.tuples), number, begins=False))
            return
        template, test = trace.template_of(row["terms"], row["condition"])  # type: ignore[arg-type]  # TypeError is expected
        if len(template.pattern) != ARITY:
            self._left_out["subscription"] += 1
            return
        self._standing[name] = len(self.asked)
        self.steps.append(Step(len(self.tuples), len(self.asked)))
        self.asked.append((template, test))

    def remarks(self) -> list[str]:
        """What was left out."""
        return [
            *(f"{counted(count, what)} left out: triples alone are simulated" for what, count in self._left_out.items()),
            *malformed(self._malformed.malformed, "row", self._malformed.examples),
        ]

    def workload(self) -> Traced:
        """All of it as columns."""
        known = Codes()
        known.add(self.tuples)  # type: ignore[arg-type]  # of terms
        templates = [template for template, _ in self.asked]
        codes = known.of_templates(templates)
        at_s = (np.array(self.at_us) - self.at_us[0]) / 1e6
        # The end is no moment of the trace: what is published then still belongs to the last range of time.
        seconds = float(np.nextafter(max(at_s[-1], 1e-6), np.inf))
        recorded = known.recorded(seconds)
        return Traced(recorded.codes, recorded.constants, seconds, at_s, self._subscriptions(recorded.codes, codes))

    def _subscriptions(self, tuples: tuple[np.ndarray[tuple[int], np.dtype[np.int32]], ...], codes: Whole) -> Subscriptions | None:
        if not self.asked:
            return None
        numbers: dict[tuple[object, Test | None], int] = {}
        kinds, untested = (
            np.array([numbers.setdefault((template.same, test), len(numbers)) for template, test in some], dtype=np.int64)
            for some in (self.asked, [(template, None) for template, _ in self.asked])
        )
        anchors = rarest_in_order(tuples, changes_of(tuples, self.signs), codes, kinds, untested, self.steps)
        return Subscriptions(codes, kinds, anchors)
