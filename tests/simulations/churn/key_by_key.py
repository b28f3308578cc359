"""The rules of simulations/churn/copies.py once more, for one key at a time and with plain sets: what is to come of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simulations.churn.copies import ARRIVED, CRASHED, LEFT, Transfer
from simulations.churn.lives import Lives


@dataclass
class Followed:
    """What has happened to one key; ``moves`` are (at, sender, receiver, why)."""

    losses: int = 0
    lost_on: set[int] = field(default_factory=set)
    fewer: int = 0
    late: int = 0
    missed: int = 0
    moves: list[tuple[int, int, int, int]] = field(default_factory=list)


def follow(lives: Lives, number: int, key: int, *, replicas: int, transfer: Transfer, day: int) -> Followed:
    """All events of one key, each life looked at each time."""
    everyone = range(len(lives))
    ids, born, died, gone = (column.tolist() for column in (lives.ids, lives.born, lives.died, lives.gone))
    found = Followed()
    now = 0

    def distance(peer: int) -> int:
        return int(ids[peer]) ^ key

    def closest() -> list[int]:
        return sorted((peer for peer in everyone if born[peer] <= now < gone[peer]), key=distance)[:replicas]

    def alive(peer: int) -> bool:
        return bool(now < died[peer])

    owners = closest()
    has = set(owners)
    due: dict[int, tuple[int, int]] = {}
    while now < lives.end:
        moments = [(at, peer) for times in (born, died, gone) for peer, at in enumerate(times) if at > now]
        moments += [(at, peer) for peer, (at, _) in due.items()]
        at, peer = min([*moments, (lives.end, -1)])
        at = min(at, lives.end)
        living = {each for each in has if alive(each)}
        found.fewer += (at - now) * (len(living) < replicas)
        found.late += (at - now) * (owners[0] not in living)
        found.missed += (at - now) * (not living)
        now = at
        if now == lives.end:
            break
        why = ARRIVED
        gives = peer in has and died[peer] == now and bool(lives.ordered[peer])
        if peer in due and due[peer][0] == now and alive(peer):
            sender = min((each for each in has if alive(each)), key=distance)
            found.moves.append((now, sender, peer, due.pop(peer)[1]))
            has.add(peer)
        elif gone[peer] == now:
            why = LEFT if lives.ordered[peer] else CRASHED
            has.discard(peer)
        due = {each: when for each, when in due.items() if alive(each)}
        before, owners = owners, closest()
        for each in owners:
            if each not in before and each not in has:
                wait = int(transfer.delay(np.array([number]), np.array([each]))[0])
                due[each] = now + wait, why
        due = {each: when for each, when in due.items() if each in owners and alive(each)}
        if gives:
            for each in owners:
                if alive(each) and each not in has:
                    found.moves.append((now, peer, each, LEFT))
                    has.add(each)
                    due.pop(each, None)
        if not any(alive(each) for each in has):
            if living:
                found.losses += 1
                found.lost_on.add(now // day)
            for each in owners:
                if alive(each):
                    has.add(each)
                    due.pop(each, None)
        if has.issuperset(owners):
            has.intersection_update(owners)
    return found
