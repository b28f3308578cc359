"""What it costs that peers prove who they are, and that links are ciphered: CPU time, of both ends together.

    python -m benchmarks.proofs            a minute
    python -m benchmarks.proofs --quick    does it work at all?

Datagrams: an introduction is signed and its signature looked at, a seal is made and looked at; 200 bytes each. Links: two peers of
one process on loopback, with claimed ids, with proved ones, and with proved ones in TLS; opened and closed, and with 100-byte
payloads of which 500 are sent in a turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from random import Random

import click

from benchmarks.machine import machine
from dht import Contact, Identity, Link, Links, Membership
from dht.datagrams.sealed_datagrams import SealedDatagrams

BODY = bytes(200)
PAYLOAD = bytes(100)
A_TURN = 500
HERE, THERE = ("127.0.0.1", 7001), ("127.0.0.1", 7002)
KINDS = {"ids claimed": (False, False), "ids proved": (True, False), "ids proved, TLS 1.3": (True, True)}


def each_us(work: Callable[[], object], times: int) -> float:
    """CPU microseconds of one."""
    began_s = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began_s) / times * 1e6


def datagrams(times: int) -> list[tuple[str, float]]:
    """The cost of each step."""
    a, b = (SealedDatagrams(Membership(Identity(name * 32)), life=1, rng=Random(1)) for name in (b"a", b"b"))
    a.set_own_address(HERE)
    b.set_own_address(THERE)
    said = [a.seal(BODY, THERE, again=True) for _ in range(times)]
    opened = iter(said)
    # Far apart in time, so that the budget for signatures is no matter.
    figures = [
        ("introduction: sign", each_us(lambda: a.seal(BODY, THERE, again=True), times)),
        ("introduction: look at the signature", each_us(lambda: b.open(next(opened), HERE, time.perf_counter() * 1e6), times)),
    ]
    a.open(b.seal(BODY, HERE), THERE, 0.0)
    many = 20 * times
    sealed = [a.seal(BODY, THERE) for _ in range(many)]
    rest = iter(sealed)
    return [
        *figures,
        ("seal: make", each_us(lambda: a.seal(BODY, THERE), many)),
        ("seal: look at it", each_us(lambda: b.open(next(rest), HERE, 0.0), many)),
    ]


async def links(*, proved: bool, tls: bool, turns: int, opened: int) -> tuple[float, float]:
    """CPU microseconds for a payload from one end to the other, and milliseconds for a link."""
    arrived = asyncio.Event()
    missing = turns * A_TURN

    def take(link: Link, payloads: list[bytes]) -> None:
        nonlocal missing
        missing -= len(payloads)
        if missing <= 0:
            arrived.set()

    def make(seed: int) -> Links:
        identity = Identity(bytes([seed]) * 32)
        membership = Membership(identity) if proved else None
        return Links(identity.id, "127.0.0.1", 0, rng=Random(seed), on_frames=take, membership=membership, tls=tls)

    async with make(1) as near, make(2) as far:
        contact = Contact(far.id, "127.0.0.1", far.port)
        link = await near.connect(contact)
        began_s = time.process_time()
        for _ in range(turns):
            for _ in range(A_TURN):
                link.send(PAYLOAD)
            await asyncio.sleep(0)
            if link.congested:
                await link.drained()
        await arrived.wait()
        payload_us = (time.process_time() - began_s) / (turns * A_TURN) * 1e6

        began_s = time.process_time()
        for _ in range(opened):
            link.close()
            await link.ended()
            link = await near.connect(contact)
        return payload_us, (time.process_time() - began_s) / opened * 1e3


@click.command()
@click.option("--quick", is_flag=True, help="A tenth of the work.")
def main(quick: bool) -> None:
    """Print the figures."""
    click.echo(machine())
    click.echo("\ndatagrams of 200 bytes, CPU microseconds")
    for name, figure in datagrams(100 if quick else 1_000):
        click.echo(f"  {name:38} {figure:9.1f}")
    click.echo("\nlinks on loopback, both ends, CPU: microseconds for a payload of 100 bytes, milliseconds to open and close one")
    for name, (proved, tls) in KINDS.items():
        payload_us, link_ms = asyncio.run(links(proved=proved, tls=tls, turns=200 if quick else 2_000, opened=20 if quick else 200))
        click.echo(f"  {name:38} {payload_us:9.2f} {link_ms:9.2f}")


if __name__ == "__main__":
    main()
