"""Subscriptions to films, for peers that run and for the simulation of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gsg.tuples.terms import Term, n3
from simulations.workload.files import read
from simulations.workload.workload import COMMON_MIX

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "films.nt"
SUBSCRIPTIONS = 250


def queries_about(file: Path) -> list[str]:
    """Subscriptions to tuples of a file: most of one condition, some that join, test, negate or repeat a variable."""
    reading = read(file, keeps_terms=True)
    terms = reading.terms()
    templates = reading.recorded.subscriptions(SUBSCRIPTIONS, COMMON_MIX, 1).codes.T.tolist()
    return [
        _query([None if code < 0 else known[code] for known, code in zip(terms, codes, strict=True)], number)
        for number, codes in enumerate(templates)
    ]


def _query(pattern: Sequence[Term | None], number: int) -> str:
    subject, predicate, obj = (name if item is None else n3(item) for item, name in zip(pattern, ("?s", "?p", "?o"), strict=True))
    condition = f"({subject}, {predicate}, {obj})"
    extra = {
        1: f"({subject}, ?q, ?r)",
        2: f"NOT {{ ({subject}, {predicate}, nothing) }}",
        3: f"(?same, {predicate}, ?same)",
    }.get(number % 10)
    if extra is None and pattern[0] is None and number % 4 == 0:
        extra = "FILTER(?s != <x:nobody>)"
    return condition if extra is None else f"{condition}, {extra}"
