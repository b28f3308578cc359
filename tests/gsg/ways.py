"""A subscriber's peer without a network: the ways by which rendezvous feed it, and what it has been told."""

from __future__ import annotations

from gsg.feeds.publisher_order import PublisherOrder

P, Q = b"publisher", b"another"


class Ways:
    """Rendezvous ``r1``, ``r2``, ... that feed a peer by one way each, until lost; and what the peer has been told."""

    def __init__(self, *names: str) -> None:
        self.there = {name.encode(): [name] for name in names}
        self.standby: dict[bytes, list[str]] = {}
        self.ordering: PublisherOrder[int] = PublisherOrder(
            lambda rendezvous: self.there.get(rendezvous, []), lambda rendezvous: self.standby.get(rendezvous, [])
        )
        self.told: list[int] = []
        self.now = 0.0

    def arrive(
        self,
        way: str,
        *numbers: int,
        after: dict[str, int] | None = None,
        publisher: bytes = P,
        facts: str = "",
        more: bool = False,
        called: int | None = None,
        events: int = 0,
    ) -> None:
        """Events, or what happens to some facts of the one feed that comes by this way; ``events``: the last named of an event."""
        named = [(name.encode(), number, events) for name, number in (after or {}).items()]
        concerns = (way, list(facts)) if facts else None
        passes = self.ordering.passes(way, publisher, numbers[-1], named, more=more)
        if passes and not (concerns is not None and self.ordering.conflicts(publisher, concerns)):
            self.told.extend(numbers if called is None else [called])
        else:
            things = [(number, number if called is None else called, 100) for number in numbers]
            self.told.extend(self.ordering.hold(self.now, way, publisher, named, things, concerns))

    def passed(self, way: str, number: int, publisher: bytes = P) -> None:
        self.told.extend(self.ordering.note_passed(way, publisher, number))

    def lose(self, way: str) -> None:
        self.there.pop(way.encode(), None)
        self.told.extend(self.ordering.forget_way(way))

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.told.extend(self.ordering.expire(self.now))

    def questions(self) -> list[tuple[object, bytes, int]]:
        asked, self.ordering.questions = self.ordering.questions, []
        return asked
