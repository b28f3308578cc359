"""A member of a topic without a network."""

from __future__ import annotations

from random import Random

from contacts import contact, number_of

from dht import Contact
from gsg.topics.diffusion.diffusion import Diffusion
from gsg.wire.topic_messages import Graft, Mark, Payload, TopicMessage

SOURCE = b"s" * 26


class Member:
    """A member whose neighbours are played by the test."""

    def __init__(self, *neighbours: int) -> None:
        self.sent: list[tuple[int, TopicMessage]] = []
        self.told: list[int] = []
        self.gaps: list[int] = []
        self.wakes: list[float] = []
        self.takes = True
        self.diffusion = Diffusion(
            "t",
            Random(1),
            self._send,
            self.wakes.append,
            tell=lambda payload: self.told.append(payload.number),
            tell_gap=lambda source, count: self.gaps.append(count),
        )
        self.diffusion.is_joined = True
        for number in neighbours:
            self.diffusion.neighbour_came(contact(number), lazy=False)

    def _send(self, to: Contact, message: TopicMessage) -> bool:
        if not self.takes and isinstance(message, Payload):
            return False
        self.sent.append((number_of(to.id), message))
        return True

    def comes(self, number: int, by: int, now_s: float = 0.0, *, age_ms: int = 0, body: bytes = b"") -> None:
        self.diffusion.received_payload(Payload("t", SOURCE, number, body, age_ms), contact(by).id, now_s)

    def marked(self, by: int, high: int, now_s: float = 0.0, *, low: int = 1, is_new: bool = False) -> None:
        self.diffusion.received_marks(contact(by).id, [Mark(SOURCE, low, high)], now_s, is_new=is_new)

    def runs(self, until_s: float, from_s: float = 0.0) -> None:
        for due in range(int(from_s * 10) + 1, int(until_s * 10) + 1):
            self.diffusion.advance(due / 10)

    def grafts(self) -> list[Graft]:
        return [message for _, message in self.sent if isinstance(message, Graft)]

    def sent_to(self, kind: type[TopicMessage]) -> list[int]:
        return sorted(to for to, message in self.sent if isinstance(message, kind))
