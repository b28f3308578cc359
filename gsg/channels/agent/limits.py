"""What an agent may use, and how it is stopped when it asks for more: every bound has its name here.

An agent belongs to whoever subscribed it and runs in the thread of a channel, beside everybody else's subscriptions. Nothing that
it asks for is done before it is known to be within the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

MAX_STEPS: Final = 5_000
"""Of one wake: evaluated lists, instructions, and the work of operators; 1 to 6 ms. Beyond, the agent is stopped."""
MAX_MEMORY_BYTES: Final = 1024 * 1024
"""Of all values that its state reaches, each as if written out in full, so that what is shared counts each time. Beyond, the agent
is stopped."""
MAX_OUTPUT_CHARACTERS: Final = 16_384
"""Printed in one wake. Beyond, the agent is stopped."""
MAX_LINES: Final = 1_000
"""Printed in one wake. Beyond, the agent is stopped."""
MAX_PUBLISHED: Final = 100
"""Events of one wake. Beyond, the agent is stopped, and none of them is published."""
MAX_NUMBER_BITS: Final = 1_024
"""Of a whole number, as of those in events. A longer one is not computed: the agent is stopped."""
MAX_TEXT_CHARACTERS: Final = 65_536
"""Of a text that it makes. A longer one is not made: the agent is stopped."""
MAX_ITEMS: Final = 10_000
"""Of a list. A longer one is not made: the agent is stopped."""
MAX_NESTING: Final = 32
"""Lists and events within each other, as in events. Deeper ones are not made: the agent is stopped."""
MAX_CALLS: Final = 1_000
"""Calls within each other, but for those that end a function. Beyond, the agent is stopped."""
MAX_RECENT: Final = 1_000
"""Recent events that one search gives; it gives the latest."""
MAX_TICKETS: Final = 100
"""Subscriptions and timers that it has at a time. Beyond, the agent is stopped."""
MAX_CHAIN: Final = 16
"""Agents that one after the other were woken by what the one before published or printed. The one that would do so beyond is
stopped, unless the chain is that of another channel's event, which may say what it likes: that is dropped, and counted."""
MAX_OWN_WAKES: Final = 100
"""Times that it wakes itself in :data:`OWN_WAKES_S`, by its timers or by an event that followed from its own. Beyond, it is
stopped."""
OWN_WAKES_S: Final = 1.0
"""In which its own wakes are counted."""
MAX_CASCADE_STEPS: Final = 20_000
"""Of all its wakes by one event and by what is published while it is told. Beyond, the agent is stopped."""
MAX_CONDITIONS: Final = 2_000
"""Comparisons and constants of all conditions that it subscribes to at a time. Beyond, the agent is stopped."""
MAX_WAIT_S: Final = 10 * 365 * 86_400.0
"""Of a timer. A longer one is a mistake."""
MAX_PROGRAM_CHARACTERS: Final = 64 * 1024
"""Of an agent's text; a longer one is refused."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one agent; each is the constant of its name unless its owner says otherwise."""

    steps: int = MAX_STEPS
    memory_bytes: int = MAX_MEMORY_BYTES
    output_characters: int = MAX_OUTPUT_CHARACTERS
    lines: int = MAX_LINES
    published: int = MAX_PUBLISHED
    number_bits: int = MAX_NUMBER_BITS
    text_characters: int = MAX_TEXT_CHARACTERS
    items: int = MAX_ITEMS
    calls: int = MAX_CALLS
    tickets: int = MAX_TICKETS
    chain: int = MAX_CHAIN
    own_wakes: int = MAX_OWN_WAKES
    cascade_steps: int = MAX_CASCADE_STEPS
    conditions: int = MAX_CONDITIONS


class Reason(Enum):
    """Why an agent runs no more."""

    ITSELF = "(stop)"
    MISTAKE = "mistake"
    STEPS = "steps"
    MEMORY = "memory"
    OUTPUT = "output"
    PUBLISHED = "published"
    NUMBER = "number"
    TEXT = "text"
    ITEMS = "items"
    NESTING = "nesting"
    CALLS = "calls"
    TICKETS = "tickets"
    CHAIN = "chain"
    OWN_WAKES = "own wakes"
    CASCADE = "cascade"
    CONDITIONS = "conditions"


class Stop(Exception):
    """Raised within the interpreter, to end a wake and the agent. ``start`` is the offset in its text, set where it is known."""

    def __init__(self, reason: Reason, problem: str, limit: int | None = None) -> None:
        super().__init__(problem)
        self.reason = reason
        self.problem = problem
        self.limit = limit
        self.start: int | None = None


def mistake(problem: str) -> Stop:
    """That a program does what has no meaning."""
    return Stop(Reason.MISTAKE, problem)
