"""What a peer knows of itself that is well."""

from __future__ import annotations

from gsg.monitoring.health import State

WELL = State(
    has_entered=True,
    leaving=False,
    peers=3,
    joins=True,
    doors={"http": True, "pedro": True},
    ended=(),
    loop_late_s=0.002,
    disk_problem="",
    comparing=0,
    stale_feeds=0,
)
