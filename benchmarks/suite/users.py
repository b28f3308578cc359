"""Who asks for what, and when: users in groups, whose subscriptions are the same, narrow one another, or stand alone.

A group is a team of the campus, and its list has LISTED queries about what is near to it. A user's subscription is with probability
``overlap`` one of that list, as it is for everybody in the group; with ``narrowed`` it is one of them with a condition more, or a
closer bound; or it has a template and constants of its own, the popular ones most often. Users come and go between rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from .campus import Campus, integer
from .changes import People
from .digests import Codes
from .draws import Draws, Popularity, below, chosen
from .queries import NUMBERED, NUMBERS, TEMPLATES, Asked, Template, filled, script, sparql

LISTED = 6
PER_GROUP, PER_USER = 40, 4
"""Subscriptions of a group, and of a user, in the mean."""
MAX_PARAMETERS = max(len(template.parameters) for template in TEMPLATES)
_SHARED, _NARROWED, _OWN = range(3)
ORIGINS = ("shared", "narrowed", "own")
_FROM_BEGINNING, _LEAVE = 40, 20
"""Of a hundred: who is there from the beginning, and who leaves before the end."""
_WARM, _WARM_RANGE, _CLOSER = 23_000, 5_000, 1_500
"""Lower bounds of ``warm-rooms``, and by how much a narrower one is higher, in thousandths of a degree."""
_COLDEST, _BAND_RANGE, _IN_BAND = 18_000, 12_000, 10
"""Lower bounds of ``band``, and how many sensors are within one in the mean."""


class Line(msgspec.Struct, frozen=True):
    """A line of subscriptions.jsonl."""

    subscription: int
    user: str
    group: str
    template: str
    origin: str
    """shared, narrowed or own."""
    begins: int
    """The round before which the user subscribes."""
    ends: int
    """The round after which it unsubscribes; the last one where it stays."""
    sparql: str
    gsg: str
    query: Asked


@dataclass(frozen=True)
class Subscriptions:
    """One place each."""

    user: Codes
    group: Codes
    template: Codes
    parameters: NDArray[np.int64]
    """Codes of terms, or numbers, in the order of the template's parameters, shape (subscriptions, MAX_PARAMETERS)."""
    origin: Codes
    begins: Codes
    ends: Codes

    def __len__(self) -> int:
        return len(self.user)


def generate(campus: Campus) -> Subscriptions:
    """All subscriptions of a workload."""
    people, draws, count = People(campus), Draws(campus.seed), campus.size.subscriptions
    user, group = _users(campus, draws)
    origin, number, template = _templates(campus, draws, group)
    parameters = np.zeros((count, MAX_PARAMETERS), dtype=np.int64)
    for at, each in enumerate(TEMPLATES):
        mine = np.flatnonzero(template == at)
        for place, kind in enumerate(each.parameters):
            near = _near(people, draws, campus, each, kind, group[mine], number[mine])
            personal = _personal(people, draws, campus, each, kind, mine)
            added = (origin[mine] == _NARROWED) & (kind not in _inherited(each))
            parameters[mine, place] = np.where((origin[mine] == _OWN) | added, personal, near)
    _close_bounds(template, origin, parameters)
    begins, ends = _lives(campus, draws)
    # Numbers go by rounds: who reads the file needs no more of it than has begun.
    order = np.argsort(begins, kind="stable")
    return Subscriptions(*(column[order] for column in (user, group, template, parameters, origin, begins, ends)))


def _users(campus: Campus, draws: Draws) -> tuple[Codes, Codes]:
    """Whose each subscription is, and of which group that is. Each group has a user, and most of them have more."""
    count = campus.size.subscriptions
    groups = min(campus.counts["team"], max(3, count // PER_GROUP))
    users = max(groups, count // PER_USER)
    others = Popularity(groups).ranks(draws.words("group of user", users - groups))
    user = below(draws.words("user", count), users)
    return user, np.concatenate((np.arange(groups), others))[user]


def _templates(campus: Campus, draws: Draws, group: Codes) -> tuple[Codes, Codes, Codes]:
    """Where each subscription comes from, the number of the entry of its group's list, and its template."""
    size, count = campus.size, len(group)
    thousandths = [round(1000 * size.overlap), round(1000 * size.narrowed)]
    origin = chosen(draws.words("origin", count), [*thousandths, 1000 - sum(thousandths)])
    # One of each template at least, so that a small workload asks all of them.
    origin[: len(TEMPLATES)] = _OWN
    shares = [template.share for template in TEMPLATES]
    narrower = np.array([NUMBERED[each.narrower] if each.narrower else -1 for each in TEMPLATES])
    # An entry of a list is a function of its group and place. What narrows takes the next entry that can be narrowed.
    entry = below(draws.words("entry", count), LISTED)
    for _ in range(LISTED):
        listed = chosen(draws.at("listed template", group * LISTED + entry), shares)
        cannot = (origin == _NARROWED) & (narrower[listed] < 0)
        entry = np.where(cannot, (entry + 1) % LISTED, entry)
    number = group * LISTED + entry
    listed = chosen(draws.at("listed template", number), shares)
    origin[(origin == _NARROWED) & (narrower[listed] < 0)] = _SHARED
    own = chosen(draws.words("own template", count), shares)
    own[: len(TEMPLATES)] = np.arange(len(TEMPLATES))[:count]
    return origin, number, np.where(origin == _OWN, own, np.where(origin == _NARROWED, narrower[listed], listed))


def _lives(campus: Campus, draws: Draws) -> tuple[Codes, Codes]:
    """The round before which each subscription is made, and the one after which it is taken back."""
    count, last = campus.size.subscriptions, campus.size.rounds - 1
    is_early = draws.below("from the beginning", 100, count) < _FROM_BEGINNING
    begins = np.where(is_early, 0, 1 + draws.below("begins", last, count))
    stays = (draws.below("leaves", 100, count) >= _LEAVE) | (begins == last)
    leaves = begins + below(draws.words("ends", count), last + 1) % np.maximum(last - begins, 1)
    return begins, np.where(stays, last, leaves)


def _inherited(template: Template) -> tuple[str, ...]:
    """The parameters that a template has from the one that it narrows."""
    return next((other.parameters for other in TEMPLATES if other.narrower == template.name), template.parameters)


def _near(people: People, draws: Draws, campus: Campus, template: Template, kind: str, group: Codes, number: Codes) -> Codes:
    """What is near to a group, as an entry of its list has it."""
    words = draws.at(f"near {kind}", number)
    match kind:
        case "team":
            return campus.first("team") + group
        case "floor":
            return campus.first("floor") + group % campus.counts["floor"]
        case "project":
            return campus.first("project") + group % campus.counts["project"]
        case "room":
            return campus.first("room") + people.home_rooms(group, words)
        case "person":
            return campus.first("person") + people.members(group, words)
        case "low" | "high":
            return _bounds(template, kind, draws.at("near bound", number), campus)
        case _:
            return campus.first(kind) + people.popular[kind].ranks(words)


def _personal(people: People, draws: Draws, campus: Campus, template: Template, kind: str, numbers: Codes) -> Codes:
    """What somebody wants for itself: what is popular, most often."""
    if kind in NUMBERS:
        return _bounds(template, kind, draws.at("own bound", numbers), campus)
    return campus.first(kind) + people.popular[kind].ranks(draws.at(f"own {kind}", numbers))


def _bounds(template: Template, kind: str, words: NDArray[np.uint64], campus: Campus) -> Codes:
    if template.name == "warm-rooms":
        return _WARM + below(words, _WARM_RANGE)
    low = _COLDEST + below(words, _BAND_RANGE)
    return low if kind == "low" else low + max(2, _BAND_RANGE * _IN_BAND // campus.counts["sensor"])


def _close_bounds(template: Codes, origin: Codes, parameters: NDArray[np.int64]) -> None:
    """Of a template that narrows itself by its bound."""
    number = NUMBERED["warm-rooms"]
    mine = (template == number) & (origin == _NARROWED)
    parameters[mine, TEMPLATES[number].parameters.index("low")] += _CLOSER


def lines(campus: Campus, subscriptions: Subscriptions) -> Iterator[Line]:
    """Each of them as its line."""
    names = ("user", "group", "template", "parameters", "origin", "begins", "ends")
    columns = [getattr(subscriptions, name).tolist() for name in names]
    texts: dict[tuple[int, ...], tuple[Asked, str, str]] = {}
    for number, (user, group, template, parameters, origin, begins, ends) in enumerate(zip(*columns, strict=True)):
        known = texts.get((template, *parameters))
        if known is None:
            if len(texts) >= 100_000:  # what is not there is only made again
                texts.clear()
            kind = TEMPLATES[template]
            values = {
                name: integer(value) if name in NUMBERS else campus.text(value)
                for name, value in zip(kind.parameters, parameters, strict=False)
            }
            asked = filled(kind, values)
            known = texts[(template, *parameters)] = (asked, sparql(asked), script(asked))
        asked, as_sparql, as_script = known
        yield Line(
            number, f"user{user}", f"team{group}", TEMPLATES[template].name, ORIGINS[origin], begins, ends,
            as_sparql, as_script, asked,
        )  # fmt: skip
