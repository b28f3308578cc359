"""One wake of an agent while it runs: what it has used, what it sees, and what it wants done when it ends well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from sys import getsizeof

from ..events import Event
from ..values import Value
from .data import ENTRY_BYTES, SCOPE_BYTES, Function, List, Record, Scope, depth_of, has_functions, listed, size_of
from .limits import MAX_NESTING, MAX_STEPS, Limits, Reason, Stop

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
    held: Mapping[int, int] = field(default_factory=dict)
    """The tickets that the agent has, and how large their conditions are: 0 for timers."""
    chain: int = 0
    """Agents that were woken one by the other before."""
    is_from_elsewhere: bool = False
    """Whether another channel says what agents were woken before."""
    most_steps: int = MAX_STEPS
    """As limits.steps, or fewer where its cascade leaves fewer."""
    steps: int = 0
    allocated_bytes: int = 0
    """Of values made, since it was last counted what of them lives."""
    printed: list[str] = field(default_factory=list)
    output_characters: int = 0
    published: list[dict[str, Value]] = field(default_factory=list)
    dropped: int = 0
    """Events and lines that went beyond the chain that another channel gave."""
    subscribed: dict[int, tuple[object, object]] = field(default_factory=dict)
    """Conditions and handlers by ticket."""
    sizes: dict[int, int] = field(default_factory=dict)
    """How large these conditions are."""
    timers: dict[int, Timer] = field(default_factory=dict)
    cancelled: dict[int, None] = field(default_factory=dict)
    """Of the tickets that the agent has."""
    record: Record | None = None
    is_event_taken: bool = False

    def charge(self, steps: int) -> None:
        """Count work that is about to be done, or else is not done."""
        if self.steps + steps > self.most_steps:
            raise self.out_of_steps()
        self.steps += steps

    def out_of_steps(self) -> Stop:
        """That the steps of a wake, or of a cascade, are used up."""
        self.steps = min(self.steps, self.most_steps)
        if self.most_steps < self.limits.steps:
            limit = self.limits.cascade_steps
            return Stop(
                Reason.CASCADE,
                f"more than {limit:,} steps by one event and what was published in answer to it; expected fewer: "
                "look for agents and consumers that answer each other",
                limit,
            )
        limit = self.limits.steps
        return Stop(Reason.STEPS, f"more than {limit:,} steps in one wake; expected fewer: look for a loop without end", limit)

    def made_scope(self, variables: int) -> None:
        """Count the variables of a call or let."""
        self.allocated_bytes += SCOPE_BYTES + ENTRY_BYTES * variables
        if variables >= 8:
            self.charge(variables // 8)

    def allocate(self, size: int) -> None:
        """Count bytes of a value that may be kept from now on."""
        self.allocated_bytes += size

    def current_event(self) -> Record:
        """The waking event, to be looked at."""
        if self.record is None:
            self.record = Record(self.event.fields)
        return self.record

    def taken_event(self) -> Record:
        """The waking event, as a value that may be kept: its size is counted, once."""
        record = self.current_event()
        if not self.is_event_taken:
            self.allocated_bytes += size_of(record, self)
            self.is_event_taken = True
        return record

    def size_of_found(self, value: list[Value] | dict[str, Value]) -> int:
        """How large a list or event within an event is, in bytes; the walk is charged for."""
        return size_of(Record({"": value}), self)

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

    def chain_allows(self, what: str) -> bool:
        """Whether something may follow from this wake; False where that is dropped. Raises Stop where the agent is at fault."""
        limit = self.limits.chain
        if self.chain < limit:
            return True
        if self.is_from_elsewhere:  # whoever published it may have written what it liked
            self.dropped += 1
            return False
        raise Stop(
            Reason.CHAIN,
            f"{what} in answer to the {limit}th event that agents published in answer to each other; "
            "expected an end: let the condition leave out what it publishes itself",
            limit,
        )

    def cancel(self, ticket: int) -> None:
        """Give up a subscription or timer; nothing for one that there is not."""
        if self.subscribed.pop(ticket, None) is not None:
            del self.sizes[ticket]
        elif self.timers.pop(ticket, None) is None and ticket in self.held:
            self.cancelled[ticket] = None

    def expect_conditions(self, more: int) -> None:
        """That a condition of this size may be subscribed to."""
        limit = self.limits.conditions
        kept = sum([size for ticket, size in self.held.items() if ticket not in self.cancelled])
        size = kept + sum(self.sizes.values()) + more
        if size > limit:
            raise Stop(
                Reason.CONDITIONS,
                f"{size:,} comparisons and constants in conditions that it subscribes to; expected at most {limit:,}: cancel some",
                limit,
            )

    def new_ticket(self) -> int:
        """The number of a subscription or timer."""
        limit = self.limits.tickets
        if len(self.held) - len(self.cancelled) + len(self.subscribed) + len(self.timers) >= limit:
            raise Stop(
                Reason.TICKETS, f"more than {limit:,} subscriptions and timers at a time; expected fewer: cancel some", limit
            )
        self.last_ticket += 1
        return self.last_ticket

    @property
    def environment(self) -> Mapping[str, Value]:
        """What the waking event was published with."""
        return self.event.environment
