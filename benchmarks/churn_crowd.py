"""What is asked of peers while many of them die: lookups, where facts are, and the rows of subscriptions.

The peers may be processes or live in a simulated network: both answer the verbs of :class:`gsg.AsyncClient`. What each says is
compared with one plain :class:`gsg.Space` that holds what was acknowledged, and with the three closest of the ids that live.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Protocol

import click

import gsg
from dht import distance
from gsg import LiveSubscription, Row, Symbol
from gsg.explain.explanations import HeldKey
from gsg.tuples.features import Key, key_of_short, short_key
from gsg.tuples.terms import Tuple

HOLDERS = 3
RIGHT, P99_S, BACK_S = 0.99, 1.0, 30.0
"""The promises: the share of lookups that are right, how long 99 of 100 may take, and by when every key has its holders again."""
PREDICATES = 12
BATCH = 100
AT_ONCE = 8
"""Peers that are asked at once, where nothing is measured."""
LATE_S = 0.25
"""Pause between facts that are published while peers die."""
POLL_S = 0.5
PATIENCE_S = 180.0
"""After this, what has not come is counted as lost."""


class Door(Protocol):
    """How a peer is asked."""

    async def insert(self, tuples: Iterable[Iterable[object]]) -> int:
        """As :meth:`gsg.AsyncClient.insert`."""

    async def retract(self, tuples: Iterable[Iterable[object]]) -> int:
        """As :meth:`gsg.AsyncClient.retract`."""

    async def subscribe(self, text: str) -> LiveSubscription:
        """As :meth:`gsg.AsyncClient.subscribe`."""

    async def keys(self, keys: Sequence[Key], *, find: bool = False) -> list[HeldKey]:
        """As :meth:`gsg.AsyncClient.keys`."""


@dataclass(eq=False)
class Member:
    """A peer that lives."""

    id: bytes
    door: Door


@dataclass
class Tally:
    """Our figures beside those wanted."""

    broken: bool = False

    def say(self, what: str, wanted: str, reached: str, *, kept: bool = True) -> None:
        """One line."""
        self.broken = self.broken or not kept
        click.echo(f"  {what:<82} {wanted:>8}  {reached}{'' if kept else '  BROKEN'}")


@dataclass
class Crowd:
    """The peers that live, what was published, and who has subscribed."""

    living: list[Member]
    rng: Random
    tally: Tally
    space: gsg.Space = field(default_factory=gsg.Space)
    facts: dict[Tuple, None] = field(default_factory=dict)
    standing: list[tuple[str, LiveSubscription]] = field(default_factory=list)

    def closest(self, point: bytes) -> list[bytes]:
        """The ids of those that hold a point, by definition."""
        return sorted((member.id for member in self.living), key=lambda each: distance(each, point))[:HOLDERS]

    def said(self, facts: Iterable[Tuple], *, gone: bool = False) -> None:
        """Facts whose publication, or retraction, was acknowledged."""
        if gone:
            for fact in facts:
                del self.facts[fact]
            self.space.retract(facts)
        else:
            self.facts.update(dict.fromkeys(facts))
            self.space.insert(facts)

    async def publish(self, facts: Sequence[Tuple], by: Sequence[Member], *, gone: bool = False) -> None:
        """Each batch by another of these peers."""
        for number, begin in enumerate(range(0, len(facts), BATCH)):
            batch, door = facts[begin : begin + BATCH], by[number % len(by)].door
            await (door.retract(batch) if gone else door.insert(batch))
            self.said(batch, gone=gone)

    async def subscribe(self, texts: Sequence[str], at: Sequence[Member]) -> None:
        """Each query at another of these peers."""
        places = asyncio.Semaphore(AT_ONCE)

        async def ask(text: str, member: Member) -> None:
            async with places:
                self.standing.append((text, await member.door.subscribe(text)))

        await asyncio.gather(*(ask(text, at[number % len(at)]) for number, text in enumerate(texts)))

    def right_rows(self, text: str) -> Counter[Row]:
        """The answer to a query."""
        with self.space.subscribe(text) as subscription:
            return subscription.rows()

    # --- what is measured ---------------------------------------------------------------------------------------------------

    async def known(self) -> None:
        """Wait until each peer finds the right holders of a key."""
        places = asyncio.Semaphore(AT_ONCE)

        async def wait(member: Member) -> None:
            async with places:
                while not await self._look_up(member, self._any_key()):  # noqa: ASYNC110  # another process knows, and is asked
                    await asyncio.sleep(POLL_S)

        await asyncio.gather(*map(wait, self.living))

    async def look_up(self, for_s: float, asking: int = 4) -> None:
        """Lookups of random keys at random peers, ``asking`` at once, and how they went."""
        loop = asyncio.get_running_loop()
        until_s, taken_s, right = loop.time() + for_s, [], 0

        async def ask() -> None:
            nonlocal right
            while loop.time() < until_s:
                member, began_s = self.rng.choice(self.living), loop.time()
                is_right = await self._look_up(member, self._any_key())
                taken_s.append(loop.time() - began_s)
                right += is_right
                await asyncio.sleep(0.02)

        await asyncio.gather(*(ask() for _ in range(asking)))
        taken_s.sort()
        share, p99_s = right / len(taken_s), taken_s[int(0.99 * len(taken_s))]
        self.tally.say(f"lookups that are right, of {len(taken_s)}", f"{RIGHT:.0%}", f"{share:.2%}", kept=share >= RIGHT)
        details = f"(median {taken_s[len(taken_s) // 2]:.3f} s, worst {taken_s[-1]:.3f} s)"
        self.tally.say("99 of 100 of them take", f"{P99_S:.0f} s", f"{p99_s:.3f} s {details}", kept=p99_s < P99_S)

    def _any_key(self) -> Key:
        return 3, self.rng.randrange(3), self.rng.getrandbits(60)

    async def _look_up(self, member: Member, asked: Key) -> bool:
        (found,) = await member.door.keys([asked], find=True)
        return [each.id for each in found.holders] == self.closest(key_of_short(short_key(asked)))

    async def until_held(self, since_s: float, *, wanted_s: float = BACK_S, facts: Iterable[Tuple] | None = None) -> None:
        """Wait until each key of these facts, or of all, has all of its facts at the three peers that are to hold it."""
        loop = asyncio.get_running_loop()
        counts: Counter[Key] = Counter()
        for fact in self.facts if facts is None else facts:
            counts.update((len(fact), position, term) for position, term in enumerate(fact))
        held_by: defaultdict[bytes, list[Key]] = defaultdict(list)
        for each in counts:
            for holder in self.closest(key_of_short(short_key(each))):
                held_by[holder].append(each)
        missing = [(member, held_by[member.id]) for member in self.living if member.id in held_by]
        while missing and loop.time() - since_s < PATIENCE_S:
            missing = [(member, left) for member, asked in missing if (left := await self._missing(member, asked, counts))]
            if missing:
                await asyncio.sleep(POLL_S)
        took_s = loop.time() - since_s
        reached = (
            f"{took_s:.1f} s" if not missing else f"{sum(len(left) for _, left in missing)} copies missing after {took_s:.0f} s"
        )
        self.tally.say(
            f"every key of {len(counts):,} at its three holders again after",
            f"{wanted_s:.0f} s",
            reached,
            kept=not missing and took_s <= wanted_s,
        )

    @staticmethod
    async def _missing(member: Member, asked: list[Key], counts: Counter[Key]) -> list[Key]:
        held = await member.door.keys(asked)
        return [each for each, here in zip(asked, held, strict=True) if here.facts != counts[each]]

    def held_by_these_alone(self, killed: Sequence[Member]) -> list[Tuple]:
        """The facts all of whose holders, under all of their keys, are among these: nobody can bring them back."""
        ids = {member.id for member in killed}
        alone: dict[Key, bool] = {}
        for fact in self.facts:
            for position, term in enumerate(fact):
                asked = (len(fact), position, term)
                if asked not in alone:
                    alone[asked] = ids.issuperset(self.closest(key_of_short(short_key(asked))))
        return [fact for fact in self.facts if all(alone[len(fact), position, term] for position, term in enumerate(fact))]

    async def insert(self, fact: Tuple) -> None:
        """By a random living peer, again until it is acknowledged."""
        while True:
            try:
                await self.rng.choice(self.living).door.insert([fact])
                break
            except (gsg.PeerUnreachable, gsg.Refused):
                # The peer itself is gone, or says that a holder has not confirmed.
                await asyncio.sleep(POLL_S)

    async def go_on_publishing(self, over: asyncio.Event) -> None:
        """Facts of their own keys, and how many were acknowledged."""
        said = 0
        for number in count():
            if over.is_set():
                break
            fact = (f"late {number}", Symbol(f"late-p{number % PREDICATES}"), f"late {number + 1}")
            await self.insert(fact)
            self.said([fact])
            said += 1
            await asyncio.sleep(LATE_S)
        self.tally.say("facts acknowledged meanwhile", "", str(said))

    async def compare(self, asked_anew: Sequence[str]) -> None:
        """Whether each subscription has the right rows, those that stand and those made now at random peers."""
        wrong = await self._wrong(self.standing)
        rows = sum(subscription.rows().total() for _, subscription in self.standing)
        self.tally.say(
            f"standing subscriptions with other rows than acknowledged, of {len(self.standing)} with {rows:,} rows",
            "0",
            _named(wrong),
            kept=not wrong,
        )
        anew = [(text, await self.rng.choice(self.living).door.subscribe(text)) for text in asked_anew]
        wrong = await self._wrong(anew)
        self.tally.say(
            f"queries asked anew with other rows than acknowledged, of {len(anew)}; facts: {len(self.facts):,}",
            "0",
            _named(wrong),
            kept=not wrong,
        )
        for _, subscription in anew:
            await subscription.close()

    async def _wrong(self, subscriptions: Sequence[tuple[str, LiveSubscription]]) -> list[str]:
        loop = asyncio.get_running_loop()
        until_s, wrong = loop.time() + PATIENCE_S, []
        for text, subscription in subscriptions:
            right = self.right_rows(text)
            while subscription.rows() != right and not subscription.has_ended and loop.time() < until_s:  # noqa: ASYNC110  # as above
                await asyncio.sleep(POLL_S)
            if subscription.has_ended or subscription.rows() != right:
                wrong.append(text)
        return wrong


def _named(wrong: Sequence[str]) -> str:
    return "; ".join([str(len(wrong)), *wrong[:3]])


def facts(number: int, rng: Random) -> list[Tuple]:
    """Edges of a graph with a third as many nodes, of PREDICATES kinds."""
    nodes = max(2, number // 3)
    made: dict[Tuple, None] = {}
    while len(made) < number:
        one, other = rng.randrange(nodes), rng.randrange(nodes)
        made[f"node {one}", Symbol(f"p{rng.randrange(PREDICATES)}"), f"node {other}"] = None
    return list(made)


def all_of_a_kind() -> list[str]:
    """Queries that together have every fact in their rows."""
    return [f"(?x, {late}p{kind}, ?y)" for kind in range(PREDICATES) for late in ("", "late-")]


def queries() -> list[str]:
    """Those, joins of two conditions, and joins with NOT."""
    kinds = range(PREDICATES)
    joins = [f"(?x, p{kind}, ?y), (?y, p{(kind + 1) % PREDICATES}, ?z)" for kind in kinds]
    without = [f"(?x, p{kind}, ?y), NOT {{ (?y, p{(kind + 3) % PREDICATES}, ?z) }}" for kind in kinds]
    return all_of_a_kind() + joins + without


async def disturb(crowd: Crowd, die: Callable[[Sequence[Member]], None], share: float, steps: int, number_of_facts: int) -> None:
    """Facts and subscriptions, then deaths in steps, each when all keys have their holders again; and what is left of it all."""
    loop = asyncio.get_running_loop()
    dying = crowd.rng.sample(crowd.living, int(share * len(crowd.living)))
    survivors = [member for member in crowd.living if member not in dying]
    base = facts(number_of_facts, crowd.rng)
    await crowd.publish(base, crowd.living)
    await crowd.subscribe(queries(), survivors)
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for step in range(steps):
            killed = dying[step::steps]
            alone = crowd.held_by_these_alone(killed)
            crowd.living = [member for member in crowd.living if member not in killed]
            since_s = loop.time()
            die(killed)
            if not step:
                group.create_task(crowd.go_on_publishing(over))
            crowd.tally.say(f"killed without warning, {len(crowd.living)} left", "", str(len(killed)))
            # Three holders cannot keep what only the killed had; a user would publish it again.
            crowd.tally.say(
                "facts that only these held, under all of their keys, and that are published again", "", str(len(alone))
            )
            await asyncio.gather(*map(crowd.insert, alone))
            await asyncio.gather(crowd.look_up(10.0), crowd.until_held(since_s, facts=base))
        over.set()
    await crowd.compare(all_of_a_kind())
    await crowd.until_held(loop.time())
