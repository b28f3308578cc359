"""A rendezvous on its own, and what it says."""

from __future__ import annotations

import rete
from gsg.errors import Refused
from gsg.rendezvous.feed import Feed, Predicate
from gsg.rendezvous.matching import EventBatch
from gsg.rendezvous.rendezvous import Rendezvous
from gsg.tuples.audiences import Audience
from gsg.tuples.features import Template, positions
from gsg.tuples.terms import Symbol, Tuple
from gsg.wire.messages import Deltas, Event, InsertCondition, Message
from gsg.wire.messages import Test as TupleTest  # a name that pytest does not take for a class of tests

ON = Symbol("on")
X_ON_Y: Template = rete.Template((None, ON, None))
ANYTHING: Template = rete.Template((None, None, None))
A, B = ("a", ON, "b"), ("b", ON, "c")


def compile_test(test: TupleTest) -> Predicate:
    """``longer N``: the last term is text of more than N letters; ``fails`` raises; ``as text`` wants the text it came as."""
    tests: dict[str, Predicate] = {
        "longer": lambda items, text: len(items[-1]) > int(test.source),  # type: ignore[arg-type]  # a test may fail
        "fails": lambda items, text: bool(1 // 0),
        "as text": lambda items, text: text == test.source,
    }
    if test.name not in tests:
        raise Refused(f"unknown test {test.name!r}")
    return tests[test.name]


def everywhere(fact: Tuple) -> bytes:
    """All positions of a fact: one peer holds all keys."""
    return positions(fact)


def flash(at: Rendezvous, events: list[Event], places: list[bytes], audience: Audience | None = None) -> None:
    """All events of a message pass."""
    EventBatch(at, b"publisher", events, places, None, audience).forward(float("inf"))
    at.progress.advance(b"publisher", events[-1].number)


class Place:
    """A rendezvous that holds every key, and what it has sent."""

    def __init__(self) -> None:
        self.rendezvous = Rendezvous(compile_test)
        self.events = 0

    def insert(self, *facts: Tuple) -> int:
        return self.rendezvous.publish(1, facts, list(map(everywhere, facts)))

    def retract(self, *facts: Tuple) -> int:
        return self.rendezvous.publish(-1, facts, list(map(everywhere, facts)))

    def flash(self, *events: Tuple, text: str | None = None, places: bytes | None = None) -> None:
        made = [Event(self.events + number, items, text) for number, items in enumerate(events, 1)]
        self.events += len(made)
        flash(self.rendezvous, made, [everywhere(items) if places is None else places for items in events])

    def post(self, who: str, feed: int, template: Template, anchor: int, **options: object) -> Feed:
        return self.rendezvous.insert_condition(who, InsertCondition(1, feed, template, anchor, **options))  # type: ignore[arg-type]  # as it takes them

    def follow(self, who: str, feed: int, template: Template = X_ON_Y, anchor: int = 1, **options: object) -> list[Tuple]:
        """Post, and take the snapshot."""
        made = self.post(who, feed, template, anchor, **options)
        parts = list(filter(None, self.rendezvous.snapshot(made)))
        self.rendezvous.release_feed(made)
        return [fact for part in parts for fact in part.facts]

    def take(self) -> list[tuple[str, Message]]:
        return [(str(who), message) for who, message in self.rendezvous.take_messages()]

    def heard(self) -> dict[str, list[str]]:
        """Per subscriber the deltas that were sent, as ``+a on b``, in order."""
        heard: dict[str, list[str]] = {}
        for who, message in self.take():
            assert isinstance(message, Deltas)
            for fact, sign in zip(message.facts, message.signs, strict=True):
                heard.setdefault(who, []).append("+-"[sign < 0] + " ".join(map(str, fact)))
        return heard
