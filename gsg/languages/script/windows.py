"""``WINDOW 10 s`` and ``WINDOW 100 EVENTS``: how long events count as if they were facts."""

from __future__ import annotations

import difflib

import rete

from ..bad_text import Mistake

UNITS_S = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_EVENTS = ("EVENT", "EVENTS")


def window_of(position: int, number: object, unit_position: int, unit: str) -> rete.Window:
    """The window of a number and a unit that were read at these positions; raises Mistake."""
    if not isinstance(number, int | float) or number <= 0:
        raise Mistake(position, f"a window of {number}; expected a number above 0")
    if unit.upper() in _EVENTS:
        if not isinstance(number, int):
            raise Mistake(position, f"a window of {number} events; expected a whole number")
        made: dict[str, float] = {"count": number}
    elif unit.lower() in UNITS_S:
        made = {"seconds": number * UNITS_S[unit.lower()]}
    else:
        near = difflib.get_close_matches(unit.lower(), [*UNITS_S, "events"], n=1)
        hint = f"; did you mean {near[0] if near[0] in UNITS_S else 'EVENTS'}?" if near else ""
        raise Mistake(unit_position, f'"{unit}" is no unit of a window; expected ms, s, min, h or EVENTS{hint}')
    try:
        return rete.Window(**made)  # type: ignore[arg-type]  # a count is an int
    except rete.BadQuery as error:
        raise Mistake(position, str(error)) from None
