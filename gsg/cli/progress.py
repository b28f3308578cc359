"""Progress of a long publication, on standard error where that is a terminal, and what came of it."""

from __future__ import annotations

import json
import sys
import time
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

import click

if TYPE_CHECKING:
    from rich.progress import Progress


class PublishProgress:
    """Counts acknowledged tuples; draws a bar on a terminal and says the sum at the end, ``as_json`` on standard output.

    ``raw`` is the file being read, whose position in ``size_bytes`` is how far we are; without a size only the count is shown.
    """

    def __init__(self, title: str, raw: IO[bytes], size_bytes: int | None, *, quiet: bool, as_json: bool = False) -> None:
        self.facts = 0
        """Facts acknowledged."""
        self.changed = 0
        """Those of them that were not true before, or were and are no longer."""
        self.events = 0
        """Events acknowledged."""
        self._title = title
        self._raw = raw
        self._size_bytes = size_bytes
        self._quiet = quiet
        self._as_json = as_json
        self._bar: Progress | None = None
        self._started_s = 0.0
        """When the first was sent: reading a script before is not sending it."""
        self._acknowledged_s = 0.0
        """When the last was acknowledged."""

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[said]}"))
            self._bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._title, total=self._size_bytes, said="")
        return self

    def sending(self) -> None:
        """Some are about to be sent."""
        self._started_s = self._started_s or time.perf_counter()

    def acknowledged(self, tuples: int, changed: int | None) -> None:
        """So many more have arrived for good, and so many of them changed what is true; None of events, which never do."""
        self._acknowledged_s = time.perf_counter()
        if changed is None:
            self.events += tuples
        else:
            self.facts += tuples
            self.changed += changed
        if self._bar is not None:
            at = self._raw.tell() if self._size_bytes is not None else 0
            self._bar.update(self._bar.task_ids[0], completed=at, said=self._tuples())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
        seconds = max(0.0, self._acknowledged_s - self._started_s)  # of what was sent nothing may be acknowledged
        if self._as_json:
            sums = {"facts": self.facts, "changed": self.changed, "events": self.events}
            click.echo(json.dumps({**sums, "seconds": round(seconds, 6), "complete": kind is None}))
        if self._quiet or self._as_json:
            return
        if kind is None:
            rate = (self.facts + self.events) / max(seconds, 1e-9)
            changed = f"; {self.changed:,} changed something" if self.facts or not self.events else ""
            click.echo(f"{self._tuples()} acknowledged in {seconds:.1f} s ({rate:,.0f}/s){changed}", err=True)
        elif self._started_s:
            were = "was" if self.facts + self.events == 1 else "were"
            click.echo(f"{self._tuples()} {were} acknowledged before this stopped", err=True)

    def _tuples(self) -> str:
        facts, events = _number_of(self.facts, "fact"), _number_of(self.events, "event")
        return f"{facts} and {events}" if self.facts and self.events else events if self.events else facts


def _number_of(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
