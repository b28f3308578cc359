"""One wake of an agent while it runs: what it has used, what it sees, and what it wants done when it ends well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from sys import getsizeof

from ..events import Event
from ..values import Value
from .data import ENTRY_BYTES, Function, List, Record, Scope, depth_of, has_functions, listed, size_of
from .limits import MAX_NESTING, Limits, Reason, Stop

NO_EVENT = Event({})


@dataclass(slots=True)
class Timer:
    """What an agent does later, by itself, as if the event had woken it that woke it when it said so."""

    due_s: float
    function: Function
    event: Event


@dataclass(slots=True)
class Run:
    """What one wake uses and does. Methods raise Stop."""

    limits: Limits
    variables: Scope
    """Of the agent's state and functions."""
    event: Event = NO_EVENT
    recent: Sequence[Event] = ()
    now_s: float = 0.0
    random: Callable[[], float] = lambda: 0.0
    last_ticket: int = 0
    tickets: int = 0
    """That the agent has."""
    chain: int = 0
    """Agents that were woken one by the other before."""
    steps: int = 0
    allocated_bytes: int = 0
    """Of values made, since it was last counted what of them lives."""
    printed: list[str] = field(default_factory=list)
    output_characters: int = 0
    published: list[dict[str, Value]] = field(default_factory=list)
    subscribed: dict[int, tuple[object, object]] = field(default_factory=dict)
    """Conditions and handlers by ticket."""
    timers: dict[int, Timer] = field(default_factory=dict)
    cancelled: list[int] = field(default_factory=list)
    record: Record | None = None

    def charge(self, steps: int) -> None:
        """Count work that is about to be done, or else is not done."""
        if self.steps + steps > self.limits.steps:
            raise self.out_of_steps()
        self.steps += steps

    def out_of_steps(self) -> Stop:
        """That the steps of a wake are used up."""
        limit = self.limits.steps
        self.steps = min(self.steps, limit)
        return Stop(Reason.STEPS, f"more than {limit:,} steps in one wake; expected fewer: look for a loop without end", limit)

    def current_event(self) -> Record:
        """The waking event."""
        if self.record is None:
            self.record = Record(self.event.fields)
        return self.record

    def text(self, value: str) -> str:
        """A text just made, of a length that was seen to be within bounds before."""
        self.charge(len(value) // 64)
        self.allocated_bytes += getsizeof(value)
        return value

    def expect_length(self, characters: int) -> None:
        """That a text of this length may be made."""
        limit = self.limits.text_characters
        if characters > limit:
            raise Stop(Reason.TEXT, f"a text of {characters:,} characters; expected at most {limit:,}", limit)
        self.charge(characters // 64)

    def expect_items(self, items: int) -> None:
        """That a list of this length may be made."""
        limit = self.limits.items
        if items > limit:
            raise Stop(Reason.ITEMS, f"a list of {items:,} items; expected at most {limit:,}", limit)
        self.charge(items // 32)

    def made_list(self, items: tuple[object, ...]) -> List:
        """A list of items."""
        self.expect_items(len(items))
        return self.sized(listed(items, self))

    def put_before(self, item: object, after: List) -> List:
        """A list that begins with an item."""
        self.expect_items(len(after.items) + 1)
        size = after.bytes + size_of(item, self) + ENTRY_BYTES
        depth = max(after.depth, 1 + depth_of(item, self))
        functions = after.has_functions or has_functions(item)
        return self.sized(List((item,) + after.items, size, depth, functions))  # noqa: RUF005  # it copies once

    def sized(self, value: List) -> List:
        """A list just made, if it is neither too large nor nested too deep."""
        if value.depth > MAX_NESTING:
            raise Stop(
                Reason.NESTING, f"lists nested {value.depth} deep; expected at most {MAX_NESTING}, as in events", MAX_NESTING
            )
        self.expect_bytes(value.bytes)
        self.allocated_bytes += value.bytes
        return value

    def expect_bytes(self, size: int) -> None:
        """That a value of this size may be kept."""
        if size > self.limits.memory_bytes:
            raise self.out_of_memory(size)

    def out_of_memory(self, size: int) -> Stop:
        """That the agent has too much."""
        limit = self.limits.memory_bytes
        return Stop(
            Reason.MEMORY, f"{size:,} bytes of values; expected at most {limit:,}: keep counts rather than what is counted", limit
        )

    def new_ticket(self) -> int:
        """The number of a subscription or timer."""
        limit = self.limits.tickets
        self.tickets += 1
        if self.tickets > limit:
            raise Stop(
                Reason.TICKETS, f"more than {limit:,} subscriptions and timers at a time; expected fewer: cancel some", limit
            )
        self.last_ticket += 1
        return self.last_ticket

    @property
    def environment(self) -> Mapping[str, Value]:
        """What the waking event was published with."""
        return self.event.environment
