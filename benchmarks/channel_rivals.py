"""Other libraries that match events in one process, on what all of them can say: comparisons with numbers, joined by and.

Each is asked one condition after another, as their own programs do, and its answers are compared. A library that is not installed
is named. ``pip install moto rule-engine`` installs them; nothing of the product needs them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from statistics import median

from benchmarks.channel_workloads import Draw, Fields, Workload
from gsg.channels.languages.expressions import And, Comparison, Condition, Constant, Field
from gsg.channels.languages.relations import Relations
from gsg.channels.matchers.auto import Auto

Test = Callable[[Fields], bool]
TURNS = 3


def _tests_of(condition: Condition) -> Iterator[tuple[str, str, object]]:
    assert isinstance(condition, And)
    for part in condition.parts:
        assert isinstance(part, Comparison)
        assert isinstance(part.left, Field)
        assert isinstance(part.right, Constant)
        yield part.left.path[0], part.operator, part.right.value


def _moto() -> Callable[[Condition], Test]:
    pattern = import_module("moto.events.models").EventPattern

    def made(condition: Condition) -> Test:
        said = {
            name: [value if operator == "=" else {"numeric": [operator, value]}] for name, operator, value in _tests_of(condition)
        }
        test: Test = pattern(None, said).matches_event
        return test

    return made


def _rule_engine() -> Callable[[Condition], Test]:
    library = import_module("rule_engine")
    context = library.Context(default_value=None)

    def made(condition: Condition) -> Test:
        # Equalities first, and whether a field is there, as an order with nothing is an error there.
        tests = sorted(_tests_of(condition), key=lambda test: test[1] != "=")
        said = [f"{name} == {value}" if word == "=" else f"{name} != null and {name} {word} {value}" for name, word, value in tests]
        test: Test = library.Rule(" and ".join(said), context=context).matches
        return test

    return made


RIVALS = {"moto": _moto, "rule-engine": _rule_engine}


def rivals(conditions: int, events: int) -> Iterator[str]:
    """A line for each rival, beside auto in the same turns. Raises AssertionError where answers differ."""
    draw = Draw(Workload(conditions))
    asked = [draw.condition() for _ in range(conditions)]
    coming = [draw.event() for _ in range(events)]
    matcher = Auto(Relations())
    for number, condition in enumerate(asked):
        matcher.insert(number, condition)
    for _ in range(20):
        for event in coming:
            matcher.match(event, {})
    for name, load in RIVALS.items():
        try:
            make = load()
        except ImportError:
            yield f"{name:12} not installed"
            continue
        tests = list(enumerate(map(make, asked)))
        speeds, ratios = [], []
        for _ in range(TURNS):
            began_s = time.process_time()
            ours = [sorted(matcher.match(event, {})) for event in coming]
            middle_s = time.process_time()
            theirs = [[number for number, test in tests if test(event)] for event in coming]
            took_s = time.process_time() - middle_s
            assert theirs == ours, f"{name}: other answers than auto"
            speeds.append(events / took_s)
            ratios.append(took_s / (middle_s - began_s))
        beside = f"auto is {median(ratios):,.0f} times as fast"
        yield f"{name:12} {median(speeds):10,.1f} events/s at {conditions:,} conditions; {beside}"
    if shutil.which("rabbitmq-server") is None:
        yield "rabbitmq     not installed (its headers exchange)"
    else:
        yield "rabbitmq     left out: a server of its own, whose exchange cannot compare numbers"
