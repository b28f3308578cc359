"""What an agent does to the world, all of it noted in its Run and done by its host when the wake has ended well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...errors import BadTerm
from ..events import fields_of
from ..values import MISSING, Value, value_at
from .conditions import Tested
from .data import FUNCTION_BYTES, Function, Record, depth_of, exported, has_functions, imported, size_of
from .limits import MAX_NESTING, MAX_WAIT_S, Reason, Stop, mistake
from .lists import record_of
from .numbers import Operation, number, shown, whole
from .run import Run, Timer
from .texts import as_text

EXPORTED_BYTES: Final = 256
"""Of lists and the like, copied into an event for a step."""
INSERT_STEPS: Final = 20
"""What a subscription costs: the channel's matcher takes it in, and gives it back when it is cancelled."""
INSERT_STEPS_PER_COMPARISON: Final = 6
"""Of its condition; a constant counts as one."""


def _print(run: Run, *values: object) -> object:
    if not run.chain_allows("a line printed"):
        return None
    line = " ".join([as_text(run, value) for value in values])
    run.output_characters += len(line)
    limits = run.limits
    if run.output_characters > limits.output_characters:
        limit = limits.output_characters
        raise Stop(Reason.OUTPUT, f"more than {limit:,} characters printed in one wake; expected fewer", limit)
    if len(run.printed) >= limits.lines:
        raise Stop(Reason.OUTPUT, f"more than {limits.lines:,} lines printed in one wake; expected fewer", limits.lines)
    run.printed.append(line)
    return None


def _publish(run: Run, value: object) -> object:
    record = record_of(value)
    limits = run.limits
    if len(run.published) >= limits.published:
        raise Stop(
            Reason.PUBLISHED, f"more than {limits.published:,} events published in one wake; expected fewer", limits.published
        )
    if not run.chain_allows("an event published"):
        return None
    run.charge(size_of(record, run) // 256)
    try:
        run.published.append(fields_of(record.fields))
    except BadTerm as error:
        raise mistake(f"what is published is no event: {error}") from None
    return None


def event_of(names: Sequence[str]) -> Operation:
    """What makes an event of values, for fields of these names."""

    def apply(run: Run, *values: object) -> object:
        made: dict[str, Value] = {}
        size, depth = 64, 0
        for name, value in zip(names, values, strict=True):
            if has_functions(value):
                raise mistake(f"a function as field {name!r} of an event; expected a value")
            more = size_of(value, run) + 16 + len(name)
            size += more
            run.expect_bytes(size)
            run.charge(more // EXPORTED_BYTES)
            depth = max(depth, depth_of(value, run))
            if depth + 1 > MAX_NESTING:
                raise Stop(Reason.NESTING, f"an event nested {depth + 1} deep; expected at most {MAX_NESTING}", MAX_NESTING)
            made[name] = exported(value)
        run.allocated_bytes += size
        return Record(made, size, depth + 1)

    return apply


def env_at(path: tuple[str, ...]) -> Operation:
    """What reads a value of the environment that the waking event was published with, null where there is none."""

    def apply(run: Run) -> object:
        found: object = value_at(run.environment, path)
        return None if found is MISSING else imported(found, run)

    return apply


def after(run: Run, seconds: object, function: object) -> object:
    """Have a function called later. Returns its ticket."""
    wait = number(run, seconds)
    if not 0 <= wait <= MAX_WAIT_S:
        raise mistake(f"(after {shown(seconds)} ...); expected 0 to {MAX_WAIT_S:,.0f} seconds")
    if not isinstance(function, Function):
        raise mistake(f"{shown(function)} is no function of the program")
    run.allocated_bytes += FUNCTION_BYTES + size_of(run.current_event(), run)
    ticket = run.new_ticket()
    run.timers[ticket] = Timer(run.now_s + wait, function, run.event)
    return ticket


def subscribe(run: Run, tested: Tested, handler: object) -> object:
    """Have a function called with each event of which a condition holds. Returns its ticket."""
    if not isinstance(handler, Function) or handler.body.parameters != 1:
        raise mistake(f"{shown(handler)} as a handler; expected a function of the program with one parameter, the event")
    run.charge(INSERT_STEPS + INSERT_STEPS_PER_COMPARISON * tested.weight)
    run.expect_conditions(tested.weight)
    run.allocated_bytes += FUNCTION_BYTES
    ticket = run.new_ticket()
    run.sizes[ticket] = tested.weight
    run.subscribed[ticket] = (tested, handler)
    return ticket


def _cancel(run: Run, ticket: object) -> object:
    run.cancel(whole(run, ticket))
    return None


def _stop(_run: Run) -> object:
    raise Stop(Reason.ITSELF, "it ended itself")


ACTS: Final[dict[str, tuple[int, int, Operation]]] = {
    "print": (1, 99, _print),
    "publish": (1, 1, _publish),
    "cancel": (1, 1, _cancel),
    "stop": (0, 0, _stop),
    "now": (0, 0, lambda run: run.now_s),
}
"""Operators with effects: the fewest and most operands, and what they do."""
