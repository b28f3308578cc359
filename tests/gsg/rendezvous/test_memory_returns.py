"""Whatever is said in long texts and is over leaves none of them behind, at any peer, and not in a cycle either."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from random import Random

import pytest
from peers import quiet, simulate

import gsg.publisher.resending
from dht.simnet import SimNet
from gsg import Peer, Space
from gsg.tuples.terms import IRI, Compound, Literal, Symbol, Term, Tuple

CAMERA, IMAGE = Symbol("camera"), Symbol("image")
LENGTH = 3_000
ROUNDS = 100


@contextmanager
def living_texts() -> Iterator[Callable[[], int]]:
    """Counts the characters of long texts that came to be meanwhile and are there yet, also where only a cycle holds them."""

    def count() -> int:
        holders = (thing for thing in gc.get_objects() for thing in gc.get_referents(thing))
        return sum({id(text): len(text) for text in holders if isinstance(text, str | bytes) and len(text) >= LENGTH}.values())

    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield count
    finally:
        gc.enable()
        gc.unfreeze()


def long(rng: Random, number: int) -> str:
    return f"{number:06d}".ljust(rng.randrange(LENGTH, 2 * LENGTH), rng.choice("xyz"))


def fact(rng: Random, number: int) -> Tuple:
    """With long texts of some kind at some positions."""
    kind: Callable[[str], Term] = rng.choice((str, Symbol, IRI, Literal, lambda text: Compound((Symbol("f"), text))))
    there = rng.choice((b"\x00", b"\x02", b"\x02", b"\x00\x02", b"\x01"))
    short = (CAMERA, IMAGE, number)
    return tuple([kind(long(rng, number)) if at in there else term for at, term in enumerate(short)])


async def insert_and_retract(peers: list[Peer], rng: Random, number: int) -> None:
    said = fact(rng, number)
    await rng.choice(peers).insert([said])
    await rng.choice(peers).retract([said])


async def retract_what_never_was(peers: list[Peer], rng: Random, number: int) -> None:
    await rng.choice(peers).retract([fact(rng, number)])


async def for_named_readers(peers: list[Peer], rng: Random, number: int) -> None:
    said, readers = fact(rng, number), [rng.choice(peers).contact.id]
    await peers[0].insert([said], audience=readers)
    await peers[1].retract([said], audience=readers)


async def replace(peers: list[Peer], rng: Random, number: int) -> None:
    before = (CAMERA, IMAGE, long(Random(number), number))
    after = (CAMERA, IMAGE, long(Random(number + 1), number + 1))
    await peers[0].insert([after])
    await peers[0].retract([before])
    if number == ROUNDS - 1:
        await peers[0].retract([after])


async def notify(peers: list[Peer], rng: Random, number: int) -> None:
    await rng.choice(peers).notify([fact(rng, number)])


@pytest.mark.parametrize("say", [insert_and_retract, retract_what_never_was, for_named_readers, replace, notify])
def test_rounds_of_long_texts_leave_none_at_any_peer(
    say: Callable[[list[Peer], Random, int], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.publisher.resending, "EVENTS_BYTES", 5 * LENGTH)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        rng = net.rng()
        with living_texts() as count:
            for number in range(ROUNDS):
                await say(peers, rng, number)
            await quiet()

            assert count() < 40 * LENGTH  # at least 100 were said, and several of them are at one peer at once

    simulate(work, seed=3, size=3)


def test_rounds_of_long_texts_with_subscribers_leave_none_at_any_peer() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rng = net.rng()
        everything = await peers[1].subscribe("(?x, ?y, ?z)")
        images = await peers[2].subscribe("(camera, image, ?z)")
        with living_texts() as count:
            for number in range(ROUNDS):
                await insert_and_retract(peers, rng, number)
                await quiet()
                assert not everything.rows()
                for live in (everything, images):
                    while live.pending:
                        await anext(live)
            assert count() < 40 * LENGTH

    simulate(work, seed=4, size=3)


def test_a_thousand_rounds_of_long_facts_leave_none_in_a_space() -> None:
    rng = Random(5)
    space = Space()
    images = space.subscribe("(camera, ?y, ?z)")
    with living_texts() as count:
        for number in range(1_000):
            said = fact(rng, number)
            space.insert([said])
            space.retract([said])
            space.notify([said])
            list(images)
        assert count() < 20 * LENGTH
