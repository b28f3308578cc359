"""What is known of the facts under each constant: those of the whole time, or those of its beginning, taken for all of it."""

from __future__ import annotations

from dataclasses import replace

from ..errors import BadParameter
from ..workload.workload import Constants, Recorded, Synthetic, Workload
from .strategies import ALL_DAY, Strategy


def known_constants(strategy: Strategy, workload: Workload) -> tuple[Constants, ...]:
    """The constants of each position with the facts that are known of them by a strategy.

    Raises BadParameter for one that knows the beginning alone, of a workload that does not tell it.
    """
    if strategy.early == ALL_DAY:
        return workload.constants
    if not isinstance(workload, Synthetic | Recorded):
        raise BadParameter(
            f"strategy {strategy.name!r} knows the facts of the beginning, which are not counted of these tuples; expected "
            "synthetic ones, or those of a file that is read in one piece"
        )
    facts = workload.facts_by(strategy.early / ALL_DAY)
    return tuple(replace(known, facts=some) for known, some in zip(workload.constants, facts, strict=True))
