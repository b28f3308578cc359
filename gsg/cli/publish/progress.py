"""Progress of a long publication, on standard error where that is a terminal, and what came of it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from ...tuples.escaping import one_line
from ..messages import say

if TYPE_CHECKING:
    from rich.progress import Progress

    from ...errors import BadText

TOLD = 20
"""Mistakes that are told one by one where they are skipped; the others are counted."""


@dataclass(slots=True)
class _File:
    """What came of one of several files."""

    name: str
    facts: int = 0
    """Acknowledged."""
    changed: int = 0
    """Of these, those that were not true before, or were and are no longer."""
    events: int = 0
    """Acknowledged."""
    skipped: int = 0
    """Mistakes."""
    begun: bool = False
    complete: bool = False

    def __str__(self) -> str:
        return f"{self.name} as a whole" if self.complete else f"{self.tuples} of {self.name}"

    @property
    def tuples(self) -> str:
        """What was acknowledged of it, in words."""
        said, told = _number_of(self.facts, "fact"), _number_of(self.events, "event")
        return f"{said} and {told}" if self.facts and self.events else told if self.events else said


_COUNTS = ("facts", "changed", "events", "skipped")


class PublishProgress:
    """Counts acknowledged tuples; draws a bar on a terminal and says the sum at the end, ``as_json`` on standard output.

    ``names`` are the files that are to come, each begun by :meth:`begin`. Where mistakes are skipped, ``lenient``, their number is
    a part of the sum.
    """

    def __init__(self, names: Sequence[str], *, quiet: bool, as_json: bool = False, lenient: bool = False) -> None:
        self._files = [_File(name) for name in names]
        self._at = 0
        self._raw: IO[bytes] | None = None
        self._size_bytes: int | None = None
        self._quiet = quiet
        self._as_json = as_json
        self._lenient = lenient
        self._bar: Progress | None = None
        self._started_s = 0.0
        """When the first was sent: reading a script before is not sending it."""
        self._acknowledged_s = 0.0
        """When the last was acknowledged."""

    @property
    def _total(self) -> _File:
        """What came of all files."""
        return _File("", *(sum(getattr(file, count) for file in self._files) for count in _COUNTS))

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[said]}"),
            )
            self._bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(one_line(self._files[0].name), total=None, said="")
        return self

    def begin(self, raw: IO[bytes], size_bytes: int | None) -> None:
        """The next file is read from ``raw``, whose position in ``size_bytes``, where it has a size, is how far we are."""
        self._raw, self._size_bytes = raw, size_bytes
        self._files[self._at].begun = True
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=one_line(self._files[self._at].name), total=size_bytes, completed=0)

    def end(self) -> None:
        """The file was read, and all of it acknowledged."""
        self._files[self._at].complete = True
        self._at = min(self._at + 1, len(self._files) - 1)

    def skip(self, mistake: BadText) -> None:
        """Something that cannot be read is skipped."""
        self._files[self._at].skipped += 1
        skipped = self._total.skipped
        if skipped <= TOLD:
            say(f"gsg: skipped: {mistake}", err=True)
        elif skipped == TOLD + 1:
            say("gsg: more is skipped, and counted at the end", err=True)

    def sending(self) -> None:
        """Some are about to be sent."""
        self._started_s = self._started_s or time.perf_counter()

    def acknowledged(self, tuples: int, changed: int | None) -> None:
        """So many more have arrived for good, and so many of them changed what is true; None of events, which never do."""
        self._acknowledged_s = time.perf_counter()
        file = self._files[self._at]
        if changed is None:
            file.events += tuples
        else:
            file.facts += tuples
            file.changed += changed
        if self._bar is not None:
            at = self._raw.tell() if self._raw is not None and self._size_bytes is not None else 0
            self._bar.update(self._bar.task_ids[0], completed=at, said=self._total.tuples)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
        seconds = max(0.0, self._acknowledged_s - self._started_s)  # of what was sent nothing may be acknowledged
        total = self._total
        if self._as_json:
            say(json.dumps(self._sums(total, seconds, kind is None)))
        if self._quiet or self._as_json:
            return
        skipped = f"; {_number_of(total.skipped, 'mistake')} skipped" if total.skipped else ""
        if kind is None:
            rate = (total.facts + total.events) / max(seconds, 1e-9)
            changed = f"; {total.changed:,} changed something" if total.facts or not total.events else ""
            say(f"{total.tuples} acknowledged in {seconds:.1f} s ({rate:,.0f}/s){changed}{skipped}", err=True)
        elif self._started_s:
            were = "was" if total.facts + total.events == 1 else "were"
            say(f"{total.tuples} {were} acknowledged before this stopped{self._by_file()}{skipped}", err=True)

    def _sums(self, total: _File, seconds: float, complete: bool) -> dict[str, object]:
        sums: dict[str, object] = {count: getattr(total, count) for count in _COUNTS if count != "skipped" or self._lenient}
        if len(self._files) > 1:
            sums["files"] = [{key: getattr(file, key) for key in ("name", *_COUNTS, "complete")} for file in self._files]
        return {**sums, "seconds": round(seconds, 6), "complete": complete}

    def _by_file(self) -> str:
        """What was published of each of several files."""
        if len(self._files) == 1:
            return ""
        begun = [str(file) for file in self._files if file.begun]
        others = [file.name for file in self._files if not file.begun]
        return f": {', '.join(begun)}" + (f"; nothing of {', '.join(others)}" if others else "")


def _number_of(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
