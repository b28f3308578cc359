"""The options of ``gsg peer`` that make it the facilitator of an experiment, or let it take part in one."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..arguments import AnyCommand, refuse_options, with_options
from ..connecting import parse_address

if TYPE_CHECKING:
    from ...experiments.plan import Plan
    from ...peer import Peer

EXAMPLE = "127.0.0.1:8471"
with_experiment: Callable[[AnyCommand], AnyCommand] = with_options(
    [
        click.option(
            "--facilitator",
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            help="Lead an experiment: tell those that take part what to do, and write their logs to Parquet files there, for "
            "gsg simulate dissemination --log DIR; needs the extra sim.",
        ),
        click.option(
            "--take-part",
            metavar="HOST:PORT",
            help="Join by this facilitator, do what it says with topics of the experiment, and send it a log.",
        ),
        click.option("--experiment-peers", default=8, show_default=True, metavar="N", help="How many are waited for."),
        click.option(
            "--experiment-subscribers",
            default="0.25,0.5,0.75,1",
            show_default=True,
            metavar="SHARE,...",
            help="Which shares of them subscribe to a topic, one topic after another.",
        ),
        click.option(
            "--experiment-removed",
            default=0.0,
            show_default=True,
            metavar="SHARE",
            help="Which share of them ends at last, at once and as if killed.",
        ),
        click.option(
            "--experiment-events",
            default=40,
            show_default=True,
            metavar="N",
            help="Events of one publisher, and then of changing ones, for each topic.",
        ),
        click.option(
            "--experiment-settle",
            default=15.0,
            show_default=True,
            metavar="SECONDS",
            help="How long nothing is done after all have come, and after they have subscribed.",
        ),
        click.option(
            "--experiment-quiet",
            default=3.0,
            show_default=True,
            metavar="SECONDS",
            help="How long after the last of some events they are counted; what takes longer counts as missed.",
        ),
        click.option(
            "--experiment-watch",
            default=120.0,
            show_default=True,
            metavar="SECONDS",
            help="How long views are logged after the end of some.",
        ),
    ]
)
"""Gives a command these options; :class:`ExperimentOptions` has what they say."""


@dataclass(frozen=True, slots=True)
class ExperimentOptions:
    """What was said on the command line."""

    facilitator: Path | None
    take_part: str | None
    experiment_peers: int
    experiment_subscribers: str
    experiment_removed: float
    experiment_events: int
    experiment_settle: float
    experiment_watch: float
    experiment_quiet: float

    def joined(self) -> list[tuple[str, int]]:
        """The facilitator's address, where this peer takes part. Raises click's usage error, as below."""
        self._check()
        return [] if self.take_part is None else [parse_address(self.take_part, option="--take-part", example=EXAMPLE)]

    def _check(self) -> None:
        if self.facilitator is not None and self.take_part is not None:
            raise click.UsageError("--facilitator leads an experiment and --take-part follows one; leave one of them out")
        if self.facilitator is not None:
            self._plan()
            return
        refuse_options(
            "is for the peer that leads an experiment; add --facilitator DIR", lambda name: name.startswith("experiment_")
        )

    def _plan(self) -> Plan:
        from ...errors import LocalError
        from ...experiments.plan import Plan

        try:
            shares = tuple(sorted({float(part) for part in self.experiment_subscribers.split(",")}))
        except ValueError:
            said = f"{self.experiment_subscribers!r}; expected numbers between commas, such as 0.25,0.5"
            raise click.BadParameter(said, param_hint="--experiment-subscribers") from None
        try:
            return Plan(
                self.experiment_peers,
                shares,
                self.experiment_removed,
                self.experiment_events,
                self.experiment_settle,
                self.experiment_watch,
                self.experiment_quiet,
            )
        except LocalError as error:
            raise click.UsageError(f"an experiment with {error}") from None

    async def enter(self, peer: Peer, doors: AsyncExitStack, say: Callable[[str], Awaitable[None]]) -> list[str]:
        """Begin what was asked for, until ``doors`` close; what to say of it. Raises Unsupported, LocalError."""
        if self.facilitator is not None:
            from random import SystemRandom

            from ...experiments.facilitation import Facilitation

            await doors.enter_async_context(Facilitation(peer, self.facilitator, self._plan(), SystemRandom(), say))
            return [f"facilitator of an experiment: waits for {self.experiment_peers} peers, log in {self.facilitator}"]
        if self.take_part is not None:
            from ...experiments.participation import Participation

            address = parse_address(self.take_part, option="--take-part", example=EXAMPLE)
            await doors.enter_async_context(Participation(peer, address, lambda: os.kill(os.getpid(), signal.SIGKILL), say=say))
            return [f"takes part in the experiment of {self.take_part}, and does what that peer says with its topics"]
        return []
