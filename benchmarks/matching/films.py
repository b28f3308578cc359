"""Real films: three-pattern queries with constants drawn from the data, and all of its triples inserted in random order.

The mix, by a seed, all queries distinct:

* two of five: all films by the director of a film with actor A, ``?f starring A . ?f directedBy ?d . ?g directedBy ?d``
* two of five: who directed actor A in year Y, ``?f starring A . ?f year Y . ?f directedBy ?d``, A and Y of one film
* one of five: other films of the cast of director D, ``?f directedBy D . ?f starring ?a . ?g starring ?a``

Every query's rows are compared with pyoxigraph's on the same triples. Its time for that is printed: what evaluating again costs.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph

import gsg
from benchmarks.shared import FILM_DATA
from gsg.tuples.terms import Tuple, n3

from .figures import Times, each_timed, tune_collector
from .memory import Weights, weigh_these
from .reevaluation import evaluate
from .rivals import Outcome, checked, run_rival
from .workload import Patterns, Triple, as_script, as_sparql, in_another_order, variables_of

MOVIES = "http://www.taotesting.com/movies.rdf#"
STARRING, DIRECTED_BY, YEAR = f"<{MOVIES}starring>", f"<{MOVIES}directedBy>", f"<{MOVIES}year>"

BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Films:
    """How much of the data is taken."""

    queries: int
    triples: int | None
    """The first so many, of all in random order; None for all."""
    budget_s: float
    """For registering the queries, and for each rival."""
    data: Path = FILM_DATA


@dataclass(frozen=True, slots=True)
class FilmFigures:
    """What one run of ours took."""

    language: str
    batch: int
    """Triples in one call."""
    queries: int
    registered: int
    """Queries that were registered before the budget ended; with fewer than all of them nothing was inserted."""
    add_us: float
    triples: int
    insertion: Times | None
    """Of a batch each."""
    retraction: Times | None
    """Of all triples, in another order."""
    rows: int
    different: int
    """Queries whose rows were not pyoxigraph's."""
    rows_left: int
    oracle_us: float
    """What pyoxigraph took for one query, in the mean."""

    @property
    def inserts_per_s(self) -> float | None:
        """Triples a second, in."""
        return None if self.insertion is None else self.triples / (self.insertion.mean_us * self.insertion.changes) * 1e6

    @property
    def retracts_per_s(self) -> float | None:
        """Triples a second, out."""
        return None if self.retraction is None else self.triples / (self.retraction.mean_us * self.retraction.changes) * 1e6

    @property
    def longest_us(self) -> float | None:
        """The longest pause that a caller saw."""
        both = [times.longest_us for times in (self.insertion, self.retraction) if times is not None]
        return max(both, default=None)


def film_triples(films: Films) -> list[Tuple]:
    """The data in random order, the same for the same arguments."""
    return in_another_order(list(gsg.load(films.data)), seed=1)[: films.triples]


def film_queries(triples: Sequence[Tuple], number: int, seed: int = 1) -> list[Patterns]:
    """The mix, over terms as N-Triples writes them; fewer where the triples do not have as many different constants."""
    written = [(n3(subject), n3(predicate), n3(value)) for subject, predicate, value in triples]
    starring = sorted((film, actor) for film, predicate, actor in written if predicate == STARRING)
    years = {film: year for film, predicate, year in sorted(written) if predicate == YEAR}
    actors = sorted({actor for _, actor in starring})
    dated = sorted({(actor, years[film]) for film, actor in starring if film in years})
    directors = sorted({director for _, predicate, director in written if predicate == DIRECTED_BY})

    rng = random.Random(seed)
    fifth = number // 5
    queries: list[Patterns] = []
    for actor in rng.sample(actors, min(2 * fifth, len(actors))):
        queries.append((("?f", STARRING, actor), ("?f", DIRECTED_BY, "?d"), ("?g", DIRECTED_BY, "?d")))
    for actor, year in rng.sample(dated, min(2 * fifth, len(dated))):
        queries.append((("?f", STARRING, actor), ("?f", YEAR, year), ("?f", DIRECTED_BY, "?d")))
    for director in rng.sample(directors, min(number - len(queries), len(directors))):
        queries.append((("?f", DIRECTED_BY, director), ("?f", STARRING, "?a"), ("?g", STARRING, "?a")))
    rng.shuffle(queries)
    return queries


def text_of(query: Patterns, language: str) -> str:
    """The query as a user writes it."""
    write = as_sparql if language == "sparql" else as_script
    return write(query, lambda term: term)


def run_films(films: Films, language: str, batch: int) -> FilmFigures:
    """The data on a space, so many triples in a call."""
    triples = film_triples(films)
    queries = film_queries(triples, films.queries)
    batches = [triples[start : start + batch] for start in range(0, len(triples), batch)]
    backwards = in_another_order(triples)
    batches_back = [backwards[start : start + batch] for start in range(0, len(triples), batch)]
    texts = [text_of(query, language) for query in queries]
    gsg.Space().subscribe(texts[0], language).close()
    tune_collector(as_peer=True)
    rows = 0

    def count(sign: gsg.Sign, row: gsg.Row) -> None:
        nonlocal rows
        rows += sign

    space = gsg.Space()
    subscriptions: list[gsg.Subscription] = []
    started = time.perf_counter()
    for text in texts:
        subscriptions.append(space.subscribe(text, language, count))
        if time.perf_counter() - started > films.budget_s:
            break
    registered = len(subscriptions)
    add_us = (time.perf_counter() - started) / registered * 1e6
    if registered < len(texts):
        return FilmFigures(language, batch, len(texts), registered, add_us, len(triples), None, None, 0, 0, 0, 0.0)

    insertion = each_timed(space.insert, batches)
    held = rows
    different, oracle_us = compare(queries, subscriptions, triples)
    retraction = each_timed(space.retract, batches_back)
    left = rows + len(space)
    return FilmFigures(
        language, batch, len(texts), registered, add_us, len(triples), insertion, retraction, held, different, left, oracle_us
    )


def compare(queries: Sequence[Patterns], subscriptions: Sequence[gsg.Subscription], triples: Sequence[Tuple]) -> tuple[int, float]:
    """How many answers are not pyoxigraph's, and its microseconds for one."""
    store = stored(triples)
    different, spent_s = 0, 0.0
    for query, subscription in zip(queries, subscriptions, strict=True):
        started = time.perf_counter()
        solutions = store.query(text_of(query, "sparql"))
        assert isinstance(solutions, pyoxigraph.QuerySolutions), "a SELECT gives solutions"
        rows = list(solutions)
        spent_s += time.perf_counter() - started
        names = [name.removeprefix("?") for name in variables_of(query)]
        theirs = Counter(tuple(str(row[name]) for name in names) for row in rows)
        ours = Counter({tuple(n3(row[name]) for name in names): times for row, times in subscription.rows().items()})
        different += ours != theirs
    return different, spent_s / len(queries) * 1e6


def stored(triples: Sequence[Tuple]) -> pyoxigraph.Store:
    """The triples in pyoxigraph."""
    store = pyoxigraph.Store()
    lines = "\n".join(f"{' '.join(map(n3, triple))} ." for triple in triples)
    store.load(lines, pyoxigraph.RdfFormat.N_TRIPLES)
    return store


def run_film_rival(films: Films, name: str) -> Outcome | None:
    """One of the rivals on the same queries and triples, whose terms are numbered: CLIPS's symbols cannot be written like IRIs."""
    triples = film_triples(films)
    queries = film_queries(triples, films.queries)
    numbers: dict[str, str] = {}

    def symbol(term: str) -> str:
        return term if term.startswith("?") else numbers.setdefault(term, f"t{len(numbers)}")

    def numbered(parts: Sequence[str]) -> Triple:
        subject, predicate, value = map(symbol, parts)
        return subject, predicate, value

    facts = [numbered([n3(term) for term in triple]) for triple in triples]
    outcome = run_rival(name, [tuple(map(numbered, query)) for query in queries], facts, films.budget_s)
    if outcome is None:
        return None
    triple_of = dict(zip(facts, triples, strict=True))
    texts = [text_of(query, "sparql") for query in queries]
    return checked(outcome, facts, lambda some: evaluate(stored([triple_of[fact] for fact in some]), texts, float("inf"))[1])


def run_film_floor(films: Films) -> Times:
    """The triples into a bare set, one by one."""
    triples = film_triples(films)
    tune_collector(as_peer=True)
    bare: set[Tuple] = set()
    return each_timed(bare.add, triples)


def weigh_films(exact: bool, films: Films) -> Weights:
    """What a query and a fact weigh here."""
    triples = film_triples(films)
    return weigh_these(exact, [text_of(query, "gsg") for query in film_queries(triples, films.queries)], triples)
