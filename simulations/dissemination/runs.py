"""The experiment ``dissemination``: view exchange after removals, and the diffusion of one event on a topic.

Both are those of Paraschiv, Stefănescu and Almasi, "Agent-Based Implementation of a P2P Publish/Subscribe System": Figures 4 to 9
show how the dead are forgotten, 10 to 14 how an event spreads. All settings are run with the smallest number of agents, as often as
is asked for; larger ones once, with the middle share of removals and the largest views, since each averages over more agents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ..engine.provenance import Provenance, made_by
from ..engine.randomness import Stream
from ..engine.results import Findings, check_seed, made, save
from ..engine.sweep import Player, Sweep, check_cases
from ..errors import BadParameter
from . import cyclon, diffusion
from .cases import FORMS, DisseminationRequest, Event, Removal, Round, Spread, middle
from .cyclon import Views
from .report import found

MAX_ROUNDS = 10_000
MAX_RUNS = 1_000
SLICES_A_HOP = 5
"""Into how many slices of time the longest hop is cut."""


@dataclass(frozen=True, slots=True)
class PlayRemoval:
    """Plays removals: rounds of exchange, a removal, and as many rounds again."""

    request: DisseminationRequest

    def __call__(self, case: Removal) -> Iterator[Round]:
        """The overlay in each round from the removal on."""
        asked = self.request
        rng = _rng(asked.seed, "exchange", case.agents, case.view, case.form, case.removed, case.run)
        exchanged = min(asked.exchanged, case.view)
        views = Views(case.agents, view=case.view, exchanged=exchanged, rng=rng, oldest=case.form == "oldest")
        for _ in range(asked.settle):
            views.round()
        in_degrees = tuple(np.bincount(views.in_degrees()).tolist())
        views.remove(round(case.removed * case.agents))
        yield _seen(case, views, 0, in_degrees)
        for number in range(1, asked.rounds + 1):
            views.round()
            yield _seen(case, views, number, ())


def _seen(case: Removal, views: Views, number: int, in_degrees: tuple[int, ...]) -> Round:
    degrees, dead = views.in_degrees(), views.dead_references()
    references = int((views.known[views.alive] != cyclon.NOBODY).sum())
    return Round(
        **asdict(case),
        round=number,
        in_degree_mean=float(degrees.mean()),
        in_degree_std=float(degrees.std()),
        dead_references=int(dead.sum()),
        dead_share=float(dead.sum() / max(1, references)),
        dead_known=views.known_dead(),
        clear=int((dead == 0).sum()),
        in_degrees=in_degrees,
    )


@dataclass(frozen=True, slots=True)
class PlayEvent:
    """Plays events, each in an overlay of its own."""

    request: DisseminationRequest

    def __call__(self, case: Event) -> Iterator[Spread]:
        """How the event spread."""
        asked = self.request
        rng = _rng(asked.seed, "event", case.agents, case.subscribers, case.run)
        view = max(asked.views)
        base = Views(case.agents, view=view, exchanged=min(asked.exchanged, view), rng=rng)
        # The walks find a subscriber within a few hops: random views serve them as well as exchanged ones.
        told = diffusion.diffuse(
            base,
            case.subscribers,
            walks=asked.walks,
            lifetime=asked.lifetime,
            hop_ms=asked.hop_ms,
            rounds=asked.settle,
            rng=rng,
        )
        heard = told.heard_ms[np.isfinite(told.heard_ms)]
        slice_ms = max(1.0, asked.hop_ms[1] / SLICES_A_HOP)
        median, p99, last = np.quantile(heard, [0.5, 0.99, 1.0]).tolist() if len(heard) else (0.0, 0.0, 0.0)
        yield Spread(
            **asdict(case),
            subscribed=len(told.heard_ms),
            reached=len(heard),
            median_ms=median,
            p99_ms=p99,
            last_ms=last,
            walk_hops=told.walk_hops,
            messages=told.messages,
            slice_ms=slice_ms,
            heard=tuple(np.bincount((heard / slice_ms).astype(np.int64)).tolist()),
        )


def _rng(seed: int, *name: object) -> np.random.Generator:
    return np.random.default_rng(int(Stream(seed, *name).words(0, 1)[0]))


def sweeps_of(request: DisseminationRequest) -> tuple[Sweep[Removal, Round], Sweep[Event, Spread]]:
    """What is to be played. Raises BadParameter."""
    _check(request)
    larger = len(set(request.agents)) - 1
    check_cases(len(FORMS) * (len(request.views) * len(request.removed) * request.runs + larger))
    check_cases(len(request.subscribers) * (request.runs + larger))
    removals, events = [], []
    smallest = min(request.agents)
    for agents in sorted(set(request.agents), reverse=True):
        runs = range(request.runs if agents == smallest else 1)
        views = request.views if agents == smallest else (max(request.views),)
        shares = request.removed if agents == smallest else (middle(request.removed),)
        removals += [
            Removal(agents, view, form, share, run) for view in views for form in FORMS for share in shares for run in runs
        ]
        events += [Event(agents, share, run) for share in sorted(request.subscribers, reverse=True) for run in runs]
    return Sweep(Round, removals, PlayRemoval(request)), Sweep(Spread, events, PlayEvent(request))


def _check(request: DisseminationRequest) -> None:
    check_seed(request.seed)
    for name, value, most in (("rounds", request.rounds, MAX_ROUNDS), ("runs", request.runs, MAX_RUNS)):
        if not 0 < value <= most:
            raise BadParameter(f"{value} {name}; expected 1 to {most}")
    if not 0 <= request.settle <= MAX_ROUNDS:
        raise BadParameter(f"{request.settle} rounds to settle; expected 0 to {MAX_ROUNDS}")
    if not 0 < request.round_s < float("inf"):
        raise BadParameter(f"rounds of {request.round_s:g} s; expected more than 0")
    for agents in request.agents:
        for view in request.views:
            cyclon.check(agents, view=view, exchanged=min(request.exchanged, view))
        for share in request.removed:
            if not 0 <= share < 1 or round(share * agents) >= agents:
                raise BadParameter(f"a share of {share:g} of {agents} agents removed; expected 0 or more, and that some stay")
        for share in request.subscribers:
            diffusion.check(agents, share, walks=request.walks, lifetime=request.lifetime, hop_ms=request.hop_ms)


def run(
    request: DisseminationRequest,
    player: Callable[[], Player],
    out: Path,
    title: Callable[[str], None] = lambda _: None,
    provenance: Provenance = made_by,
) -> Findings:
    """Play all cases and leave the findings in a folder; whatever is impossible is refused before ``player`` starts anything.

    Raises SimulationError.
    """
    exchange, events = sweeps_of(request)
    folder = made(out)
    play = player()
    title("view exchange")
    rounds = play(exchange)
    title("diffusion")
    findings = found(request, rounds, play(events))
    save(folder, findings, {**asdict(request), **provenance()})
    return findings
