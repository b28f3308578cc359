"""The real rules and events of the Sigma project through the matchers, beside a scan of compiled closures in the same turns."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.channel_measures import Make
from benchmarks.shared import SHARED
from gsg.channels.languages.source import compiled
from gsg.channels.values import Fields

WARM, TURNS, EVENTS = 50, 5, 4
"""Times that all events come before a measurement, and turns; in each all events so many times."""


def rules(matchers: Mapping[str, Make], quick: bool = False) -> Iterator[str]:
    """A line for each matcher. Raises AssertionError where answers differ."""
    folder = SHARED / "data" / "sigma"
    if not folder.exists():
        yield f"rules        left out: there is nothing at {folder}"
        return
    sys.path.append(str(Path(__file__).parents[1] / "examples"))  # its programs are started from their folder
    program: Any = import_module("detection")  # which mypy does not look at
    detection = program.loaded(folder / "rules.jsonl.gz")
    events: list[Fields] = [fields for _, fields in program.findings(detection, folder / "events.jsonl.gz")]
    tests = list(enumerate(compiled(condition, detection.relations) for condition in detection.conditions))
    for name, make in matchers.items():
        matcher = make(detection.relations)
        for number, condition in enumerate(detection.conditions):
            matcher.insert(number, condition)
        warm, turns, times = (1, 1, 1) if quick else (WARM, TURNS, EVENTS)
        for turn in range(warm):
            for fields in _new(events, turn):
                matcher.match(fields, {})
        speeds, ratios = [], []
        for turn in range(turns):
            coming = [fields for time_ in range(times) for fields in _new(events, warm + turn * times + time_)]
            began_s = time.process_time()
            found = [sorted(matcher.match(fields, {})) for fields in coming]
            middle_s = time.process_time()
            right = [[number for number, test in tests if test(fields, {})] for fields in coming]
            took_s = time.process_time() - middle_s
            assert found == right, f"{name}: other answers than the closures"
            speeds.append(len(coming) / (middle_s - began_s))
            ratios.append(took_s / (middle_s - began_s))
        yield f"{name:12} {median(speeds):10,.0f} events/s of {len(tests):,} rules, {median(ratios):6.1f} x closures"


def _new(events: list[Fields], turn: int) -> list[Fields]:
    """The events, each with a command line that did not come before."""
    return [
        {**fields, "CommandLine": f"{fields['CommandLine']} {turn}"} if isinstance(fields.get("CommandLine"), str) else fields
        for fields in events
    ]
