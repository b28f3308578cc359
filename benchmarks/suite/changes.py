"""What happens on the campus: facts inserted and retracted, and events, in order and with times, as columns of codes.

A move, a reading, a change of team or project is two lines: the old fact is retracted, then the next one inserted, which may be the
same. Skills, acquaintances and bookings come and go from pools of pairs. One line in a hundred inserts what holds already, which
changes nothing. What a fact joins with is no accident: people are mostly in rooms of their team's floor and know their team,
teams book rooms of their floor, and whoever is popular is so in all respects, and asked for most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .campus import ROOMS_OF_FLOOR, Campus, Predicate
from .digests import Codes
from .draws import Draws, Popularity, below, chosen

_SHARES = {"move": 30, "read": 22, "know": 8, "skill": 4, "book": 10, "team": 2, "project": 1, "alarm": 20, "repeat": 3}
"""Of a hundred actions; the first two and changes of team and project are two lines each."""
_TWO_LINES = ("move", "read", "team", "project")
_MEAN_GAP_MS = 20
_COLDEST, _BY_FLOOR, _BY_SENSOR, _BY_TIME, _NOISE = 18_000, 6_000, 3_000, 3_000, 1_000
"""Of readings, in thousandths of a degree: a floor's own, a sensor's own, a wave over the day, and noise."""


@dataclass(frozen=True)
class Changes:
    """Lines in order; line ``i`` (from 0) is position ``i + 1``."""

    sign: NDArray[np.int8]
    """1 inserted, -1 retracted, 0 an event."""
    subject: Codes
    predicate: Codes
    object: Codes
    time_ms: Codes
    ends: Codes
    """The position at which each round ends: how many lines there are up to then, shape (rounds,)."""

    def __len__(self) -> int:
        return len(self.sign)


class People:
    """Who is in which team, where teams are at home: what changes and subscriptions both go by."""

    def __init__(self, campus: Campus) -> None:
        self._campus, self._draws = campus, Draws(campus.seed)
        self.counts = campus.counts
        self.popular = {kind: Popularity(count) for kind, count in self.counts.items()}

    @cached_property
    def team_of(self) -> Codes:
        """The first team of each person."""
        return self.popular["team"].ranks(self._draws.words("team of person", self.counts["person"]))

    @cached_property
    def _by_team(self) -> tuple[Codes, Codes, Codes]:
        members = np.argsort(self.team_of, kind="stable")
        sizes = np.bincount(self.team_of, minlength=self.counts["team"])
        return members, np.cumsum(sizes) - sizes, sizes

    def members(self, teams: Codes, words: NDArray[np.uint64]) -> Codes:
        """Somebody of each of these teams; anybody where nobody is in it."""
        members, begin, sizes = self._by_team
        number = (words % np.maximum(sizes[teams], 1).astype(np.uint64)).astype(np.int64)
        found = members[np.minimum(begin[teams] + number, len(members) - 1)]
        return np.where(sizes[teams] > 0, found, below(words, self.counts["person"]))

    def home_rooms(self, teams: Codes, words: NDArray[np.uint64]) -> Codes:
        """A room of the floor of each of these teams."""
        floors = self.counts["floor"]
        return teams % floors + floors * below(words, ROOMS_OF_FLOOR)


def generate(campus: Campus) -> Changes:
    """All changes of a workload."""
    pools = _Pools(campus)
    first, later = _beginning(campus, pools), _days(campus, pools)
    room_left = max(0, campus.size.changes - len(first[0]))
    columns = [np.concatenate((one, other[:room_left])) for one, other in zip(first, later, strict=True)]
    sign, subject, predicate, object = columns
    rounds = campus.size.rounds
    ends = len(first[0]) + (len(sign) - len(first[0])) * np.arange(rounds, dtype=np.int64) // (rounds - 1)
    gaps = 1 + Draws(campus.seed).below("gaps", 2 * _MEAN_GAP_MS - 1, len(sign))
    gaps[: len(first[0])] = 0  # what is there to begin with is there at time 0
    return Changes(sign.astype(np.int8), subject, predicate, object, np.cumsum(gaps), ends)


class _Pools:
    """Pairs that come and go, those that are there to begin with, and what has one value at a time."""

    def __init__(self, campus: Campus) -> None:
        self.people, draws = People(campus), Draws(campus.seed)
        counts, popular = campus.counts, self.people.popular
        persons = counts["person"]
        count = 2 * persons
        self.skill = (
            below(draws.words("whose skill", count), persons),
            popular["skill"].ranks(draws.words("which skill", count)),
        )
        count = 6 * persons
        who = below(draws.words("who knows", count), persons)
        words = draws.words("who is known", count)
        near = draws.below("knows colleague", 10, count) < 7
        whom = np.where(near, self.people.members(self.people.team_of[who], words), popular["person"].ranks(words))
        # Every third pair is the one before it the other way round.
        back = np.arange(2, count, 3)
        who[back], whom[back] = whom[back - 1], who[back - 1]
        self.know = (who, np.where(who == whom, (whom + 1) % persons, whom))
        count = 2 * counts["room"]
        teams = popular["team"].ranks(draws.words("who books", count))
        words = draws.words("which booking", count)
        near = draws.below("books at home", 10, count) < 7
        self.book = (np.where(near, self.people.home_rooms(teams, words), popular["room"].ranks(words)), teams)
        self.held = {
            "skill": draws.below("skill held", 2, len(self.skill[0])) == 0,
            "know": draws.below("know held", 2, len(self.know[0])) == 0,
            "book": draws.below("book held", 3, len(self.book[0])) == 0,
        }
        words = draws.words("first room", persons)
        near = draws.below("first room at home", 10, persons) < 6
        self.room_of = np.where(near, self.people.home_rooms(self.people.team_of, words), popular["room"].ranks(words))
        self.value_of = _values(draws, np.arange(counts["sensor"]), np.zeros(counts["sensor"], dtype=np.int64), counts["floor"])
        self.project_of = np.arange(counts["team"]) % counts["project"]


def _values(draws: Draws, sensors: Codes, wave: Codes, floors: int) -> Codes:
    own = below(draws.at("floor's degrees", sensors % floors), _BY_FLOOR) + below(draws.at("sensor's degrees", sensors), _BY_SENSOR)
    return _COLDEST + own + wave + draws.below("noise", _NOISE, len(sensors))


_Columns = tuple[Codes, Codes, Codes, Codes]


def _beginning(campus: Campus, pools: _Pools) -> _Columns:
    """What is there to begin with: what never changes first, and all else in random order."""
    counts, of = campus.counts, campus.first
    rooms, sensors, persons, teams = (np.arange(counts[kind]) for kind in ("room", "sensor", "person", "team"))
    still = [
        (of("room") + rooms, Predicate.ON_FLOOR, of("floor") + rooms % counts["floor"]),
        (of("sensor") + sensors, Predicate.PLACED_IN, of("room") + sensors % counts["room"]),
    ]
    changing = [
        (of("person") + persons, Predicate.MEMBER_OF, of("team") + pools.people.team_of),
        (of("team") + teams, Predicate.WORKS_ON, of("project") + pools.project_of),
        (of("person") + persons, Predicate.LOCATED_IN, of("room") + pools.room_of),
        (of("sensor") + sensors, Predicate.READS, campus.first_integer + pools.value_of),
    ]
    for kind, relation, left, right in _POOLED:
        who, what = getattr(pools, kind)
        held = pools.held[kind]
        changing.append((of(left) + who[held], relation, of(right) + what[held]))
    columns = [_stacked(part) for part in (still, changing)]
    order = np.argsort(Draws(campus.seed).words("order of the beginning", len(columns[1][0])), kind="stable")
    subject, predicate, object = (np.concatenate((one, other[order])) for one, other in zip(*columns, strict=True))
    return np.ones(len(subject), dtype=np.int64), subject, predicate, object


_POOLED = (
    ("skill", Predicate.HAS_SKILL, "person", "skill"),
    ("know", Predicate.KNOWS, "person", "person"),
    ("book", Predicate.BOOKED_BY, "room", "team"),
)


def _stacked(parts: list[tuple[Codes, Predicate, Codes]]) -> tuple[Codes, Codes, Codes]:
    predicates = [np.full(len(subject), predicate, dtype=np.int64) for subject, predicate, _ in parts]
    return np.concatenate([one[0] for one in parts]), np.concatenate(predicates), np.concatenate([one[2] for one in parts])


def _days(campus: Campus, pools: _Pools) -> _Columns:
    """What happens then."""
    draws = Draws(campus.seed)
    counts, popular, of = campus.counts, pools.people.popular, campus.first
    count = campus.size.changes
    kinds = chosen(draws.words("action", count), list(_SHARES.values()))
    number = dict(zip(_SHARES, range(len(_SHARES)), strict=True))
    lines = 1 + np.isin(kinds, [number[kind] for kind in _TWO_LINES]).astype(np.int64)
    first = np.cumsum(lines) - lines
    total = int(lines.sum())
    sign, subject, predicate, object = (np.zeros(total, dtype=np.int64) for _ in range(4))

    def put(at: Codes, signs: Codes | int, who: Codes, what: Predicate, whom: Codes) -> None:
        sign[at], subject[at], predicate[at], object[at] = signs, who, what, whom

    def replaced(kind: str, what: Predicate, who: Codes, values: Codes, began: Codes, base: int, base_value: int) -> None:
        at = first[kinds == number[kind]]
        put(at, -1, base + who, what, base_value + _before(who, values, began))
        put(at + 1, 1, base + who, what, base_value + values)

    def words(kind: str, name: str) -> NDArray[np.uint64]:
        return draws.words(f"{kind}: {name}", int((kinds == number[kind]).sum()))

    who = popular["person"].ranks(words("move", "who"))
    near = below(words("move", "home"), 10) < 6
    rooms = words("move", "where")
    where = np.where(near, pools.people.home_rooms(pools.people.team_of[who], rooms), popular["room"].ranks(rooms))
    replaced("move", Predicate.LOCATED_IN, who, where, pools.room_of, of("person"), of("room"))

    sensors = popular["sensor"].ranks(words("read", "which"))
    phase = first[kinds == number["read"]] * (2 * _BY_TIME) // max(total, 1)
    values = _values(draws, sensors, np.minimum(phase, 2 * _BY_TIME - phase), counts["floor"])
    replaced("read", Predicate.READS, sensors, values, pools.value_of, of("sensor"), campus.first_integer)

    who, teams = below(words("team", "who"), counts["person"]), popular["team"].ranks(words("team", "which"))
    replaced("team", Predicate.MEMBER_OF, who, teams, pools.people.team_of, of("person"), of("team"))
    who, projects = below(words("project", "who"), counts["team"]), popular["project"].ranks(words("project", "which"))
    replaced("project", Predicate.WORKS_ON, who, projects, pools.project_of, of("team"), of("project"))

    for kind, what, left, right in _POOLED:
        pairs = getattr(pools, kind)
        pair = below(words(kind, "pair"), len(pairs[0]))
        holds = (pools.held[kind][pair].astype(np.int64) + _times_before(pair)) % 2
        put(first[kinds == number[kind]], 1 - 2 * holds, of(left) + pairs[0][pair], what, of(right) + pairs[1][pair])

    sensors, alarms = popular["sensor"].ranks(words("alarm", "which")), popular["alarm"].ranks(words("alarm", "kind"))
    put(first[kinds == number["alarm"]], 0, of("sensor") + sensors, Predicate.RAISED, of("alarm") + alarms)
    again = popular["room"].ranks(words("repeat", "which"))
    put(first[kinds == number["repeat"]], 1, of("room") + again, Predicate.ON_FLOOR, of("floor") + again % counts["floor"])
    return sign, subject, predicate, object


def _grouped(keys: Codes) -> tuple[Codes, NDArray[np.bool_]]:
    """An order in which equal keys stand together as they came, and where a key is another one than before."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    return order, np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(keys)]


def _before(keys: Codes, values: Codes, began: Codes) -> Codes:
    """For each, the value before it of the same key; the first time what the key began with."""
    order, is_first = _grouped(keys)
    ordered = values[order]
    before = np.where(is_first, began[keys[order]], np.concatenate((ordered[:1], ordered[:-1])))
    found = np.empty_like(before)
    found[order] = before
    return found


def _times_before(keys: Codes) -> Codes:
    """For each, how many times its key came before."""
    order, is_first = _grouped(keys)
    places = np.arange(len(keys))
    found = np.empty_like(places)
    found[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return found
