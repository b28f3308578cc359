"""Temporal subscriptions beside CLIPS: three events of one user in order, and an event that stays away; CPU time, in turns.

    python -m benchmarks.temporal            half a minute
    python -m benchmarks.temporal --quick    does it work at all?

Events come one by one, and each match is told to a function of Python. CLIPS is given its rule twice: as Filman and Lee write it
("Managing distributed systems with smart subscriptions"), with all tests after the patterns, for fewer events as it grows with
their cube; and tuned, with one variable for the user and each test inside of the pattern where it is decided. Facts are asserted
by template, the quickest way there is from Python.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random
from statistics import median
from typing import Any

import click

from benchmarks.machine import machine
from gsg.channels.events import Event
from gsg.channels.languages.relations import Relations
from gsg.channels.temporal import Limits, TemporalMatcher, parse

WRITTEN = """(event (time ?t1) (userid ?u1)) (event (time ?t2) (userid ?u2)) (event (time ?t3) (userid ?u3))
    (test (< ?t1 ?t2 ?t3)) (test (eq ?u1 ?u2 ?u3))"""
FACTS = "(deftemplate event (slot number) (slot time) (slot userid))"
AS_WRITTEN = """(defrule three (event (number ?a) (time ?t1) (userid ?u1)) (event (number ?b) (time ?t2) (userid ?u2))
    (event (number ?c) (time ?t3) (userid ?u3)) (test (< ?t1 ?t2 ?t3)) (test (eq ?u1 ?u2 ?u3)) => (told ?a ?b ?c))"""
TUNED = """(defrule three (event (number ?a) (time ?t1) (userid ?u)) (event (number ?b) (time ?t2&:(< ?t1 ?t2)) (userid ?u))
    (event (number ?c) (time ?t3&:(< ?t2 ?t3)) (userid ?u)) => (told ?a ?b ?c))"""

Happened = list[tuple[int, str]]
"""The time and the user of each event."""


def happened(count: int, users: int) -> Happened:
    """Events of users drawn at random."""
    random = Random(1)
    return [(time_s, f"user{random.randrange(users)}") for time_s in range(count)]


def ours(text: str, events: Happened) -> tuple[float, int]:
    """CPU seconds, and how many matches."""
    relations = Relations()
    matcher = TemporalMatcher(relations, limits=Limits(matches=10**9, steps=10**9), max_events=len(events))
    matcher.insert(1, parse(text, relations), 0.0)
    published = [Event({"number": at, "time": at, "userid": user}) for at, user in events]
    told: list[Sequence[Event]] = []
    began_s = time.process_time()
    for now_s, event in enumerate(published):
        for match in matcher.happened(event, float(now_s)):
            told.append(match.events)  # as a subscriber is told
    return time.process_time() - began_s, len(told)


def clips(rule: str, events: Happened) -> tuple[float, int]:
    """The same of CLIPS. Raises ModuleNotFoundError where it is not installed."""
    import clips

    environment = clips.Environment()
    told: list[Any] = []  # Any: CLIPS's values
    environment.define_function(lambda *numbers: told.append(numbers), name="told")
    environment.build(FACTS)
    environment.build(rule)
    template = environment.find_template("event")
    published = [{"number": at, "time": at, "userid": clips.Symbol(user)} for at, user in events]
    began_s = time.process_time()
    for fact in published:
        template.assert_fact(**fact)
        environment.run()
    return time.process_time() - began_s, len(told)


def compare(name: str, rounds: int, rule: str, events: Happened) -> None:
    """Print both, by the median of rounds in turns."""
    pairs = [(ours(WRITTEN, events), clips(rule, events)) for _ in range(rounds)]
    ours_s, its_s = median(pair[0][0] for pair in pairs), median(pair[1][0] for pair in pairs)
    matches, its_matches = pairs[0][0][1], pairs[0][1][1]
    ratio = median(pair[1][0] / pair[0][0] for pair in pairs)
    print(f"{name:42} {ours_s * 1e3:9.1f} ms {its_s * 1e3:9.1f} ms   {ratio:8.1f} times   {matches} matches")
    if matches != its_matches:
        raise SystemExit(f"{name}: CLIPS has {its_matches} matches, we have {matches}")


def absence(pending: int) -> None:
    """Print what events cost while so many matches wait."""
    relations = Relations()
    matcher = TemporalMatcher(relations, limits=Limits(waiting=2 * pending), max_events=pending)
    matcher.insert(1, parse("(event (type 'ask) (id ?i)) (absent 1h (event (type 'answer) (id ?i)))", relations), 0.0)
    asked = [Event({"type": "ask", "id": number}) for number in range(pending)]
    answered = [Event({"type": "answer", "id": number}) for number in range(pending)]
    for name, events in (("asked, and waits", asked), ("answered", answered)):
        began_s = time.process_time()
        for event in events:
            matcher.happened(event, 1.0)
        print(f"absence: {name:33} {(time.process_time() - began_s) / pending * 1e6:9.1f} us an event, {pending:,} waiting")


@click.command()
@click.option("--quick", is_flag=True, help="Fewer rounds and events.")
def main(quick: bool) -> None:
    """Temporal subscriptions beside CLIPS."""
    print(machine())
    few, many, rounds = (60, 200, 1) if quick else (150, 1_000, 7)
    print(f"{'three events of one user in order':42} {'ours':>12} {'CLIPS':>12}")
    try:
        for count, rule, name in ((many, TUNED, "its rule tuned"), (few, AS_WRITTEN, "its rule as written")):
            compare(f"{count:,} events, {name}", rounds, rule, happened(count, many // 5))
    except ModuleNotFoundError:
        print("CLIPS is not installed; pip install '.[bench]'")
        print(f"{many:,} events: {ours(WRITTEN, happened(many, many // 5))[0] * 1e3:.1f} ms")
    absence(200 if quick else 5_000)


if __name__ == "__main__":
    main()
