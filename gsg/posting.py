"""What is posted under a key: templates with their tests, and the feeds that carry what matches to subscribers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeAlias

import rete

from .features import Key, Template
from .messages import Deltas, Gap, InsertCondition, Message, Test, parts
from .model import Tuple

Subscriber: TypeAlias = Hashable
"""Whoever a feed goes to: for a peer, the link to the subscriber's peer."""
Predicate: TypeAlias = Callable[[Tuple, "str | None"], bool]
"""A test, compiled: of a tuple and the text that it came as."""

DELTAS = 10_000
"""Deltas in one message."""
HELD_DELTAS = 20_000
"""Deltas kept for a feed whose subscriber cannot take them now. Beyond, they are dropped and the feed is marked with a gap: the
subscriber is told, and gets a fresh snapshot when it asks."""


class Feed:
    """One subscriber's share in one template."""

    __slots__ = (
        "_facts",
        "_signs",
        "anchor",
        "congested",
        "events_only",
        "gap",
        "loading",
        "number",
        "posted",
        "round",
        "sequence",
        "subscriber",
    )

    def __init__(self, subscriber: Subscriber, asked: InsertCondition, posted: Posted, anchor: Key | None) -> None:
        self.subscriber = subscriber
        self.number = asked.feed
        self.events_only = asked.events_only
        self.posted = posted
        self.anchor = anchor
        self.sequence = 0
        self.loading = True
        """Its snapshot is still under way."""
        self.congested = False
        """Its link takes nothing now."""
        self.round = 0
        """Counts snapshots: one that is still being sent when another begins is given up."""
        self.gap = False
        self._facts: list[Tuple] = []
        self._signs: list[int] = []

    @property
    def held(self) -> bool:
        """Whether deltas are kept here for now."""
        return self.loading or self.congested

    def add(self, fact: Tuple, sign: int) -> bool:
        """Keep a delta; whether it is the first since the last message."""
        if self.gap:
            return False
        if len(self._facts) >= HELD_DELTAS and self.held:
            self.gap = True
            self._facts, self._signs = [], []
            return False
        self._facts.append(fact)
        self._signs.append(sign)
        return len(self._facts) == 1

    def take(self) -> list[Message]:
        """The messages for what was kept, if the feed may speak."""
        if self.held:
            return []
        if self.gap:
            return [Gap(self.number)]
        messages: list[Message] = []
        for part in parts(self._facts, DELTAS):
            messages.append(Deltas(self.number, self.sequence, self._facts[part], self._signs[part]))
            self.sequence += 1
        self._facts, self._signs = [], []
        return messages

    def restart(self) -> None:
        """Forget what was kept: a snapshot that includes it is about to be sent."""
        self.gap = False
        self.loading = True
        self.round += 1
        self._facts, self._signs = [], []


class Posted:
    """A template under one anchor, with the test that goes with it, and its feeds."""

    __slots__ = ("feeds", "predicate", "template", "test")

    def __init__(self, template: Template, test: Test | None, predicate: Predicate | None) -> None:
        self.template = template
        self.test = test
        self.predicate = predicate
        self.feeds: dict[tuple[Subscriber, int], Feed] = {}


class Stand:
    """What is posted under one key: templates without a test by look-up, and with a test one list per template."""

    __slots__ = ("by_test", "table")

    def __init__(self) -> None:
        self.table: rete.TemplateTable[list[Posted]] = rete.TemplateTable()
        self.by_test: dict[tuple[Template, Test | None], Posted] = {}
