"""Carries out a schedule: real peers over the simulated network and clock, clients at them, and faults. Returns the history."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from pathlib import Path
from random import Random
from typing import TypeVar

import keys
import pytest
from client import Client, answer_of
from disks import Platters, SlowKeeping
from history import History, Published, Trouble
from schedule import (
    BEGIN_S,
    ORDERED,
    PEERS,
    Fault,
    Happens,
    Schedule,
)
from topic_members import TopicMembers, topic_violations

import dht
import gsg.rendezvous.fan_out.parts
import gsg.rendezvous.feed
import gsg.storage.disk.compaction
import gsg.storage.disk.group_commit
from dht.simnet import SimNet, run
from gsg import Network, Peer
from gsg.placement.holders import REPLICAS
from gsg.tuples.features import positions, short_key
from gsg.tuples.terms import Tuple

PORT = 7400
LATENCY_S = (0.002, 0.02)
WINDOW_BYTES = 4_096
"""What a stream holds on its way: little, so that who does not read is felt."""
CLOCKS_APART_S = 5.0
SCRUB_AGAIN_S = 5.0
LOOK_S, LATEST_S = 12.0, 108.0
"""Views of the overlay are refreshed every 30 s, and holders compare what has stood still for two rounds of 10 s."""
SETTLED_S = 15.0
"""After a fault, until everybody has noticed."""
STRIKES_WITHIN_S = 4.0
"""How long a strike waits for something to be acknowledged."""
FORWARDED_S = (0.008, 0.03)
"""In this time after an event was sent it is mostly forwarded already, and not yet answered."""
ON_ITS_WAY_S = (0.0, 0.06)
"""In this time after an event was published it is on its way by its rendezvous, or its answer is."""

T = TypeVar("T")


class World:
    """The peers of one run by number, and what befalls them."""

    def __init__(
        self, net: SimNet, plan: Schedule, settled: Callable[[History], bool], latest_s: float, *, topics: bool = False
    ) -> None:
        self.net = net
        self._settled = settled
        self._latest_s = latest_s
        self.history = History()
        self._topics = TopicMembers(self, Random(f"topics {plan.seed}")) if topics else None
        self.topic_tasks: set[asyncio.Task[None]] = set()
        """What members of topics read with."""
        self.peers: dict[int, Peer] = {}
        """Those that run, and take clients."""
        self.plan = plan
        self._network = Network(ordered=(ORDERED,) if plan.ordered else ())
        self._rng = Random(f"world {plan.seed}")
        self._rng_of_flips = Random(f"flips {plan.seed}")
        self._hosts: list[str] = []
        self._disks: list[Platters] = []
        self._ahead_s: list[float] = []
        self.starts: Counter[int] = Counter()
        """How often each was started."""
        self._apart: set[int] = set()
        self._apart_until_s = 0.0
        self._starting: dict[int, tuple[Peer, asyncio.Task[Peer]]] = {}
        """Those that have not entered yet."""
        self._gone: dict[int, asyncio.Event] = {}
        """By number of a peer that was stopped: set when it has."""
        self._strikes: list[asyncio.Future[Published]] = []
        """Strikes that wait for what they are to hit."""
        self._interruptions = 0
        """How many events are yet to be interrupted."""
        self._snaps = 0
        """At how many events links are yet to snap."""
        self._suspensions: list[asyncio.Future[Published]] = []
        """Those that wait for an event whose rendezvous they concern."""

    async def run(self) -> History:
        """All of it."""
        for number in range(PEERS):
            self._add()
            await self._start(number)
        await asyncio.sleep(max(0.0, BEGIN_S - self.net.loop.time()))
        clients = [Client(self, name, home, Random(f"{name} {self.plan.seed}")) for name, home in self.plan.homes.items()]
        self._clients = clients
        async with asyncio.TaskGroup() as group:
            for client in clients:
                group.create_task(client.live([done for done in self.plan.deeds if done.client == client.name]))
            if self._topics is not None:
                group.create_task(self._topics.live(self.plan.ends_s))
            for happens in self.plan.faults:
                await asyncio.sleep(max(0.0, happens.at_s - self.net.loop.time()))
                self._note_trouble(happens)
                group.create_task(self._carry_out(happens.fault))
        await asyncio.sleep(max(0.0, self.plan.ends_s - self.net.loop.time()))
        ends_s = self.net.loop.time() + self._latest_s
        await self._look()
        while not self._settled(self.history) and self.net.loop.time() < ends_s:
            await asyncio.sleep(LOOK_S)
            await self._look()
        self.history.mended_s = self.net.loop.time() - self.plan.ends_s
        if self._topics is not None:
            await self._topics.say_last()
            self.history.of_topics = list(topic_violations(self._topics, self.history.troubles))
            for task in list(self.topic_tasks):
                task.cancel()
        self.history.digest = self.net.digest
        await self._end()
        return self.history

    def _note_trouble(self, happens: Happens) -> None:
        """Who is cut off is so until the network heals."""
        fault = happens.fault
        lasts_s = fault.amount if fault.kind in ("stall", "disk", "blackout", "wall") else 0.0
        if fault.kind in ("strike", "interrupt", "snap", "suspend"):
            lasts_s = STRIKES_WITHIN_S + fault.amount
        if fault.kind == "partition":
            lasts_s = (
                next(one.at_s for one in self.plan.faults if one.fault.kind == "heal" and one.at_s > happens.at_s) - happens.at_s
            )
        self.history.troubles.append(Trouble(fault.kind, happens.at_s, happens.at_s + lasts_s + SETTLED_S))

    def _add(self) -> None:
        self._hosts.append(self.net.host())
        self._disks.append(Platters())
        self._ahead_s.append(self._rng.uniform(0.0, CLOCKS_APART_S))

    async def _start(self, number: int) -> None:
        awake = self._awake()
        friends = self._rng.sample(awake, min(2, len(awake)))
        folder = Path(f"/nowhere/{number}")
        peer = Peer(
            (self._hosts[number], PORT),
            [(self._hosts[friend], PORT) for friend in friends],
            rng=self.net.rng(),
            clock=lambda: self.net.loop.time() + self._ahead_s[number],
            network=self._network,
        )
        peer._disk = SlowKeeping(self._disks[number], folder, self.net.rng())
        self.starts[number] += 1
        entering = asyncio.create_task(peer.__aenter__(), context=self.net.program(self._hosts[number]))
        self._starting[number] = peer, entering
        try:
            await asyncio.wait([entering])
        finally:
            del self._starting[number]
        if not entering.cancelled():
            self.peers[number] = entering.result()

    async def _carry_out(self, fault: Fault) -> None:
        net = self.net
        hosts = [self._hosts[number] for number in fault.peers]
        match fault.kind:
            case "crash" | "restart" | "flap" | "forget":
                # A crash is of the machine, of which nobody hears; the others are of the program.
                (number,) = fault.peers
                await self._kill(number, quietly=fault.kind == "crash")
                if fault.kind == "forget":
                    self._disks[number] = Platters()
            case "strike":
                await self._strike(fault)
            case "interrupt":
                self._interruptions = round(fault.amount)
                await asyncio.sleep(STRIKES_WITHIN_S)
                self._interruptions = 0
            case "snap":
                self._snaps = round(fault.amount)
                await asyncio.sleep(STRIKES_WITHIN_S)
                self._snaps = 0
            case "suspend":
                await self._suspend(fault)
            case "start":
                (number,) = fault.peers
                await self._gone[number].wait()
                await self._start(number)
            case "leave":
                (number,) = fault.peers
                peer = self.peers.pop(number)
                gone = self._gone[number] = asyncio.Event()
                self._tell_clients(number)
                await peer.__aexit__(None, None, None)
                gone.set()
            case "join":
                self._add()
                await self._start(len(self._hosts) - 1)
            case "partition":
                net.partition([hosts, [host for host in self._hosts if host not in hosts]])
                self._apart, self._apart_until_s = set(fault.peers), inf
            case "heal":
                net.heal()
                self._apart_until_s = net.loop.time() + SETTLED_S
            case "clock":
                self._ahead_s[fault.peers[0]] += fault.amount
            case "blackout":
                running = sorted(self.peers)
                for number in running:
                    await self._kill(number, quietly=True)
                await asyncio.sleep(fault.amount)
                for number in running:
                    await self._start(number)
            case "cut":
                net.cut(*hosts)
            case "loss":
                net.loss = fault.amount
            case "double":
                net.duplication = fault.amount
            case "slow":
                net.latency_s = (LATENCY_S[0], fault.amount or LATENCY_S[1])
            case "wall":
                net.wall(*hosts)
                await asyncio.sleep(fault.amount)
                net.take_down(*hosts)
            case "stall":
                net.stall(hosts[0])
                await asyncio.sleep(fault.amount)
                net.read_on(hosts[0])
            case "disk":
                platters = self._disks[fault.peers[0]]
                platters.full = True
                await asyncio.sleep(fault.amount)
                platters.full = False
            case "flip":
                self._disks[fault.peers[0]].flip(round(fault.amount), self._rng_of_flips)
            case _:
                raise AssertionError(f"nobody knows how to carry out {fault.kind}")

    def publishes(self, published: Published, home: int | None) -> None:
        """A client is about to publish: if it is an event, its peer may lose all links in a moment, or those of the others."""
        if published.sign or home is None:
            return
        if self._suspensions:
            self._suspensions.pop().set_result(published)
        lose: set[int] = set()
        if self._interruptions:
            self._interruptions -= 1
            lose.add(home)
        if self._snaps:
            self._snaps -= 1
            lose |= {client.home for client in self._clients if client.home not in (None, home)}
        for number in sorted(lose):
            self.net.loop.call_later(self._rng.uniform(*FORWARDED_S), self._cut_off, self._hosts[number])

    def _cut_off(self, host: str) -> None:
        for other in self._hosts:
            if other != host:
                self.net.cut(host, other)

    def acknowledged(self, published: Published) -> None:
        """A client was told that something is done: who waits for that strikes."""
        if published.sign and self._strikes:
            self._strikes.pop().set_result(published)

    async def _strike(self, fault: Fault) -> None:
        """Kill holders of what is acknowledged next, with their disks, and start them anew later."""
        struck: asyncio.Future[Published] = self.net.loop.create_future()
        self._strikes.append(struck)
        try:
            async with asyncio.timeout(STRIKES_WITHIN_S):
                published = await struck
        except TimeoutError:
            self._strikes.remove(struck)
            return
        fact = self._rng.choice(published.tuples)
        position = self._rng.choice(list(positions(fact)))
        holders = self._holders({peer.contact.id: number for number, peer in self.peers.items()}, fact, position)
        victims = [holders[place] for place in fault.peers]
        for number in victims:
            await self._kill(number, quietly=False)
            self._disks[number] = Platters()
        await asyncio.sleep(fault.amount)
        for number in victims:
            await self._start(number)

    async def _suspend(self, fault: Fault) -> None:
        """Let rendezvous of the next event stand still when it is on its way, those at which nobody works."""
        published_soon: asyncio.Future[Published] = self.net.loop.create_future()
        self._suspensions.append(published_soon)
        try:
            async with asyncio.timeout(STRIKES_WITHIN_S):
                published = await published_soon
        except TimeoutError:
            self._suspensions.remove(published_soon)
            return
        await asyncio.sleep(self._rng.uniform(*ON_ITS_WAY_S))
        holders = self._holders({peer.contact.id: number for number, peer in self.peers.items()}, published.tuples[0], 0)
        homes = {client.home for client in self._clients}
        hosts = [self._hosts[holders[place]] for place in fault.peers if holders[place] not in homes]
        for host in hosts:
            self.net.suspend(host)
        await asyncio.sleep(fault.amount)
        for host in hosts:
            self.net.resume(host)

    def within_topic(self) -> list[int]:
        """The peers at which somebody may use a topic."""
        return self._awake()

    def _awake(self) -> list[int]:
        """The peers that run, and do not stand still."""
        return [number for number in sorted(self.peers) if self._hosts[number] not in self.net.loop.suspended]

    def _holders(self, ids: dict[bytes, T], fact: Tuple, position: int) -> list[T]:
        """Who is to hold a fact under a position, closest first, by the definition."""
        point = int.from_bytes(self._network.attributes.place_of(short_key((len(fact), position, fact[position]))), "big")
        return [ids[id] for id in sorted(ids, key=lambda id: int.from_bytes(id, "big") ^ point)[:REPLICAS]]

    def within_reach(self, number: int) -> list[int]:
        """The peers that a client may go to that was at this one: one that is cut off cannot leave its part, and stays there until
        the parts have told each other what happened. By what else would anybody know which of two things it did last?"""
        if self.net.loop.time() >= self._apart_until_s:
            return self._awake()
        return [other for other in self._awake() if (other in self._apart) == (number in self._apart)]

    def _tell_clients(self, number: int) -> None:
        for client in self._clients:
            client.lose_peer(number)

    async def _kill(self, number: int, *, quietly: bool) -> None:
        peer, entering = self._starting.get(number) or (self.peers.pop(number), None)
        gone = self._gone[number] = asyncio.Event()
        for published in self.history.published:
            published.met_death |= published.ended_s is None
        self._tell_clients(number)
        keeping = peer._disk
        assert isinstance(keeping, SlowKeeping)
        keeping.abandon()
        host = self._hosts[number]
        self.net.crash(host, quietly=quietly)
        if entering is None:
            await peer.__aexit__(ConnectionError, None, None)
        else:
            entering.cancel()
            await asyncio.wait([entering])
        self.net.restart(host)
        gone.set()

    async def _look(self) -> None:
        """What everybody has, and what lies where."""
        for client in self._clients:
            await client.finish()
        anybody = self.peers[self._rng.choice(sorted(self.peers))]
        for query, text in self.plan.texts.items():
            live = await anybody.subscribe(text)
            self.history.asked_after[query] = answer_of(live)
            await live.close()
        self.history.lying = self._lying()

    async def _end(self) -> None:
        for peer in self.peers.values():
            peer._disk.abandon()  # type: ignore[attr-defined]  # it has a disk
        self.net.partition([[host] for host in self._hosts])
        for peer in list(self.peers.values()):
            self.net.crash(peer.contact.host)
            await peer.__aexit__(ConnectionError, None, None)

    def _lying(self) -> dict[Tuple, tuple[int, ...]]:
        """By fact, at how many of its holders it lies under each position."""
        ids = {peer.contact.id: peer for peer in self.peers.values()}
        facts = {
            fact: None
            for peer in ids.values()
            for feature in list(peer._parts.rendezvous.held.keys())
            for fact in peer._parts.rendezvous.held.under(feature)
        }
        return {
            fact: tuple(
                sum(
                    fact in peer._parts.rendezvous.held.under(short_key((len(fact), position, fact[position])))
                    for peer in self._holders(ids, fact, position)
                )
                for position in positions(fact)
            )
            for fact in facts
        }


@contextlib.contextmanager
def _surroundings(seed: int) -> Iterator[list[str]]:
    """Small limits, so that they are met; and what peers log of their own defects. In the runs of half of the seeds, with topics or
    without, a template of more than two subscribers is fanned out."""
    failures: list[str] = []

    class Failures(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info:
                failures.append(self.format(record))

    logger = logging.getLogger("gsg")
    handler = Failures(logging.ERROR)
    level, propagate = logger.level, logger.propagate
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gsg.rendezvous.feed, "HELD_DELTAS", 8)
        if seed % 4 < 2:
            patch.setattr(gsg.rendezvous.fan_out.parts, "MOST_DIRECT", 2)
            patch.setattr(gsg.rendezvous.fan_out.parts, "DIRECT_AGAIN", 1)
        # Half of what a run costs is probing: half as often will do.
        patch.setattr(dht, "Endpoint", partial(dht.Endpoint, probe_s=2.0))
        # Only what nobody waits for is written later.
        patch.setattr(gsg.storage.disk.group_commit, "LOOK_S", 10.0)
        patch.setattr(gsg.storage.disk.group_commit, "SCRUB_AGAIN_S", SCRUB_AGAIN_S)
        patch.setattr(gsg.storage.disk.compaction, "SPARE", 0)
        patch.setattr(gsg.storage.disk.compaction, "FACTS_A_WRITE", 3)
        keys.make_cheap(patch)
        logger.addHandler(handler)
        logger.propagate = False
        logger.setLevel(logging.ERROR)
        try:
            yield failures
        finally:
            logger.removeHandler(handler)
            logger.propagate = propagate
            logger.setLevel(level)


def history_of(plan: Schedule, settled: Callable[[History], bool], *, latest_s: float = LATEST_S, topics: bool = False) -> History:
    """Carry out a schedule; where it is not ``settled`` in time it is given ``latest_s`` more, as is promised for the end. With
    ``topics``, peers use one as well."""

    async def main(net: SimNet) -> History:
        net.window_bytes = WINDOW_BYTES
        return await World(net, plan, settled, latest_s, topics=topics).run()

    with _surroundings(plan.seed) as failures:
        history = run(main, seed=plan.seed, latency_s=LATENCY_S)
    history.failures = failures
    return history
