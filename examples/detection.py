"""Intrusion detection: real rules of the Sigma project as subscriptions, matched against real events of Windows logs.

    .venv/bin/python examples/detection.py
    .venv/bin/python examples/detection.py --rules rules.jsonl.gz --events events.jsonl.gz --json

Rules are read by sigma_rules.py as texts of the predicate language; a matcher that compiles them says which hold of each event.
Rules: a JSON object a line, as Sigma's YAML says. Events: a JSON object a line, with ``event`` (the record of a log) and perhaps
``rules`` (identifiers of those that are to match). Both may be compressed by gzip. Without them the shared data beside the project
is read (GSG_SHARED names another place). Detection Rule License 1.1: whoever shows a match names the rule's title and author.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from sigma_rules import Refused, Rule, translated
from sigma_sources import fields_of_log

from gsg.channels.languages import predicate
from gsg.channels.languages.expressions import Condition
from gsg.channels.languages.relations import Relations
from gsg.channels.languages.source import Test, compiled
from gsg.channels.matchers.compile import Compile
from gsg.channels.values import Fields
from gsg.errors import BadText

SHARED: Final = Path(os.environ.get("GSG_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data" / "sigma"
WARM_ROUNDS: Final = 50
"""Times that all events are matched before a measurement: functions are generated for what is tried often."""
MEASURED_S: Final = 0.5
"""How long each way is measured at least."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An event by its place in the file, the rules that match it, and those that should and do not."""

    event: int
    rules: list[Rule]
    missed: list[str]


@dataclass(frozen=True, slots=True)
class Speed:
    """Events a second by the matcher, and by trying one compiled function after another."""

    compile: float
    scan: float


class Detection:
    """Rules as conditions of one matcher."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.refused: Counter[str] = Counter()
        self.reasons: list[tuple[str, str]] = []
        """Title of a rule that was refused, and why."""
        self.relations = Relations()
        self.conditions: list[Condition] = []
        self._matcher = Compile(self.relations)

    def subscribe(self, given: dict[str, Any]) -> None:
        """Add a rule, or count it among those refused."""
        try:
            rule = translated(given)
            condition = predicate.parse(rule.text, self.relations)
        except (Refused, BadText) as error:
            self.refused[error.kind if isinstance(error, Refused) else "predicate"] += 1
            self.reasons.append((str(given.get("title", "")), str(error)))
            return
        self._matcher.insert(len(self.rules), condition)
        self.rules.append(rule)
        self.conditions.append(condition)

    def match(self, fields: Fields) -> list[Rule]:
        """The rules that hold of an event."""
        return [self.rules[number] for number in sorted(self._matcher.match(fields, {}))]

    def numbers(self, fields: Fields) -> list[int]:
        """The same, by number, as the matcher says it."""
        return self._matcher.match(fields, {})


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """JSON objects, one a line. Raises ValueError, OSError."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                found = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}; expected a JSON object a line") from None
            if not isinstance(found, dict):
                raise ValueError(f"{path}, line {number}: no JSON object; expected one a line")
            yield found


def loaded(path: Path) -> Detection:
    """All rules of a file."""
    detection = Detection()
    for given in lines_of(path):
        detection.subscribe(given)
    return detection


def findings(detection: Detection, path: Path) -> Iterator[tuple[Finding, Fields]]:
    """What the rules say of each event of a file."""
    for number, record in enumerate(lines_of(path), 1):
        fields = fields_of_log(record.get("event", record))
        rules = detection.match(fields)
        known = {rule.id for rule in rules}
        yield Finding(number, rules, [each for each in record.get("rules", ()) if each not in known]), fields


def measured(detection: Detection, events: Sequence[Fields], clock: Callable[[], float] = time.perf_counter) -> Speed:
    """How fast the events are matched, over and over."""
    tests = [compiled(condition, detection.relations) for condition in detection.conditions]
    for _ in range(WARM_ROUNDS):
        for fields in events:
            detection.numbers(fields)
    return Speed(_rate(detection.numbers, events, clock), _rate(lambda fields: scanned(tests, fields), events, clock))


def scanned(tests: Sequence[Test], fields: Fields) -> list[int]:
    """The numbers of the tests that hold, tried one after another."""
    return [number for number, test in enumerate(tests) if test(fields, {})]


def _rate(match: Callable[[Fields], object], events: Sequence[Fields], clock: Callable[[], float]) -> float:
    begun, count = clock(), 0
    while clock() < begun + MEASURED_S:
        for fields in events:
            match(fields)
        count += len(events)
    return count / (clock() - begun)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found; 1 where an event is not matched by a rule that it names, 2 where a file cannot be read."""
    parser = argparse.ArgumentParser(description="Match events of logs against Sigma rules.")
    parser.add_argument("--rules", type=Path, default=SHARED / "rules.jsonl.gz", metavar="FILE")
    parser.add_argument("--events", type=Path, default=SHARED / "events.jsonl.gz", metavar="FILE")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(arguments)
    try:
        begun = time.perf_counter()
        detection = loaded(options.rules)
        took_s = time.perf_counter() - begun
        found = list(findings(detection, options.events))
    except (OSError, ValueError) as error:
        print(f"detection: {error}; expected files by --rules and --events", file=sys.stderr)
        return 2
    speed = measured(detection, [fields for _, fields in found]) if found else Speed(0, 0)
    every = [finding for finding, _ in found]
    (_print_json if options.json else _print)(detection, every, took_s, speed)
    return 1 if any(finding.missed for finding in every) else 0


def _print(detection: Detection, every: Sequence[Finding], took_s: float, speed: Speed) -> None:
    refused = ", ".join(f"{count} for a {kind}" for kind, count in detection.refused.items())
    print(
        f"{len(detection.rules):,} rules loaded in {took_s:.1f} s, {sum(detection.refused.values())} refused: {refused or 'none'}"
    )
    for title, reason in detection.reasons:
        print(f"    {title}: {reason}")
    for finding in every:
        for rule in finding.rules:
            print(f"event {finding.event}: {rule.title} ({rule.level}), by {rule.author}")
        for missed in finding.missed:
            print(f"event {finding.event}: not matched by {missed}")
    right = sum(not finding.missed for finding in every)
    print(f"{right} of {len(every)} events matched by the rules that they name")
    if speed.scan:
        print(
            f"{speed.compile:,.0f} events/s compiled, {speed.scan:,.0f} by trying each rule: "
            f"{speed.compile / speed.scan:.1f} times as many"
        )


def _print_json(detection: Detection, every: Sequence[Finding], took_s: float, speed: Speed) -> None:
    print(
        json.dumps(
            {
                "rules": len(detection.rules),
                "refused": dict(detection.refused),
                "loaded_s": round(took_s, 3),
                "events": [
                    {
                        "event": finding.event,
                        "rules": [{key: value for key, value in asdict(rule).items() if key != "text"} for rule in finding.rules],
                        "missed": finding.missed,
                    }
                    for finding in every
                ],
                "events_per_s": {"compile": round(speed.compile), "scan": round(speed.scan)},
            },
            ensure_ascii=False,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
