"""The experiment ``churn --lifetimes``: what is lost, and what hand-over and repair send, while peers come and go one by one.

A case is one overlay over so many days (copies.py). Its rates are those of its own laws from the first moment on (lifetimes.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial

import numpy as np

from ..engine.experiment import Experiment
from ..engine.intervals import mean_of, share_of
from ..engine.ownership import Ownership
from ..engine.randomness import derived_seed
from ..engine.results import Results
from ..engine.sweep import Sweep, by_setting, check_size
from ..errors import BadParameter, check_range
from ..load_balance.meeting_sample import MeetingSample
from .copies import Copies, Transfer
from .followed_keys import FollowedKeys, followed_keys
from .lifetime_cases import DAY_S, MAX_DAYS, Case, Kept, Kind, LifetimesRequest, Mean, expected_losses_s
from .lifetime_report import results_of
from .lives import MICRO, Lives, check_lives, live
from .losses import check, sets_apart
from .repair_costs import costs_among
from .settings import Setting, check_meetings, meetings_of, setting_of
from .traffic import HAND_OVER, HOUR, REPAIR, Costs, Traffic, comparing_an_hour


def away_s(request: LifetimesRequest, followed: FollowedKeys, kind: Kind, costs: Costs) -> float:
    """How long a key is away from an owner that has crashed, until the next one has it, in the mean."""
    transfer = transfer_of(request, followed, kind.peers, kind.replicas, costs, 0)
    return float(np.mean(costs.noticed_s)) + (transfer.settle + transfer.share / 2 + float(transfer.own.mean())) / MICRO


def transfer_of(request: LifetimesRequest, followed: FollowedKeys, peers: int, replicas: int, costs: Costs, seed: int) -> Transfer:
    """How long a key takes to a new owner, which gets all that a peer holds in the mean, or takes part in it."""
    micros_a_fact = costs.fact_bytes * 8 / (request.kbit_per_s * 1000) * MICRO
    share = followed.total_facts * min(replicas, peers) / peers
    own = (followed.facts * micros_a_fact).astype(np.int64)
    return Transfer(round(costs.settle_s * MICRO), round(share * micros_a_fact), own, derived_seed(seed, "turns"))


def play(request: LifetimesRequest, keys: Mapping[Setting, FollowedKeys], costs: Mapping[int, Costs], case: Case) -> Iterator[Kept]:
    """One overlay over all days."""
    cost, followed = costs[case.peers], keys[setting_of(case)]
    law = request.law_of(case.lifetimes, case.mean_hours)
    seed = derived_seed(request.seed, "lifetimes", case.lifetimes, case.run)
    end_s = request.days * DAY_S
    lives = live(law, peers=case.peers, end_s=end_s, graceful=case.graceful, noticed_s=cost.noticed_s, seed=seed)
    transfer = transfer_of(request, followed, case.peers, case.replicas, cost, seed)
    window = max(1, round(case.mean_hours)) * HOUR
    copies = Copies(lives, followed.keys, replicas=case.replicas, transfer=transfer, window=window, day=round(DAY_S * MICRO))
    traffic = Traffic()
    for moves in copies.run():
        traffic.add(moves, cost, followed.facts * followed.stands_for, followed.stands_for)
    found = copies.histories
    peer_hours = case.peers * end_s / 3600
    messages, sent = traffic.messages / peer_hours, traffic.bytes / peer_hours
    comparing_messages, comparing_bytes = comparing_an_hour(case.peers, case.replicas, cost)
    yield Kept(
        **asdict(case),
        deaths=lives.deaths,
        lost_a_day=float(found.lost_on.mean()),
        matches_lost_a_day=float(followed.matches @ found.lost_on.mean(axis=1)),
        losses_a_day=float(found.losses.mean()) / request.days,
        fewer=float(found.fewer.mean()) / lives.end,
        late=float(found.late.mean()) / lives.end,
        missed=float(found.missed.mean()) / lives.end,
        hand_over_messages=float(messages[HAND_OVER]),
        hand_over_bytes=float(sent[HAND_OVER]),
        repair_messages=float(messages[REPAIR]),
        repair_bytes=float(sent[REPAIR]),
        comparing_messages=comparing_messages,
        comparing_bytes=comparing_bytes,
        busiest_bytes=traffic.busiest_bytes,
        apart=_trials_apart(lives, followed, case.replicas, request.days),
    )


def _trials_apart(lives: Lives, followed: FollowedKeys, replicas: int, days: int) -> int:
    sets = []
    for day in range(days):
        living = lives.living(round(day * DAY_S * MICRO))
        if len(living) >= replicas:
            sets.append(living[Ownership(lives.ids[living]).holders(followed.keys, replicas)])
    return sets_apart(np.concatenate(sets).astype(np.uint64))


def experiment(request: LifetimesRequest, title: Callable[[str], None] = lambda _: None) -> Experiment:
    """What is to be played, and how it is reported; ``title`` is told what takes long before. Raises BadParameter."""
    title("where matches meet")
    request = request.completed()
    _check(request)
    met = meetings_of(request)
    keys = {setting: followed_keys(sample, request.workload(setting.zipf)) for setting, sample in met.items()}
    costs = {peers: costs_among(peers) for peers in request.peers}
    cases = [
        Case(**asdict(setting), lifetimes=law, mean_hours=hours, graceful=graceful, replicas=replicas, run=run)
        for setting in sorted(request.settings, key=lambda setting: -setting.peers)
        for hours in sorted(request.mean_hours)
        for replicas in sorted(request.replicas, reverse=True)
        for law in request.lifetimes
        for graceful in request.graceful
        for run in range(request.runs)
    ]
    sweep = Sweep(Kept, cases, partial(play, request, keys, costs))

    def report(kept: Sequence[Kept]) -> Results:
        return results_of(request, means_of(request, keys, costs, kept), kept, counted(met, keys))

    return Experiment({**asdict(request), **request.law}, {"churn": sweep}, report)


def _check(request: LifetimesRequest) -> None:
    check_range(request.days, 1, MAX_DAYS, "days")
    if not 0 < request.kbit_per_s < math.inf:
        raise BadParameter(f"{request.kbit_per_s:g} kbit/s between two peers; expected more than 0")
    for graceful in request.graceful:
        if not 0 <= graceful <= 1:
            raise BadParameter(f"a share of {graceful:g} peers that leave in order; expected 0 to 1")
    laws = [request.law_of(name, hours) for name in request.lifetimes for hours in request.mean_hours]
    if request.shape is not None and set(request.lifetimes) == {"exponential"}:
        raise BadParameter(f"--shape {request.shape:g} is of no matter to exponential lifetimes; leave it out")
    for peers in request.peers:
        for replicas in request.replicas:
            check(peers=peers, replicas=replicas, dying=0, epochs=1)
        for law in laws:
            check_lives(law, peers, request.days * DAY_S)
    kinds = len(request.settings) * len(laws) * len(request.graceful) * len(request.replicas)
    check_size(request.seed, request.runs, kinds * request.runs)
    check_meetings(request)


def counted(met: Mapping[Setting, MeetingSample], keys: Mapping[Setting, FollowedKeys]) -> dict[Setting, dict[str, object]]:
    """What was looked at in each setting, for the summary."""
    return {
        setting: {
            "sampled_matches": int(sample.matches.sum()),
            "sampled_matches_unposted": sample.unposted,
            "followed_keys": len(keys[setting].keys),
        }
        for setting, sample in met.items()
    }


def means_of(
    request: LifetimesRequest, keys: Mapping[Setting, FollowedKeys], costs: Mapping[int, Costs], kept: Sequence[Kept]
) -> list[Mean]:
    """The mean of all runs of each kind, in the order in which kinds were asked for."""
    names = tuple(Kind.__dataclass_fields__)
    found = [
        _mean(Kind(**dict(zip(names, kind, strict=True))), some, request, keys, costs)
        for kind, some in by_setting(kept, lambda one: tuple(getattr(one, name) for name in names)).items()
    ]
    laws = list(request.lifetimes)
    return sorted(
        found,
        key=lambda one: (
            request.settings.index(setting_of(one)),
            one.mean_hours,
            laws.index(one.lifetimes),
            one.graceful,
            one.replicas,
        ),
    )


def _mean(
    kind: Kind,
    some: Sequence[Kept],
    request: LifetimesRequest,
    keys: Mapping[Setting, FollowedKeys],
    costs: Mapping[int, Costs],
) -> Mean:
    apart = sum(one.apart for one in some)
    away = away_s(request, keys[setting_of(kind)], kind, costs[kind.peers])
    losses_s = expected_losses_s(kind.replicas, kind.mean_hours * 3600, kind.graceful, away)
    return Mean(
        **asdict(kind),
        runs=len(some),
        deaths=sum(one.deaths for one in some),
        lost_a_day=share_of([one.lost_a_day for one in some], apart),
        matches_lost_a_day=share_of([one.matches_lost_a_day for one in some], apart),
        losses_a_day=mean_of([one.losses_a_day for one in some]),
        fewer=share_of([one.fewer for one in some], apart),
        late=share_of([one.late for one in some], apart),
        missed=share_of([one.missed for one in some], apart),
        hand_over_messages=mean_of([one.hand_over_messages for one in some]),
        hand_over_bytes=mean_of([one.hand_over_bytes for one in some]),
        repair_messages=mean_of([one.repair_messages for one in some]),
        repair_bytes=mean_of([one.repair_bytes for one in some]),
        comparing_messages=some[0].comparing_messages,
        comparing_bytes=some[0].comparing_bytes,
        busiest_bytes=mean_of([one.busiest_bytes for one in some]),
        expected_lost_a_day=-math.expm1(-losses_s * DAY_S),
    )
