"""An overlay of which a share is removed at once: who knows whom before, and how long the dead are known after.

Agents are the peers of :mod:`virtual_peers` with no topic: they trade views in the overlay of all. Those that are removed are
killed, so that links to them break, and whoever sends to them hears that they cannot be reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from statistics import fmean, pstdev

from .cases import DisseminationRequest, Removal, Round
from .virtual_peers import VirtualPeers


def play_removal(asked: DisseminationRequest, case: Removal, seed: int) -> Iterator[Round]:
    """Rounds of exchange, a removal, and rounds again: the overlay in each round from the removal on."""
    least_ms, most_ms = asked.hop_ms
    peers = VirtualPeers(
        case.agents,
        seed,
        hop_s=(least_ms / 1_000, most_ms / 1_000),
        round_s=asked.round_s,
        view_size=case.view,
        shuffled=min(asked.exchanged, case.view),
    )
    peers.run(asked.settle * asked.round_s)
    known_by = Counter(in_degrees(peers))
    peers.kill(peers.rng.sample(peers.peers, round(case.removed * case.agents)))
    yield _seen(case, peers, 0, tuple(known_by[degree] for degree in range(max(known_by) + 1)))
    for number in range(1, asked.rounds + 1):
        peers.run(asked.round_s)
        yield _seen(case, peers, number, ())


def in_degrees(peers: VirtualPeers) -> list[int]:
    """By how many living peers each living one is known."""
    known = Counter(contact.id for peer in peers.living for contact in peer.topics.base.view)
    return [known[peer.contact.id] for peer in peers.living]


def dead_references(peers: VirtualPeers) -> list[list[bytes]]:
    """Which dead peers each living one still knows."""
    dead = {peer.contact.id for peer in peers.peers if not peer.is_alive}
    return [[contact.id for contact in peer.topics.base.view if contact.id in dead] for peer in peers.living]


def _seen(case: Removal, peers: VirtualPeers, number: int, known_by: tuple[int, ...]) -> Round:
    degrees, dead = in_degrees(peers), dead_references(peers)
    references = sum(len(peer.topics.base.view) for peer in peers.living)
    count = sum(map(len, dead))
    return Round(
        **asdict(case),
        round=number,
        in_degree_mean=fmean(degrees),
        in_degree_std=pstdev(degrees),
        dead_references=count,
        dead_share=count / max(1, references),
        dead_known=len({peer for known in dead for peer in known}),
        clear=dead.count([]),
        in_degrees=known_by,
    )
