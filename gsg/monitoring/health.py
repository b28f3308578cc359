"""Whether a peer lives, has started and is ready: decided from what it knows of itself, so that nobody else is asked.

    live      only what starting it again would mend: that what it does beside answering goes on
    started   it has entered the overlay, and all of its doors stand
    ready     whoever is sent here now gets right answers

Kubernetes asks the three apart, by /livez, /startupz and /readyz
(https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/); ``gsg check`` and systemd hear the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

LATE_S = 1.0
"""A loop whose turns come so late keeps its clients waiting."""


class Grade(Enum):
    """How bad it is where a check fails."""

    WARNING = "warning"
    """Answers may lack something for a while; it mends itself, or others serve meanwhile."""
    CRITICAL = "critical"
    """Changes or clients are refused."""


@dataclass(frozen=True, slots=True)
class State:
    """What a peer knows of itself at one moment."""

    has_entered: bool
    """Whether it has entered the overlay."""
    leaving: bool
    """Whether it is about to stop."""
    peers: int
    """How many it knows, itself included."""
    joins: bool
    """Whether it was told to join others: one that was not is alone by choice where it is."""
    doors: dict[str, bool]
    """Its doors by name, and whether each stands."""
    ended: tuple[str, ...]
    """Work that is to go on for as long as the peer lives, and has ended."""
    loop_late_s: float
    disk_problem: str
    """Why changes are refused; empty where they are not."""
    comparing: int
    """Keys whose subscribers wait until they were compared with other holders."""
    stale_feeds: int


@dataclass(frozen=True, slots=True)
class Check:
    """One of those that were made; ``detail`` says what was found."""

    name: str
    ok: bool
    detail: str
    grade: Grade = Grade.CRITICAL


Checks: TypeAlias = Callable[[State], list[Check]]


def live_checks(state: State) -> list[Check]:
    """What starting the peer again would mend. That the event loop turns is said by there being an answer."""
    ended = ", ".join(state.ended)
    return [
        Check("loop", True, "turns"),
        Check("work", not ended, f"has ended, and will not go on: {ended}" if ended else "goes on"),
    ]


def startup_checks(state: State) -> list[Check]:
    """Whether all has begun."""
    closed = [name for name, stands in state.doors.items() if not stands]
    doors = f"not open: {', '.join(closed)}" if closed else f"open: {', '.join(state.doors) or 'none'}"
    return [
        Check("overlay", state.has_entered, "entered" if state.has_entered else "not entered yet"),
        Check("doors", not closed, doors),
    ]


def ready_checks(state: State) -> list[Check]:
    """Whether whoever is sent here now gets right answers."""
    late = state.loop_late_s >= LATE_S
    alone = state.peers < 2
    if not alone:
        others = f"{state.peers} are known, this one included"
    else:
        others = "it was told to join others, and knows of none" if state.joins else "alone, as it was told to join nobody"
    comparing = f"{state.comparing} keys are being compared with their other holders" if state.comparing else "done"
    return [
        *live_checks(state)[1:],
        *startup_checks(state),
        Check("loop", not late, f"turns {1000 * state.loop_late_s:.0f} ms late", Grade.WARNING),
        Check("peers", not (alone and state.joins), others),
        Check("disk", not state.disk_problem, state.disk_problem or "takes changes"),
        Check(
            "handover",
            not state.leaving and not state.comparing,
            "this peer is about to stop" if state.leaving else comparing,
            Grade.CRITICAL if state.leaving else Grade.WARNING,
        ),
        Check("feeds", not state.stale_feeds, f"{state.stale_feeds} stale" if state.stale_feeds else "none stale", Grade.WARNING),
    ]


def failing(checks: Iterable[Check], exclude: Collection[str] = ()) -> list[Check]:
    """Those that fail, but for some that are not to count."""
    return [check for check in checks if not check.ok and check.name not in exclude]


def as_text(name: str, checks: Sequence[Check], exclude: Collection[str] = (), *, verbose: bool, details: bool) -> str:
    """As Kubernetes' own servers say it: ``ok``, or all checks where one fails, or ``verbose`` is asked for."""
    failed = failing(checks, exclude)
    if not failed and not verbose:
        return "ok\n"
    lines = []
    for check in checks:
        mark, word = ("+", "ok") if check.ok else ("-", "excluded" if check.name in exclude else "failed")
        lines.append(f"[{mark}]{check.name} {word}{f': {check.detail}' if details else ''}")
    return "\n".join([*lines, f"{name} check {'failed' if failed else 'passed'}", ""])


def as_dict(checks: Sequence[Check], exclude: Collection[str] = (), *, details: bool) -> dict[str, object]:
    """For JSON."""
    told: list[dict[str, object]] = []
    for check in checks:
        one: dict[str, object] = {"name": check.name, "ok": check.ok}
        if check.name in exclude:
            one["excluded"] = True
        if details:
            one["detail"] = check.detail
        if not check.ok:
            one["grade"] = check.grade.value
        told.append(one)
    return {"ok": not failing(checks, exclude), "checks": told}
