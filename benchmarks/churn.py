"""What is found, and how fast, when many peers are killed at one moment.

    python -m benchmarks.churn                     256 peers of one process on loopback, 30 % killed without warning
    python -m benchmarks.churn --virtual           the same in virtual time, with 10 to 100 ms there and back: repeatable
    python -m benchmarks.churn --steps 3 --share 0.5
    python -m benchmarks.churn --virtual --cut 600 cut in two halves for ten minutes instead, until they are one again

A lookup is right when it finds the three closest of those that live. Ends with status 1 when fewer than 99 % are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random

import click

from benchmarks.machine import machine
from dht import Contact, Identity, Membership, Overlay, distance, random_id, simnet

HOLDERS = 3
JOINING = 8
"""Peers that join at once."""


@dataclass
class Trial:
    """The peers, and how to kill and cut them."""

    peers: list[Overlay]
    kill: Callable[[Overlay], None]
    rng: Random
    wrong: bool = False

    def say(self, what: str, figure: str) -> None:
        click.echo(f"  {what:<70} {figure}")


def closest(living: Sequence[Overlay], key: bytes, besides: Overlay | None = None) -> tuple[Contact, ...]:
    """By definition."""
    near = sorted((each.contact for each in living if each is not besides), key=lambda each: distance(each.id, key))
    return tuple(near[:HOLDERS])


async def look_up(trial: Trial, living: Sequence[Overlay], for_s: float, asking: int = 4) -> None:
    """Lookups of random keys by random living peers, ``asking`` at once, and how they went."""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + for_s
    taken_s: list[float] = []
    right = 0

    async def ask() -> None:
        nonlocal right
        while loop.time() < until_s:
            peer, key = trial.rng.choice(living), random_id(trial.rng)
            began_s = loop.time()
            found = await peer.lookup(key)
            taken_s.append(loop.time() - began_s)
            right += found[:HOLDERS] == closest(living, key, peer)
            await asyncio.sleep(0.02)

    await asyncio.gather(*(ask() for _ in range(asking)))
    taken_s.sort()
    share = right / len(taken_s)
    trial.wrong = trial.wrong or share < 0.99
    p50, p99 = taken_s[len(taken_s) // 2], taken_s[int(0.99 * len(taken_s))]
    trial.say(
        f"lookups in the {for_s:.0f} s that follow: number, right, median, 99 %, worst",
        f"{len(taken_s)}, {share:.2%}, {p50 * 1e3:.0f} ms, {p99 * 1e3:.0f} ms, {taken_s[-1] * 1e3:.0f} ms",
    )


async def until(trial: Trial, what: str, holds: Callable[[], bool], *, since_s: float, limit_s: float) -> None:
    """Wait until something holds, and say when it did."""
    loop = asyncio.get_running_loop()
    while not holds() and loop.time() - since_s < limit_s:  # noqa: ASYNC110  # it is asked of all peers, who tell of no such event
        await asyncio.sleep(0.5)
    took_s = loop.time() - since_s
    if holds():
        trial.say(what, f"{took_s:.1f} s")
    else:
        trial.wrong = True
        trial.say(what, f"not within {limit_s:.0f} s")


def neighbours_are_right(living: Sequence[Overlay]) -> bool:
    """Whether each living peer knows, without asking, the three closest of the living to its own id: who holds keys with it."""
    return all(peer.closest_known(peer.contact.id, HOLDERS) == closest(living, peer.contact.id) for peer in living)


async def killing(trial: Trial, share: float, steps: int) -> None:
    """Kill a share of the peers, in steps."""
    loop = asyncio.get_running_loop()
    living = list(trial.peers)
    all_to_kill = trial.rng.sample(living, int(share * len(living)))
    for step in range(steps):
        killed = all_to_kill[step::steps]
        living = [each for each in living if each not in killed]
        since_s = loop.time()
        for peer in killed:
            trial.kill(peer)
        trial.say(f"killed without warning, {len(living)} left", str(len(killed)))
        await look_up(trial, living, 10.0)
        await until(
            trial,
            "since the death: everybody knows who holds keys with it",
            lambda living=living: neighbours_are_right(living),  # type: ignore[misc]  # mypy and lambdas' defaults
            since_s=since_s,
            limit_s=60.0,
        )
    buried = sum(peer.knows(other.contact.id) is None for peer in living for other in living if other is not peer)
    trial.say("pairs of living peers of which one does not know the other", f"{buried} of {len(living) * (len(living) - 1)}")
    await look_up(trial, living, 10.0)


async def cutting(trial: Trial, net: simnet.SimNet, cut_s: float) -> None:
    """Cut the network in two halves for long, and see how it heals."""
    half = len(trial.peers) // 2
    net.partition([[peer.contact.host for peer in part] for part in (trial.peers[:half], trial.peers[half:])])
    await asyncio.sleep(cut_s)
    across = sum(peer.knows(other.contact.id) is not None for peer in trial.peers[:half] for other in trial.peers[half:])
    trial.say(f"cut in two for {cut_s:.0f} s: pairs across the cut that still know each other", str(across))
    net.heal()
    await until(
        trial,
        "since it healed: everybody knows who holds keys with it",
        lambda: neighbours_are_right(trial.peers),
        since_s=net.loop.time(),
        limit_s=300.0,
    )
    await look_up(trial, trial.peers, 10.0)


async def measure(size: int, settle_s: float, make: Callable[[], Overlay], trial: Trial, then: Callable[[], object]) -> None:
    """Let peers join, see what they cost at rest, then disturb them."""
    loop = asyncio.get_running_loop()
    places = asyncio.Semaphore(JOINING)
    async with AsyncExitStack() as stack:

        async def enter() -> None:
            async with places:
                peer = await stack.enter_async_context(make())
                await peer.join([trial.rng.choice(trial.peers).contact.address] if trial.peers else [])
                trial.peers.append(peer)

        began_s = loop.time()
        await enter()
        await asyncio.gather(*(enter() for _ in range(size - 1)))
        trial.say(f"{size} peers joined", f"{loop.time() - began_s:.1f} s")
        await asyncio.sleep(settle_s)
        cpu_s, rest_s = time.process_time(), loop.time()
        await asyncio.sleep(10)
        share = (time.process_time() - cpu_s) / (loop.time() - rest_s) / size
        trial.say("CPU that a peer takes at rest", f"{share:.3%} of a core")
        await look_up(trial, trial.peers, 10.0)
        outcome = then()
        assert asyncio.iscoroutine(outcome)
        await outcome


def overlay(own: Random, host: str, port: int, *, claimed: bool) -> Overlay:
    """A peer that proves its id, or one that claims it."""
    if claimed:
        return Overlay(random_id(own), host, port, rng=own)
    membership = Membership(Identity(own.randbytes(32)))
    return Overlay(membership.id, host, port, rng=own, membership=membership)


def on_loopback(size: int, share: float, steps: int, settle_s: float, seed: int, claimed: bool) -> Trial:
    """Real sockets of one process."""
    rng = Random(seed)
    # A dead peer's tasks go on in this process, cut off from all others, as in a machine without its network.
    trial = Trial([], lambda peer: peer._server.stop(), rng)

    def make() -> Overlay:
        own = Random(rng.getrandbits(64))
        return overlay(own, "127.0.0.1", 0, claimed=claimed)

    asyncio.run(measure(size, settle_s, make, trial, lambda: killing(trial, share, steps)))
    return trial


def in_virtual_time(
    size: int, share: float, steps: int, settle_s: float, seed: int, claimed: bool, loss: float, cut_s: float | None
) -> Trial:
    """The same on a simulated network."""

    async def main(net: simnet.SimNet) -> Trial:
        trial = Trial([], lambda peer: net.crash(peer.contact.host, quietly=True), net.rng())

        def make() -> Overlay:
            own = net.rng()
            return overlay(own, net.host(), 7400, claimed=claimed)

        then = (lambda: killing(trial, share, steps)) if cut_s is None else (lambda: cutting(trial, net, cut_s))
        await measure(size, settle_s, make, trial, then)
        return trial

    return simnet.run(main, seed=seed, loss=loss)


@click.command(help=__doc__)
@click.option("--peers", default=256, show_default=True)
@click.option("--share", default=0.3, show_default=True, help="How many of them are killed.")
@click.option("--steps", default=1, show_default=True, help="In how many steps.")
@click.option("--settle", "settle_s", default=20.0, show_default=True, help="Seconds between joining and the first death.")
@click.option("--seed", default=1, show_default=True)
@click.option("--virtual", is_flag=True, help="A simulated network in virtual time.")
@click.option("--loss", default=0.0, help="Share of datagrams lost, in virtual time.")
@click.option("--cut", "cut_s", type=float, help="Seconds that the network is cut in two, in virtual time.")
@click.option("--claimed", is_flag=True, help="Peers claim their ids and prove nothing, to see what proofs cost.")
def main(
    peers: int,
    share: float,
    steps: int,
    settle_s: float,
    seed: int,
    virtual: bool,
    loss: float,
    cut_s: float | None,
    claimed: bool,
) -> None:
    """See the module."""
    click.echo(f"{machine()}; {'virtual time' if virtual else 'loopback, one process'}, seed {seed}")
    if virtual:
        trial = in_virtual_time(peers, share, steps, settle_s, seed, claimed, loss, cut_s)
    else:
        trial = on_loopback(peers, share, steps, settle_s, seed, claimed)
    if trial.wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
