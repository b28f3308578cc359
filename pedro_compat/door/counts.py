"""What a door counts for whoever runs the peer (:mod:`gsg.monitoring.status`): everything that it refused, gave up or cut off."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from gsg.wire.status_messages import Count


@dataclass(slots=True)
class DoorCounts:
    """Since the door was opened."""

    lines_refused: int = 0
    """Answered 0 for what they say, or because they could not be carried out."""
    connections_refused: int = 0
    """Closed because there were too many, for their network, or for want of the secret."""
    handshakes_given_up: int = 0
    """Clients that did not complete it in time, or with the right id."""

    def read(self, **more: int) -> list[Count]:
        """These and ``more``, under the names that ``gsg status`` shows."""
        return [Count(f"pedro_{name}", count) for name, count in (asdict(self) | more).items()]
