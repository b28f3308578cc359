"""Families of queries that differ in constants, and histories that compare many in one space with each in a space of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from gsg import IRI, Row, Sign, Space, Subscription, Symbol
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
    "so many of a room": lambda n: f"SUBSCRIBE ?t {{ (temp, r{n % 4}, ?t) }} ORDER BY ?t LIMIT {n % 4}",
    "so many": lambda n: f"SUBSCRIBE ?r, ?t {{ (temp, ?r, ?t) FILTER ?t < {n % 30} }} ORDER BY ?t, ?r LIMIT {n % 5} OFFSET 1",
    "with the hottest of so many": lambda n: (
        f"SELECT ?r ?t {{ ?r <urn:room> <urn:r{n % 4}> {{ SELECT ?r ?t {{ ?r <urn:temp> ?t }} ORDER BY DESC(?t) LIMIT {n % 6} }} }}"
    ),
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


class History:
    """Facts and events come, facts go, and so do queries: those of the families, in turn."""

    def __init__(self, families: Sequence[str], seed: int) -> None:
        self._families = families
        self._rng = Random(seed)
        self._together = Space()
        self._alone = {n: Space() for n in range(MANY)}
        self._heard: dict[tuple[int, str], list[tuple[Sign, Row]]] = {}
        self._wrong: list[str] = []
        """Queries that had heard something else when they were closed."""
        self._live: dict[int, tuple[Subscription, Subscription]] = {}
        for n in range(MANY // 2):
            self._subscribe(n)

    def _subscribe(self, n: int) -> None:
        self._live[n] = self._one(self._together, n, "together"), self._one(self._alone[n], n, "alone")

    def _one(self, space: Space, n: int, where: str) -> Subscription:
        family, told = self._families[n % len(self._families)], self._heard.setdefault((n, where), [])
        return space.subscribe(FAMILIES[family](n), language_of(family), callback=lambda sign, row: told.append((sign, row)))

    def play(self, steps: int) -> None:
        """So many steps; a query is added every fifth, and one closed every twentieth."""
        rng = self._rng
        there: list[tuple[object, ...]] = []
        for step in range(steps):
            some = [fact(rng) for _ in range(rng.randrange(1, 4))]
            gone = [there.pop(rng.randrange(len(there))) for _ in range(rng.randrange(2)) if there]
            there += some
            for space in (self._together, *self._alone.values()):
                space.insert(some)
                space.retract(gone)
                space.notify(some[:1])
            if step % 5 == 0 and (n := MANY // 2 + step // 5) < MANY:
                self._subscribe(n)
            if step % 20 == 19:
                n = rng.choice(list(self._live))
                self._wrong += self._compared(n)
                for subscription in self._live.pop(n):
                    subscription.close()
                del self._alone[n], self._heard[n, "together"], self._heard[n, "alone"]

    def differing(self) -> list[str]:
        """The queries that have heard something else together than alone."""
        return self._wrong + [text for n in self._live for text in self._compared(n)]

    def _compared(self, n: int) -> list[str]:
        together, alone = (sorted(map(str, self._heard[n, where])) for where in ("together", "alone"))
        return [] if together == alone else [FAMILIES[self._families[n % len(self._families)]](n)]

    def close(self) -> bool:
        """Close all; whether nothing is left of them."""
        for subscriptions in self._live.values():
            for subscription in subscriptions:
                subscription.close()
        return self._together._network.is_empty
