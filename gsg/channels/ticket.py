"""A subscription of a channel, as its subscriber holds it.

    suspend            cancel
ACTIVE ──> SUSPENDED ──────> CANCELLED
  │ <────── resume              ^
  └── cancel, or once delivered ┘
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from .asked import Asked
from .events import Event
from .languages.expressions import FALSE, TRUE, Condition, Exists, Field
from .languages.signature import required_fields

Consume = Callable[[Event], object]


class Consumer(Protocol):
    """Whatever an event can be published to."""

    def publish(self, event: Event) -> object:
        """Do whatever it wants with an event."""


class State(Enum):
    """What a subscription does."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    CANCELLED = "cancelled"


TRANSITIONS = {
    State.ACTIVE: {State.SUSPENDED, State.CANCELLED},
    State.SUSPENDED: {State.ACTIVE, State.CANCELLED},
    State.CANCELLED: set[State](),
}


class Owner(Protocol):
    """What a ticket asks of its channel."""

    def modify(self, ticket: Ticket, text: str, *, language: str | None, report: str | None, deliver: str | None) -> None:
        """As :meth:`Ticket.modify`."""

    def enter_state(self, ticket: Ticket, state: State) -> None:
        """Suspend, resume or cancel a subscription."""


@dataclass(slots=True, eq=False)
class Ticket:
    """Manages one subscription. The counts are since it was made."""

    number: int
    asked: Asked
    consume: Consume = field(repr=False)
    channel: Owner = field(repr=False)
    asker: str = ""
    """Who asks, for events that name their readers."""
    private: bool = False
    """Whether its text is kept from others."""
    state: State = State.ACTIVE
    matched: int = 0
    """Events that matched."""
    delivered: int = 0
    failed: int = 0
    """Deliveries at which its consumer raised something."""
    stopped: str = ""
    """Why it was cancelled, where it exceeded a limit."""
    on_end: Callable[[], object] = field(default=lambda: None, repr=False)
    """Called when it is cancelled, by whomever."""

    def shown(self, condition: Condition) -> Condition:
        """What others may know of a condition of it: where it is private, a field that it requires."""
        if not self.private or condition == FALSE:
            return condition
        fields = required_fields(condition)
        return Exists(Field((min(fields),))) if fields else TRUE

    def modify(self, text: str, *, language: str | None = None, report: str | None = None, deliver: str | None = None) -> None:
        """Ask for something else from now on; what is not given stays. Raises BadText, and nothing has changed then."""
        self.channel.modify(self, text, language=language, report=report, deliver=deliver)

    def suspend(self) -> None:
        """Hear of nothing until :meth:`resume`. What happens meanwhile is not delivered later."""
        self.channel.enter_state(self, State.SUSPENDED)

    def resume(self) -> None:
        """Hear of events again."""
        self.channel.enter_state(self, State.ACTIVE)

    def cancel(self) -> None:
        """End the subscription; cancelling it again does nothing."""
        self.channel.enter_state(self, State.CANCELLED)
