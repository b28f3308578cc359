"""The synthetic workload: N standing queries ``?f director ?d . ?f starring A . ?d bornIn C``, and the triples that they ask for.

It is that of the project's notes on matching. Names are plain strings, and each engine writes them in its own way.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

Triple: TypeAlias = tuple[str, str, str]
Pair: TypeAlias = tuple[str, str]
"""The actor A and the city C of one query."""

Pattern: TypeAlias = tuple[str, str, str]
"""A triple with variables, which are written ``?x``."""

Patterns: TypeAlias = tuple[Pattern, ...]
"""One query: what it asks to hold together."""

ACTORS, CITIES = 5_000, 50

_STARRING_EACH = (1, 2, 3, 4, 5)
"""Leading actors of a film: three on average, so that a film is four triples."""

_FILMS_PER_DIRECTOR = 8

T = TypeVar("T")


def workload(n_queries: int, n_triples: int = 100_000, seed: int = 1) -> tuple[list[Pair], list[Triple]]:
    """Distinct queries and distinct triples, the same for the same arguments.

    Films have one director and one to five actors, directors one city of birth. The triples come in random order, so that any of a
    row's three may complete it. A query has about 0.3 rows when all 100,000 triples are in.
    """
    if not 0 <= n_queries <= ACTORS * CITIES:
        raise ValueError(f"{n_queries} queries; expected 0 to {ACTORS * CITIES}, since each has its own pair of actor and city")
    rng = random.Random(seed)
    numbers = rng.sample(range(ACTORS * CITIES), n_queries)
    pairs = [(f"actor{number // CITIES}", f"city{number % CITIES}") for number in numbers]

    triples: list[Triple] = []
    film = 0
    while len(triples) < n_triples:
        if film % _FILMS_PER_DIRECTOR == 0:
            triples.append((f"director{film // _FILMS_PER_DIRECTOR}", "bornIn", f"city{rng.randrange(CITIES)}"))
        # A director's films lie apart in time: the number is drawn from those known so far.
        triples.append((f"film{film}", "director", f"director{rng.randrange(film // _FILMS_PER_DIRECTOR + 1)}"))
        cast = rng.sample(range(ACTORS), rng.choice(_STARRING_EACH))
        triples.extend((f"film{film}", "starring", f"actor{actor}") for actor in cast)
        film += 1
    del triples[n_triples:]
    rng.shuffle(triples)
    return pairs, triples


def in_another_order(pieces: Sequence[T], seed: int = 2) -> list[T]:
    """The same, shuffled: what came first need not go first."""
    return random.Random(seed).sample(pieces, len(pieces))


def expected_rows(pairs: Sequence[Pair], triples: Sequence[Triple]) -> int:
    """How many rows the queries have together: the plain definition that engines are checked against."""
    films_of: defaultdict[str, list[str]] = defaultdict(list)
    director_of: dict[str, str] = {}
    city_of: dict[str, str] = {}
    for subject, predicate, value in triples:
        if predicate == "starring":
            films_of[value].append(subject)
        elif predicate == "director":
            director_of[subject] = value
        else:
            city_of[subject] = value
    return sum(city_of.get(director_of.get(film, "")) == city for actor, city in pairs for film in films_of[actor])


def patterns_of(pair: Pair) -> Patterns:
    """The query, in the order written: the first pattern is the one that matches most."""
    actor, city = pair
    return ("?f", "director", "?d"), ("?f", "starring", actor), ("?d", "bornIn", city)


def as_script(patterns: Patterns, write: Callable[[str], str] = lambda name: f'"{name}"') -> str:
    """The query in GSG script; ``write`` says how a constant is written."""
    return ", ".join(f"({', '.join(_terms(pattern, write))})" for pattern in patterns)


def as_sparql(patterns: Patterns, write: Callable[[str], str] = lambda name: f"<urn:{name}>") -> str:
    """The query in SPARQL. Its rows bind every variable, in order of appearance, as those of the script do."""
    groups = (" ".join(_terms(pattern, write)) for pattern in patterns)
    return f"SELECT {' '.join(variables_of(patterns))} WHERE {{ {' . '.join(groups)} }}"


def variables_of(patterns: Patterns) -> list[str]:
    """The variables, in order of appearance."""
    return list(dict.fromkeys(part for pattern in patterns for part in pattern if part.startswith("?")))


def _terms(pattern: Pattern, write: Callable[[str], str]) -> list[str]:
    return [part if part.startswith("?") else write(part) for part in pattern]


def selective_first(patterns: Patterns) -> Patterns:
    """Reordered for engines that join as written: next is the pattern with the fewest unbound variables, joined if possible."""
    left, ordered, bound = list(patterns), list[Pattern](), set[str]()
    while left:
        chosen = min(left, key=lambda pattern: (len(_variables(pattern) - bound), not _variables(pattern) & bound))
        left.remove(chosen)
        ordered.append(chosen)
        bound |= _variables(chosen)
    return tuple(ordered)


def _variables(pattern: Pattern) -> set[str]:
    return {part for part in pattern if part.startswith("?")}
