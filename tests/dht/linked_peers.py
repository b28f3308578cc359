"""Peers of a simulated network, or of loopback, that have links and nothing else."""

from __future__ import annotations

import asyncio
from random import Random

from dht import Contact, Link, Links, random_id
from dht.simnet import SimNet

PORT = 7400


class Peer:
    """Links that remember what they were told."""

    def __init__(self, host: str, rng: Random, *, port: int = PORT, id: bytes | None = None, handshake_s: float = 5.0) -> None:
        self.frames: asyncio.Queue[bytes] = asyncio.Queue()
        self.reads: list[int] = []
        self.lost: asyncio.Queue[str] = asyncio.Queue()
        self.links = Links(
            id or random_id(rng),
            host,
            port,
            rng=rng,
            on_frames=self.take,
            on_lost=lambda link, reason: self.lost.put_nowait(reason),
            handshake_s=handshake_s,
        )

    def take(self, link: Link, payloads: list[bytes]) -> None:
        self.reads.append(len(payloads))
        for payload in payloads:
            self.frames.put_nowait(payload)

    @property
    def contact(self) -> Contact:
        return Contact(self.links.id, self.links.host, self.links.port)


def peer(net: SimNet, **options: object) -> Peer:
    return Peer(net.host(), net.rng(), **options)  # type: ignore[arg-type]  # as Peer takes them
