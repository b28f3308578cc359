"""What a report says first: a sentence with the figures that matter, and a bar for each of the two that it sets side by side."""

from __future__ import annotations

from dataclasses import dataclass

ALIKE = 1.1
"""Figures of which one is less than so many times the other are not told apart."""
_PARTS = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 10: "a tenth", 100: "a hundredth", 1_000: "a thousandth"}
_NEAR = 1.06
"""How many times a part may be off to be called by its name."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure with its name, and as it is said, with its unit."""

    name: str
    value: float
    said: str
    line: str = ""
    """The line of the plots whose colour it has, by its name; empty where that is the bar's own name."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence and what it rests on: two figures of one kind, the one of interest first, or none."""

    text: str
    bars: tuple[Bar, ...] = ()


def part_said(part: float, whole: float) -> str:
    """What one figure is of another that is no smaller, in the words that follow it, such as ``a tenth of``."""
    if part * ALIKE >= whole:
        return "as much as"
    if not part:
        return "none of"
    times = whole / part
    for known, name in _PARTS.items():
        if known / _NEAR <= times <= known * _NEAR:
            return f"{name} of"
    return f"{part / whole:.0%} of" if times < 10 else f"1/{times:,.0f} of"


def share_said(share: float) -> str:
    """A share in percent, with two digits that count, or with one behind the point; in times where it is above the whole."""
    if share > 1.5:
        return f"{float(f'{share:.3g}'):,g} times"
    percent = 100 * share
    if percent >= 10 or percent == 0:
        return f"{percent:.1f}%".replace(".0%", "%")
    return f"{float(f'{percent:.2g}'):.{_digits(percent)}f}%"


def _digits(percent: float) -> int:
    """Behind the point, to have two that count."""
    digits = 1
    while percent < 1 and digits < 8:
        percent *= 10
        digits += 1
    return digits
