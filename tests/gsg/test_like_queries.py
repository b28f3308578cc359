"""Many queries that differ in constants answer together what each answers alone, whatever their operators."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from peers import Reader, quiet, simulate

from dht.simnet import SimNet
from gsg import IRI, Peer, Row, Sign, Space, Symbol
from gsg.tuples.terms import XSD, Term, literal

MANY = 50
TEMP, ROOM, NAME, SEEN = map(Symbol, ("temp", "room", "name", "seen"))
DATE = XSD + "date"


def date(day: int) -> Term:
    return literal(f"2026-01-{day:02}", DATE)


FAMILIES: dict[str, Callable[[int], str]] = {
    "threshold": lambda n: f"(temp, ?r, ?t) FILTER ?t > {n % 30}",
    "room and threshold": lambda n: f"(temp, r{n % 4}, ?t) FILTER ?t >= {n % 30}",
    "range": lambda n: f"(temp, ?r, ?t) FILTER ?t > {n % 30} && ?t <= {n % 30 + 5}",
    "equality": lambda n: f"(temp, ?r, ?t) FILTER ?t = {n % 30}",
    "one of": lambda n: f'(name, ?r, ?t) FILTER ?t IN ("a{n % 9}", "b{n % 7}", {n % 5})',
    "prefix": lambda n: f'(name, ?r, ?t) FILTER STRSTARTS(?t, "a{n % 9}")',
    "part": lambda n: f'(name, ?r, ?t) FILTER CONTAINS(?t, "{n % 30}")',
    "end": lambda n: f'(name, ?r, ?t) FILTER STRENDS(?t, "{n % 10}") && ?t != "a{n}"',
    "date": lambda n: f'(seen, ?r, ?t) FILTER ?t < "2026-01-{n % 28 + 1:02}"^^<{DATE}>',
    "computed": lambda n: f"(temp, ?r, ?t) FILTER ?t * 2 > {n} LET ?u = ?t + {n}",
    "join": lambda n: f"(temp, ?r, ?t), (?r, room, ?s) FILTER ?t > {n % 30} && ?s != r{n % 4}",
    "optional": lambda n: f"(?r, room, ?s) OPTIONAL {{ (temp, ?r, ?t) FILTER ?t > {n % 30} }}",
    "not": lambda n: f"(?r, room, ?s), NOT {{ (temp, ?r, ?t) FILTER ?t > {n % 30} }}",
    "nothing to look up": lambda n: f"(temp, ?r, ?t) FILTER ?t != {n % 30}",
    "difference": lambda n: f"(temp, ?r, ?t), (temp, ?s, ?u) FILTER ?t - ?u > {n % 30}",
    "two tests": lambda n: f"(temp, ?r, ?t), (?r, room, ?s), (temp, ?s, ?u) FILTER ?t > {n % 30} && ?u < {n % 20}",
    "room and computed": lambda n: f"(temp, r{n % 4}, ?t) LET ?u = ?t * {n % 7} FILTER ?u > {n % 50}",
    "union": lambda n: f"{{ (temp, ?r, ?t) }} UNION {{ (?r, room, ?s), (temp, ?s, ?t) }} FILTER ?t > {n % 30}",
    "test of an optional": lambda n: f"(?r, room, ?s) OPTIONAL {{ (temp, ?s, ?t) }} FILTER ?t > {n % 30}",
    "exists": lambda n: f"SELECT ?r {{ ?r <urn:room> ?s FILTER EXISTS {{ ?s <urn:temp> ?t FILTER(?t > {n % 30}) }} }}",
    "greatest": lambda n: f"SUBSCRIBE MAX(?t) AS ?m {{ (temp, ?r, ?t) FILTER ?t < {n % 30} }}",
    "first": lambda n: f"SUBSCRIBE ?r, ?t {{ (temp, ?r, ?t) FILTER ?t < {n % 30} }} ORDER BY ?t, ?r LIMIT 2",
    "rows": lambda n: f"SELECT ?r ?t {{ ?r <urn:temp> ?t VALUES ?r {{ <urn:r{n % 4}> <urn:r{n % 3}> }} }}",
    "rows and test": lambda n: (
        f"SELECT ?r ?t {{ ?r <urn:temp> ?t VALUES (?r ?x) {{ (<urn:r{n % 4}> {n}) }} FILTER(?t < {n % 30}) }}"
    ),
    "rows alone": lambda n: f"SELECT ?t ?x {{ ?r <urn:temp> ?t VALUES ?x {{ {n} }} }}",
    "minus": lambda n: f"SELECT ?r ?s {{ ?r <urn:room> ?s MINUS {{ ?r <urn:temp> ?t FILTER(?t > {n % 30}) }} }}",
    "inner query": lambda n: (
        f"SELECT ?r ?c {{ ?r <urn:room> ?s {{ SELECT ?s (COUNT(?t) AS ?c) {{ ?s <urn:temp> ?t FILTER(?t > {n % 30}) }} "
        f"GROUP BY ?s }} FILTER(?c > {n % 2}) }}"
    ),
    "path and test": lambda n: f"SELECT ?r ?s ?t {{ ?r <urn:room>+ ?s . ?s <urn:temp> ?t FILTER(?t > {n % 30}) }}",
    "end of a path and test": lambda n: (
        f"SELECT ?r ?t {{ ?r <urn:room>+ <urn:r{n % 4}> . ?r <urn:temp> ?t FILTER(?t > {n % 30}) }}"
    ),
    "count": lambda n: f"SUBSCRIBE ?r, COUNT(?t) AS ?c {{ (temp, ?r, ?t) FILTER ?t > {n % 20} }} GROUP BY ?r HAVING ?c > {n % 3}",
}


def language_of(family: str) -> str:
    return "sparql" if FAMILIES[family](0).startswith("SELECT") else "gsg"


def fact(rng: Random) -> tuple[object, ...]:
    room = Symbol(f"r{rng.randrange(4)}")
    node = IRI(f"urn:r{rng.randrange(4)}")
    return rng.choice(
        [
            (node, IRI("urn:temp"), rng.randrange(-2, 36)),
            (node, IRI("urn:room"), IRI(f"urn:r{rng.randrange(4)}")),
            (TEMP, room, rng.choice([rng.randrange(-2, 36), 20.5, "20", Symbol("pi")])),
            (NAME, room, rng.choice([f"a{rng.randrange(40)}", f"b{rng.randrange(40)}", rng.randrange(6)])),
            (SEEN, room, date(rng.randrange(1, 29))),
            (room, ROOM, Symbol(f"r{rng.randrange(4)}")),
        ]
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(2))
def test_like_queries_answer_together_what_each_answers_alone(family: str, seed: int) -> None:
    rng = Random(seed)
    heard: dict[tuple[int, str], list[tuple[Sign, Row]]] = {}

    def subscribe(space: Space, n: int, where: str) -> object:
        told = heard.setdefault((n, where), [])
        return space.subscribe(FAMILIES[family](n), language_of(family), callback=lambda sign, row: told.append((sign, row)))

    together = Space()
    alone = {n: Space() for n in range(MANY)}
    live = {n: subscribe(together, n, "together") for n in range(MANY // 2)}
    for n in live:
        subscribe(alone[n], n, "alone")
    there: list[tuple[object, ...]] = []
    for step in range(150):
        some = [fact(rng) for _ in range(rng.randrange(1, 4))]
        gone = [there.pop(rng.randrange(len(there))) for _ in range(rng.randrange(2)) if there]
        there += some
        for space in (together, *alone.values()):
            space.insert(some)
            space.retract(gone)
            space.notify(some[:1])
        if step % 5 == 0 and (n := MANY // 2 + step // 5) < MANY:
            live[n] = subscribe(together, n, "together")
            subscribe(alone[n], n, "alone")
        if step % 20 == 19:
            n = rng.choice(list(live))
            live.pop(n).close()  # type: ignore[attr-defined]  # a subscription
            alone.pop(n).close()
            del heard[n, "together"], heard[n, "alone"]

    for n in live:
        assert sorted(map(str, heard[n, "together"])) == sorted(map(str, heard[n, "alone"])), FAMILIES[family](n)
    for subscription in live.values():
        subscription.close()  # type: ignore[attr-defined]  # as above
    assert together._network.is_empty


@pytest.mark.parametrize("family", ["threshold", "room and threshold", "range", "one of", "part", "date", "join", "two tests"])
def test_peers_answer_like_queries_as_one_space(family: str) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rng = Random(7)
        space = Space()
        pairs = []
        for n in range(30):
            reader = Reader(await rng.choice(peers).subscribe(FAMILIES[family](n)))
            pairs.append((reader, space.subscribe(FAMILIES[family](n))))
        for _ in range(6):
            some = list({fact(rng) for _ in range(12)})
            for items in some:
                await peers[0].insert([items])
            space.insert(some)
            gone = rng.sample(some, 4)
            await peers[0].retract(gone)
            space.retract(gone)
            await quiet()
            for reader, subscription in pairs:
                await reader.read()
                assert reader.held == subscription.rows()

    simulate(work, seed=3, size=3)
