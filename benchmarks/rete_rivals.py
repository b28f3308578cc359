"""The matching workload, and two other matchers that it is run on: CLIPS through clipspy, and py_rete.

Facts are inserted one by one while N standing queries ``?f director ?d . ?f starring A . ?d bornIn C`` are matched incrementally,
as in the project's notes on matching. An engine gets a time budget and is stopped at its end; the outcome says how far it came.
``pip install 'gsg-router[bench]'`` (or ``make bench``) installs the two. Open next: rete.py, which prints the table.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

Triple: TypeAlias = tuple[str, str, str]
Query: TypeAlias = tuple[str, str]
"""The actor A and the city C of one query."""

ACTORS, CITIES = 5_000, 50

_STARRING_EACH = (1, 2, 3, 4, 5)
"""Leading actors of a film: three on average, so that a film is four triples."""

_FILMS_PER_DIRECTOR = 8

_CHECK_EVERY = 64
"""Inserts between two looks at the clock, which would otherwise cost as much as the faster engines' insert."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one engine did within its budget."""

    engine: str
    queries: int
    added: int
    """Queries added before the budget ended."""
    setup_s: float
    """Seconds to add them, not part of the mean."""
    inserted: int
    """Triples inserted before the budget ended."""
    mean_us: float
    """Microseconds per insert, mean over those inserted; not a number when there were none."""
    rows: int
    """Rows held at the end."""
    finished: bool
    """Whether all triples were inserted; if not, the mean is that of the cheap beginning."""


def workload(n_queries: int, n_triples: int = 100_000, seed: int = 1) -> tuple[list[Query], list[Triple]]:
    """Distinct queries and distinct triples, the same for the same arguments.

    Films have one director and one to five actors, directors one city of birth. The triples come in random order, so that any of a
    row's three may complete it. A query has about 0.3 rows when all 100,000 triples are in.
    """
    if not 0 <= n_queries <= ACTORS * CITIES:
        raise ValueError(f"{n_queries} queries; expected 0 to {ACTORS * CITIES}, since each has its own pair of actor and city")
    rng = random.Random(seed)
    pairs = rng.sample(range(ACTORS * CITIES), n_queries)
    queries = [(f"actor{pair // CITIES}", f"city{pair % CITIES}") for pair in pairs]

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
    return queries, triples


def expected_rows(queries: Sequence[Query], triples: Sequence[Triple]) -> int:
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
    return sum(city_of.get(director_of.get(film, "")) == city for actor, city in queries for film in films_of[actor])


def run_clips(queries: Sequence[Query], triples: Sequence[Triple], budget_s: float, *, selective_first: bool = True) -> Outcome:
    """CLIPS 6.4 through clipspy: a deftemplate of three slots and a defrule per query; rows are its activations.

    ``selective_first`` writes the pattern with the actor first, which CLIPS does not find out by itself.
    Raises ModuleNotFoundError without clipspy.
    """
    import clips  # type: ignore[import-untyped]  # it has no annotations

    environment = clips.Environment()
    environment.build("(deftemplate t (slot s (type SYMBOL)) (slot p (type SYMBOL)) (slot o (type SYMBOL)))")
    template = environment.find_template("t")
    symbol = clips.Symbol

    def add(number: int, query: Query) -> None:
        actor, city = query
        patterns = _ordered(
            "(t (s ?f) (p director) (o ?d))",
            f"(t (s ?f) (p starring) (o {actor}))",
            f"(t (s ?d) (p bornIn) (o {city}))",
            selective_first=selective_first,
        )
        environment.build(f"(defrule q{number} {' '.join(patterns)} => )")

    def insert(triple: Triple) -> None:
        subject, predicate, value = triple
        template.assert_fact(s=symbol(subject), p=symbol(predicate), o=symbol(value))

    name = "CLIPS" if selective_first else "CLIPS, as written"
    return _run(name, queries, triples, budget_s, add, insert, lambda: sum(1 for _ in environment.activations()))


class _Distinct(list[object]):
    """A list that looks for nothing: membership of what is known to be new."""

    def __contains__(self, item: object) -> bool:
        return False


def run_py_rete(
    queries: Sequence[Query],
    triples: Sequence[Triple],
    budget_s: float,
    *,
    selective_first: bool = True,
    duplicate_check: bool = False,
) -> Outcome:
    """py_rete 0.0.6: a production per query; rows are the tokens in the production nodes.

    Its joins compare every token with every fact of a memory, so the cost of an insert rises with both N and the facts so far.
    The triples are distinct, so its search of every memory for a duplicate, which costs more than all else when N is small, is left
    out unless ``duplicate_check`` asks for the engine as published. Raises ModuleNotFoundError without py-rete.
    """
    from py_rete.common import WME, Has, Rule  # type: ignore[import-untyped]  # it has no annotations
    from py_rete.network import Network  # type: ignore[import-untyped]  # as above

    network = Network()
    productions = []

    def add(_: int, query: Query) -> None:
        actor, city = query
        conditions = _ordered(
            Has("$f", "director", "$d"),
            Has("$f", "starring", actor),
            Has("$d", "bornIn", city),
            selective_first=selective_first,
        )
        productions.append(network.add_production(Rule(*conditions)))
        if not duplicate_check:
            trust(network.alpha_root)

    def trust(node: Any) -> None:  # Any: py_rete has no annotations
        if node.amem is not None and not isinstance(node.amem.items, _Distinct):
            node.amem.items = _Distinct(node.amem.items)
        # Conditions of one query add at most one child each, and at the end.
        for child in node.children[-3:]:
            trust(child)

    def insert(triple: Triple) -> None:
        network.add_wme(WME(*triple))

    name = "py_rete" if selective_first else "py_rete, as written"
    if duplicate_check:
        name += ", with its search for duplicates"
    return _run(name, queries, triples, budget_s, add, insert, lambda: sum(len(node.items) for node in productions))


_Pattern = TypeVar("_Pattern")


def _ordered(
    director: _Pattern, starring: _Pattern, born: _Pattern, *, selective_first: bool
) -> tuple[_Pattern, _Pattern, _Pattern]:
    return (starring, director, born) if selective_first else (director, starring, born)


def _run(
    engine: str,
    queries: Sequence[Query],
    triples: Sequence[Triple],
    budget_s: float,
    add: Callable[[int, Query], None],
    insert: Callable[[Triple], None],
    rows: Callable[[], int],
) -> Outcome:
    """Adds all queries, then inserts triples one by one, until done or out of time."""
    clock = time.perf_counter
    started = clock()
    added = 0
    for query in queries:
        if clock() - started > budget_s:
            break
        add(added, query)
        added += 1
    setup_s = clock() - started

    inserted = 0
    begun = clock()
    deadline = started + budget_s
    while added == len(queries) and inserted < len(triples) and clock() < deadline:
        for triple in triples[inserted : inserted + _CHECK_EVERY]:
            insert(triple)
            inserted += 1
    spent_s = clock() - begun
    return Outcome(
        engine=engine,
        queries=len(queries),
        added=added,
        setup_s=setup_s,
        inserted=inserted,
        mean_us=spent_s / inserted * 1e6 if inserted else float("nan"),
        rows=rows(),
        finished=inserted == len(triples),
    )
