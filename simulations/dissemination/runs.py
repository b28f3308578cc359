"""The experiment ``dissemination``: view exchange after removals, and the diffusion of one event on a topic.

Both are those of Paraschiv, Stefănescu and Almasi, "Agent-Based Implementation of a P2P Publish/Subscribe System": Figures 4 to 9
show how the dead are forgotten, 10 to 14 how an event spreads. All settings are run with the smallest number of agents, as often as
is asked for; larger ones once, with the middle share of removals and the largest views, since each averages over more agents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from ..engine.experiment import Experiment
from ..engine.randomness import derived_seed
from ..engine.results import check_seed
from ..engine.sweep import Sweep, check_cases, check_runs
from ..errors import BadParameter, check_range
from .cases import FORMS, DisseminationRequest, Event, Removal, Round, Spread, middle
from .cyclon import NOBODY, Views, check_views
from .diffusion import Walks, check_event, diffuse
from .report import results_of

MAX_ROUNDS = 10_000
SLICES_A_HOP = 5
"""Into how many slices of time the longest hop is cut."""


def play_removal(asked: DisseminationRequest, case: Removal) -> Iterator[Round]:
    """Rounds of exchange, a removal, and rounds again: the overlay in each round from the removal on."""
    rng = _rng(asked.seed, "exchange", case.agents, case.view, case.form, case.removed, case.run)
    exchanged = min(asked.exchanged, case.view)
    views = Views(case.agents, view=case.view, exchanged=exchanged, rng=rng, oldest=case.form == "oldest")
    for _ in range(asked.settle):
        views.exchange_all()
    in_degrees = tuple(np.bincount(views.in_degrees()).tolist())
    views.remove(round(case.removed * case.agents))
    yield _seen(case, views, 0, in_degrees)
    for number in range(1, asked.rounds + 1):
        views.exchange_all()
        yield _seen(case, views, number, ())


def _seen(case: Removal, views: Views, number: int, in_degrees: tuple[int, ...]) -> Round:
    degrees, dead = views.in_degrees(), views.dead_references()
    references = int((views.known[views.alive] != NOBODY).sum())
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


def play_event(asked: DisseminationRequest, case: Event) -> Iterator[Spread]:
    """How an event spreads in an overlay of its own."""
    rng = _rng(asked.seed, "event", case.agents, case.subscribers, case.run)
    view = max(asked.views)
    base = Views(case.agents, view=view, exchanged=min(asked.exchanged, view), rng=rng)
    # The walks find a subscriber within a few hops: random views serve them as well as exchanged ones.
    walks = Walks(asked.walks, asked.lifetime, asked.hop_ms)
    told = diffuse(base, case.subscribers, walks, rounds=asked.settle, rng=rng)
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
    return np.random.default_rng(derived_seed(seed, *name))


def experiment(request: DisseminationRequest) -> Experiment:
    """What is to be played, and how it is reported. Raises BadParameter."""
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
    sweeps: dict[str, Sweep[Any, Any]] = {  # Any: as in Experiment
        "view exchange": Sweep(Round, removals, partial(play_removal, request)),
        "diffusion": Sweep(Spread, events, partial(play_event, request)),
    }
    return Experiment(asdict(request), sweeps, partial(results_of, request))


def _check(request: DisseminationRequest) -> None:
    check_seed(request.seed)
    check_range(request.rounds, 1, MAX_ROUNDS, "rounds")
    check_runs(request.runs)
    check_range(request.settle, 0, MAX_ROUNDS, "rounds to settle")
    if not 0 < request.round_s < float("inf"):
        raise BadParameter(f"rounds of {request.round_s:g} s; expected more than 0")
    for agents in request.agents:
        for view in request.views:
            check_views(agents, view=view, exchanged=min(request.exchanged, view))
        for share in request.removed:
            if not 0 <= share < 1 or round(share * agents) >= agents:
                raise BadParameter(f"a share of {share:g} of {agents} agents removed; expected 0 or more, and that some stay")
        for share in request.subscribers:
            check_event(agents, share, Walks(request.walks, request.lifetime, request.hop_ms))
