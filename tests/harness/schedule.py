"""What happens in one run of the harness, drawn from a seed: what clients do and what goes wrong, each at its time. Pure.

    python tests/harness/schedule.py 7        prints the run of seed 7

A run has one round or more. In each something goes wrong while clients go on, and then there is time for what is promised to be
true again. The faults of one round stay within what DESIGN section 5 promises to survive: at most LOST peers are away at a time, or
without their disk, and they are back, or others have taken their place, before the next ones go; or all are stopped at once, and
none of them has lost its disk.

The first 200 runs have one round each, with 173 deeds on average: 16,751 insertions and 7,695 retractions of one to four facts,
5,285 publications of events, 2,925 subscriptions and 883 ends of them, 1,133 changes of peer. In so many of them there is: a strike
36, a partition 23, a peer that leaves 21, one that flaps 20, one that is suspended 17, a newcomer 16, a loss of memory 16, a crash
16, a clock that jumps 14, a restart 11, a blackout 10; links that are cut 44, datagrams that are lost 37, a peer that reads nothing
34, links that snap 34, datagrams that are repeated 33, walls 32, slow links 31, an interruption 30, a full disk 29.

A fact belongs to one client: its first term names it. So what is true in the end follows from what each client did last, and
queries join over the facts of all.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from gsg.tuples.ordered_attributes import OrderedAttribute
from gsg.tuples.terms import Symbol, Term, Tuple

PEERS = 16
CLIENTS = ("A", "B", "C", "D")
LOST = 2
"""Peers that may be away or forget at once: all but one of a key's holders."""
BEGIN_S = 8.0
"""Until all peers know each other."""
TROUBLE_S = 16.0
"""How long clients work in each round, while something goes wrong."""
DEEDS_A_SECOND = 2.5
"""Of each client."""
MENDING_S = 12.0
"""Without faults, after each round. The last one is given more where that is needed (:mod:`trial`)."""
ON, BY, RANG = Symbol("on"), Symbol("by"), Symbol("rang")
NODES = "abc"
"""The nodes of each client: Aa, Ab, ..., so few that facts come and go."""
TEXTS = {
    "pairs": "(?x, on, ?y)",
    "chains": "(?x, on, ?y), (?y, by, ?z)",
    "lonely": "(?x, on, ?y), NOT { (?y, by, ?x) }",
    "all": "(?x, ?p, ?y)",
    "of Aa": '("Aa", ?p, ?y)',
    "rings": "(rang, ?who, ?n)",
}
"""Standing queries by name."""
ORDERED = OrderedAttribute(3, 2, 0, 12, 6)
BOUNDED = {
    "few": "(?x, ?p, ?n) FILTER(?n < 3)",
    "some": "(?x, ?p, ?n) FILTER(?n > 4 && ?n < 9)",
    "many": "(?x, ?p, ?n) FILTER(?n >= 9)",
    "few by some": "(?x, ?p, ?n) FILTER(?n < 3), (?y, ?q, ?m) FILTER(?m > 7 && ?m <= 9)",
}
"""Those of runs in which the numbers of the third place are ordered, too, and facts have some there."""
PEER_FAULTS = (
    "crash",
    "restart",
    "forget",
    "strike",
    "strike",
    "leave",
    "partition",
    "clock",
    "join",
    "blackout",
    "flap",
    "suspend",
)
"""One of these happens in each round. A strike waits for the next acknowledgement of a change, and in that moment kills holders of
what was acknowledged, with their disks: there is no worse one. A peer that flaps is killed again while it enters, or soon after.
Who is suspended stands still, as by SIGSTOP, when an event has just been published that is on its way to it, and goes on later."""
LINK_FAULTS = ("cut", "loss", "slow", "stall", "double", "disk", "interrupt", "snap", "wall")
"""Up to three of these happen besides. An interruption breaks all links of a peer when it has just published an event: who has it
already and who has it not, its publisher does not know, and says it again. Links snap at the peers of all other clients when one
has just published an event: it is on its way to them, and forwarded already, so nobody says it again to the rendezvous. A wall
is between two peers that do not hear each other, though others hear both."""
FLIPS = (1, 1, 3, 12, 0)
"""How many bits turn over on a disk, where some do; for none its newest groups are lost. One is put right; more are left out, and
come from other holders, or from memory where the peer runs. Drawn apart, so that all else in a run is as it would be without."""
STRUCK = ((0,), (0,), (0, 1), (0, 1), (0, 2), (1, 2))
"""Whom a strike hits, or who is suspended, by their places among the holders of a key, the primary first."""


@dataclass(frozen=True)
class Insert:
    """Make facts true."""

    facts: tuple[Tuple, ...]


@dataclass(frozen=True)
class Retract:
    """Make facts untrue."""

    facts: tuple[Tuple, ...]


@dataclass(frozen=True)
class Notify:
    """Publish events, each with a number that is the client's next."""

    events: tuple[Tuple, ...]


@dataclass(frozen=True)
class Subscribe:
    """Ask a standing query of this name."""

    query: str


@dataclass(frozen=True)
class Unsubscribe:
    """End the oldest subscription to this query, if there is one."""

    query: str


@dataclass(frozen=True)
class Reconnect:
    """Go to another peer, and ask there for what was asked for."""


@dataclass(frozen=True)
class Fault:
    """Something goes wrong: what it is, the peers that it concerns by number (a strike, a suspension: by their place among the
    holders), and how much of it or for how long."""

    kind: str
    peers: tuple[int, ...] = ()
    amount: float = 0.0


Deed: TypeAlias = Insert | Retract | Notify | Subscribe | Unsubscribe | Reconnect


@dataclass(frozen=True)
class Done:
    """A client does something: not before this time, and not before what it did last has ended."""

    at_s: float
    client: str
    deed: Deed


@dataclass(frozen=True)
class Happens:
    """A fault at its time."""

    at_s: float
    fault: Fault


@dataclass(frozen=True)
class Schedule:
    """One run."""

    seed: int
    homes: dict[str, int]
    """By client the number of the peer that it is at in the beginning."""
    deeds: tuple[Done, ...]
    faults: tuple[Happens, ...]
    ends_s: float
    ordered: bool = False

    @property
    def texts(self) -> Mapping[str, str]:
        """The standing queries that may be asked."""
        return TEXTS | BOUNDED if self.ordered else TEXTS

    def lines(self) -> list[str]:
        """The run as text, in the order of time."""
        moments = sorted([*self.deeds, *self.faults], key=lambda each: each.at_s)
        return [f"{one.at_s:7.2f} {f'{one.client}: {one.deed}' if isinstance(one, Done) else one.fault}" for one in moments]


@dataclass
class _Client:
    """What has been drawn for one client."""

    name: str
    queries: Sequence[str]
    numbers: bool
    """Whether facts may end with one."""
    true: dict[Tuple, None] = field(default_factory=dict)
    rung: int = 0
    asked: list[str] = field(default_factory=list)


def schedule(seed: int, *, rounds: int = 1, without: Collection[str] = (), ordered: bool = False) -> Schedule:
    """The run of a seed, of so many rounds, without faults of the kinds named, and ``ordered`` with numbers that are so."""
    rng, flips = Random(f"harness {seed}"), Random(f"flips {seed}")
    homes = dict(zip(CLIENTS, rng.sample(range(PEERS), len(CLIENTS)), strict=True))
    queries = sorted(TEXTS | BOUNDED if ordered else TEXTS)
    clients = [_Client(name, queries, ordered) for name in CLIENTS]
    deeds: list[Done] = []
    faults: list[Happens] = []
    for client in clients:
        for query in rng.sample(queries, 2) + (["rings"] if rng.random() < 0.5 else []):
            deeds.append(Done(BEGIN_S, client.name, Subscribe(query)))
            client.asked.append(query)
    begins_s = BEGIN_S + 2.0
    for _ in range(rounds):
        for client in clients:
            at_s = begins_s
            while at_s < begins_s + TROUBLE_S:
                deeds.append(Done(round(at_s, 3), client.name, _deed(client, rng)))
                at_s += rng.expovariate(DEEDS_A_SECOND)
        drawn = _faults(rng, begins_s)
        faults += [one for one in drawn + _flips(flips, begins_s, drawn) if one.fault.kind not in without]
        begins_s += TROUBLE_S + MENDING_S
    return Schedule(seed, homes, tuple(deeds), tuple(sorted(faults, key=lambda one: one.at_s)), begins_s, ordered)


def _deed(client: _Client, rng: Random) -> Deed:
    chance = rng.random()
    if chance < 0.50 or (chance < 0.75 and not client.true):
        facts = tuple(dict.fromkeys(_fact(client, rng) for _ in range(rng.choice((1, 1, 2, 4)))))
        client.true.update(dict.fromkeys(facts))
        return Insert(facts)
    if chance < 0.75:
        gone = tuple(rng.sample(list(client.true), min(len(client.true), rng.choice((1, 1, 2)))))
        for fact in gone:
            del client.true[fact]
        return Retract(gone)
    if chance < 0.91:
        rung = range(client.rung, client.rung + rng.choice((1, 1, 3)))
        client.rung = rung.stop
        return Notify(tuple((RANG, client.name, number) for number in rung))
    if chance < 0.94 and len(client.asked) < 5:
        client.asked.append(rng.choice(client.queries))
        return Subscribe(client.asked[-1])
    if chance < 0.97 and len(client.asked) > 1:
        query = rng.choice(client.asked)
        client.asked.remove(query)
        return Unsubscribe(query)
    return Reconnect()


def _fact(client: _Client, rng: Random) -> Tuple:
    end: Term = rng.randrange(12) if client.numbers and rng.random() < 0.5 else rng.choice(CLIENTS) + rng.choice(NODES)
    return (client.name + rng.choice(NODES), rng.choice((ON, BY)), end)


def _faults(rng: Random, begins_s: float) -> list[Happens]:
    """What goes wrong in one round: something about peers, and some things about what is between them."""
    found: list[Happens] = []

    def add(kind: str, *peers: int, after_s: float, amount: float = 0.0) -> None:
        found.append(Happens(round(begins_s + after_s, 3), Fault(kind, peers, round(amount, 3))))

    kind = rng.choice(PEER_FAULTS)
    when_s = rng.uniform(1.0, TROUBLE_S - 4.0)
    some = rng.sample(range(PEERS), LOST)
    if kind == "partition":
        apart = rng.sample(range(PEERS), rng.choice((1, 4, 6)))
        add("partition", *apart, after_s=1.0)
        add("heal", after_s=1.0 + rng.choice((1.0, 6.0, TROUBLE_S - 2.0)))
    elif kind == "clock":
        add("clock", some[0], after_s=when_s, amount=rng.choice((-7200.0, -60.0, 60.0, 7200.0)))
    elif kind == "join":
        add("join", after_s=when_s)
    elif kind == "blackout":
        add("blackout", after_s=when_s, amount=rng.choice((0.5, 3.0)))
    elif kind == "strike":
        add("strike", *rng.choice(STRUCK), after_s=when_s, amount=rng.choice((0.5, 2.0, 3.5)))
    elif kind == "suspend":
        add("suspend", *rng.choice(STRUCK), after_s=when_s, amount=rng.choice((2.0, 5.0, 12.0)))
    elif kind == "flap":
        for number in some[: rng.choice((1, LOST))]:
            back_s = when_s + rng.choice((0.1, 0.3, 1.0))
            again_s = back_s + rng.uniform(0.05, 1.5)
            add("flap", number, after_s=when_s)
            add("start", number, after_s=back_s)
            add("flap", number, after_s=again_s)
            add("start", number, after_s=again_s + rng.choice((0.1, 0.3, 1.0)))
    elif kind == "leave":
        add("leave", some[0], after_s=when_s)
        add("start", some[0], after_s=when_s + rng.uniform(0.5, 4.0))
    else:
        for number in some[: rng.choice((1, LOST, LOST))]:
            add(kind, number, after_s=when_s + rng.choice((0.0, 0.0, 0.3)))
            add("start", number, after_s=when_s + rng.choice((0.5, 2.0, 3.5)))
    for kind in rng.sample(LINK_FAULTS, rng.choice((0, 1, 2, 3))):
        when_s = rng.uniform(0.0, TROUBLE_S - 4.0)
        lasts_s = rng.uniform(1.0, 4.0)
        if kind == "cut":
            for _ in range(rng.choice((1, 4, 12))):
                add("cut", *rng.sample(range(PEERS), 2), after_s=when_s + rng.uniform(0.0, lasts_s))
        elif kind == "wall":
            for _ in range(rng.choice((1, 3, 8))):
                add("wall", *rng.sample(range(PEERS), 2), after_s=when_s, amount=rng.choice((1.0, 5.0, 12.0)))
        elif kind == "stall":
            add("stall", rng.randrange(PEERS), after_s=when_s, amount=rng.choice((1.0, 4.0, 8.0)))
        elif kind in ("interrupt", "snap", "wall"):
            add(kind, after_s=when_s, amount=rng.choice((3, 6)))
        elif kind == "disk":
            add("disk", rng.randrange(PEERS), after_s=when_s, amount=lasts_s)
        else:
            add(kind, after_s=when_s, amount={"loss": 0.1, "slow": 0.4, "double": 0.2}[kind])
            add(kind, after_s=when_s + lasts_s)
    return found


def _flips(rng: Random, begins_s: float, faults: list[Happens]) -> list[Happens]:
    """Bits that turn over on the disks of at most LOST peers, where none loses its disk anyway: best while they are away."""
    kinds = {one.fault.kind for one in faults}
    if kinds & {"strike", "forget"} or rng.random() < 0.3:
        return []
    found = []
    away = {one.fault.peers[0]: one.at_s for one in faults if one.fault.kind in ("crash", "restart", "flap", "leave")}
    for number in rng.sample(sorted(away), min(len(away), LOST)) or rng.sample(range(PEERS), LOST):
        at_s = away.get(number, begins_s + rng.uniform(2.0, TROUBLE_S))
        if "blackout" in kinds:
            at_s = next(one.at_s for one in faults if one.fault.kind == "blackout")
        found.append(Happens(round(at_s + 0.09, 3), Fault("flip", (number,), float(rng.choice(FLIPS)))))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Print what happens in the run of a seed.")
    parser.add_argument("seed", type=int, help="as run.py takes it, and harness_soak.py prints it")
    parser.add_argument("--rounds", type=int, default=1, help="how many rounds the run has (default: 1)")
    parser.add_argument("--ordered", action="store_true", help="with numbers that are ordered")
    options = parser.parse_args()
    print(*schedule(options.seed, rounds=options.rounds, ordered=options.ordered).lines(), sep="\n")
