"""The experiment ``dissemination``: view exchange after removals, and the diffusion of events on a topic.

Both are those of Paraschiv, Stefănescu and Almasi, "Agent-Based Implementation of a P2P Publish/Subscribe System": Figures 4 to 9
show how the dead are forgotten, 10 to 14 how an event spreads. They are played by the objects that run in peers. All settings are
run with the smallest number of agents, as often as is asked for; larger ones once, with the middle share of removals and the
largest views, since each averages over more agents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from gsg.topics.topics import MAX_ENTRIES

from ..engine.experiment import Experiment
from ..engine.randomness import derived_seed
from ..engine.sweep import Sweep, check_size
from ..errors import BadParameter, check_range
from .cases import DisseminationRequest, Measured, Removal, Round, Spread, Topic, middle
from .removals import play_removal
from .report import results_beside, results_of
from .spreading import play_topic

MAX_AGENTS: Final = 100_000
"""Each is all the objects of a peer: some 50 kB, and a second of one core for each ten seconds of five hundred."""
MAX_VIEW: Final = 255
MAX_ROUNDS: Final = 10_000
MAX_EVENTS: Final = 10_000


def _removal(asked: DisseminationRequest, case: Removal) -> Iterator[Round]:
    return play_removal(asked, case, derived_seed(asked.seed, "exchange", case.agents, case.view, case.removed, case.run))


def _topic(asked: DisseminationRequest, case: Topic) -> Iterator[Spread]:
    return play_topic(asked, case, derived_seed(asked.seed, "topic", case.agents, case.subscribers, case.run))


def experiment(request: DisseminationRequest, measured: Measured | None = None) -> Experiment:
    """What is to be played, and how it is reported: beside what real peers came to, if that is given. Raises BadParameter."""
    _check(request)
    larger = len(set(request.agents)) - 1
    removed = len(request.views) * len(request.removed) * request.runs + larger
    check_size(request.seed, request.runs, removed, len(request.subscribers) * (request.runs + larger))
    removals, events = [], []
    smallest = min(request.agents)
    for agents in sorted(set(request.agents), reverse=True):
        runs = range(request.runs if agents == smallest else 1)
        views = request.views if agents == smallest else (max(request.views),)
        shares = request.removed if agents == smallest or not request.removed else (middle(request.removed),)
        removals += [Removal(agents, view, share, run) for view in views for share in shares for run in runs]
        events += [Topic(agents, share, run) for share in sorted(request.subscribers, reverse=True) for run in runs]
    sweeps: dict[str, Sweep[Any, Any]] = {  # Any: as in Experiment
        "view exchange": Sweep(Round, removals, partial(_removal, request)),
        "diffusion": Sweep(Spread, events, partial(_topic, request)),
    }
    report = partial(results_of, request) if measured is None else partial(results_beside, measured, request)
    return Experiment(asdict(request), sweeps, report)


def _check(request: DisseminationRequest) -> None:
    check_range(request.rounds, 1, MAX_ROUNDS, "rounds")
    check_range(request.settle, 0, MAX_ROUNDS, "rounds to settle")
    check_range(request.events, 1, MAX_EVENTS, "events")
    if not 0 < request.round_s < float("inf"):
        raise BadParameter(f"rounds of {request.round_s:g} s; expected more than 0")
    least_ms, most_ms = request.hop_ms
    if not 0 <= least_ms <= most_ms < float("inf"):
        raise BadParameter(f"hops of {least_ms:g} to {most_ms:g} ms; expected the shorter one first, and none below 0")
    for agents in request.agents:
        _check_agents(request, agents)


def _check_agents(request: DisseminationRequest, agents: int) -> None:
    check_range(agents, 2, MAX_AGENTS, "agents")
    for view in request.views:
        if not 0 < view < min(agents, MAX_VIEW + 1):
            raise BadParameter(f"views of {view} among {agents} agents; expected 1 to {min(agents, MAX_VIEW + 1) - 1}")
        exchanged = min(request.exchanged, view)
        check_range(exchanged, 1, min(view, MAX_ENTRIES), f"neighbours exchanged of a view of {view}")
    for share in request.removed:
        if not 0 <= share < 1 or round(share * agents) >= agents:
            raise BadParameter(f"a share of {share:g} of {agents} agents removed; expected 0 or more, and that some stay")
    for share in request.subscribers:
        if not 0 < share <= 1 or round(share * agents) < 2:
            raise BadParameter(f"a share of {share:g} of {agents} agents subscribe; expected two of them at least, and 1 at most")
