"""Very many like queries in one space: what a tuple costs that none of them matches, and one that ten match; adding, dropping.

    .venv/bin/python -m benchmarks.scale [--n 1,100,10000] [--only threshold,prefix] [--tuples 4000] [--quick] [--json]

The queries of a kind differ in constants: thresholds, ranges, dates, texts, lists, joins, and one of each operator. A tuple is
inserted and retracted again; its cost is half of both. Beside them, in the same run, the naive way, which is to try N closures one
by one, and for thresholds a sorted list of bounds with bisect. Each answer is counted: where a tuple reaches another number of
queries than it should, the run ends with status 1. Where clipspy is installed (extra ``bench``), CLIPS has the thresholds and the
ranges as rules, and the same tuples.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec

import gsg
from benchmarks.machine import machine
from gsg.tuples.terms import XSD, literal

WANTED_NONE = 3.0
"""A tuple that matches none of many, to one that does not match the only one; of CONTAINS ten."""
WANTED_CONTAINS = 10.0
WANTED_ADD_S = 1.0
"""For 10,000."""
SOME = 10
"""Queries that a tuple matches."""
NAIVE_TUPLES = 50
"""As many are tried in the naive way."""
CLIPS_TUPLES = 400
MOST_RULES = 10_000
"""That CLIPS is given: it looks at each of them for each tuple."""
XSD_DATE = XSD + "date"

Items = tuple[object, ...]


@dataclass(frozen=True)
class Kind:
    """Queries that differ in a number, tuples that match none of them, and tuples that match the first ten."""

    name: str
    text: Callable[[int], str]
    none: Callable[[int], Items]
    some: Callable[[int], Items]
    naive: Callable[[int], Callable[[Items], bool]] | None = None
    facts: tuple[Items, ...] = ()
    """What is there before."""
    language: str = "gsg"
    clips: Callable[[int], str] | None = None
    """What a rule of CLIPS says of a value ``?v``."""


def _date(day: int) -> object:
    return literal(f"{1000 + day // 336:04}-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}", XSD_DATE)


def _symbols(*names: object) -> Items:
    return tuple(gsg.Symbol(name) if isinstance(name, str) else name for name in names)


KINDS = [
    Kind(
        "threshold",
        lambda n: f"(temp, kitchen, ?t) FILTER ?t > {1_000 + n}",
        lambda i: _symbols("temp", "kitchen", i % 1_000),
        lambda i: _symbols("temp", "kitchen", 1_000 + SOME),
        lambda n: lambda items: type(items[2]) is int and items[2] > 1_000 + n,
        clips=lambda n: f"(> ?v {1_000 + n})",
    ),
    Kind(
        "range",
        lambda n: f"(temp, kitchen, ?t) FILTER ?t >= {10 * n} && ?t < {10 * n + 100}",
        lambda i: _symbols("temp", "kitchen", -1 - i),
        lambda i: _symbols("temp", "kitchen", 10 * SOME - 5),
        lambda n: lambda items: type(items[2]) is int and 10 * n <= items[2] < 10 * n + 100,
        clips=lambda n: f"(<= {10 * n} ?v)&:(< ?v {10 * n + 100})",
    ),
    Kind(
        "date",
        lambda n: f'(seen, kitchen, ?t) FILTER ?t > "{_date(n)}"^^<{XSD_DATE}>',
        lambda i: (*_symbols("seen", "kitchen"), literal(f"0{i % 900 + 100}-01-01", XSD_DATE)),
        lambda i: (*_symbols("seen", "kitchen"), _date(SOME)),
    ),
    Kind(
        "prefix",
        lambda n: f'(name, kitchen, ?t) FILTER STRSTARTS(?t, "p{n // SOME}-")',
        lambda i: (*_symbols("name", "kitchen"), f"q{i}-x"),
        lambda i: (*_symbols("name", "kitchen"), "p0-x"),
        lambda n: lambda items: type(items[2]) is str and items[2].startswith(f"p{n // SOME}-"),
    ),
    Kind(
        "contains",
        lambda n: f'(name, kitchen, ?t) FILTER CONTAINS(?t, "part{n // SOME:05}")',
        lambda i: (*_symbols("name", "kitchen"), f"a text without a p.rt of {i}"),
        lambda i: (*_symbols("name", "kitchen"), f"a text with part00000 in {i}"),
        lambda n: lambda items: type(items[2]) is str and f"part{n // SOME:05}" in items[2],
    ),
    Kind(
        "in",
        lambda n: f"(temp, kitchen, ?t) FILTER ?t IN ({n // SOME}, {-1 - n // SOME})",
        lambda i: _symbols("temp", "kitchen", 1_000_000 + i),
        lambda i: _symbols("temp", "kitchen", 0),
        lambda n: lambda items: items[2] in (n // SOME, -1 - n // SOME),
    ),
    Kind(
        "join",
        lambda n: f"(?r, is, kitchen), (temp, ?r, ?t) FILTER ?t > {1_000 + n}",
        lambda i: _symbols("temp", "r", i % 1_000),
        lambda i: _symbols("temp", "r", 1_000 + SOME),
        facts=(_symbols("r", "is", "kitchen"),),
    ),
    Kind(
        "optional",
        lambda n: f"(?f, by, a{n // SOME}) OPTIONAL {{ (?f, title, ?t) }}",
        lambda i: _symbols(f"f{i}", "by", "nobody"),
        lambda i: _symbols(f"f{i}", "by", "a0"),
    ),
    Kind(
        "union",
        lambda n: f"{{ (?f, by, a{n // SOME}) }} UNION {{ (?f, with, a{n // SOME}) }}",
        lambda i: _symbols(f"f{i}", "by", "nobody"),
        lambda i: _symbols(f"f{i}", "by", "a0"),
    ),
    Kind(
        "not",
        lambda n: f"(?f, by, a{n // SOME}), NOT {{ (?f, is, old) }}",
        lambda i: _symbols(f"f{i}", "by", "nobody"),
        lambda i: _symbols(f"f{i}", "by", "a0"),
    ),
    Kind(
        "count",
        lambda n: f"SUBSCRIBE COUNT(?f) AS ?n {{ (?f, by, a{n // SOME}) }}",
        lambda i: _symbols(f"f{i}", "by", "nobody"),
        lambda i: _symbols(f"f{i}", "by", "a0"),
    ),
    Kind(
        "having",
        lambda n: f"SUBSCRIBE SUM(?t) AS ?s {{ (temp, kitchen, ?t) }} HAVING ?s > {1_000 + n}",
        lambda i: _symbols("temp", "kitchen", i % 1_000),
        lambda i: _symbols("temp", "kitchen", 1_000 + SOME),
    ),
    Kind(
        "slice",
        lambda n: f"SUBSCRIBE ?f {{ (?f, by, a{n // SOME}) }} ORDER BY ?f LIMIT 3",
        lambda i: _symbols(f"f{i}", "by", "nobody"),
        lambda i: _symbols(f"f{i}", "by", "a0"),
    ),
    Kind(
        "path",
        lambda n: f"SELECT ?f {{ ?f <urn:part>+ <urn:a{n // SOME}> }}",
        lambda i: (gsg.IRI(f"urn:f{i}"), gsg.IRI("urn:part"), gsg.IRI("urn:nothing")),
        lambda i: (gsg.IRI(f"urn:f{i}"), gsg.IRI("urn:part"), gsg.IRI("urn:a0")),
        language="sparql",
    ),
]


@dataclass
class Figure:
    """What N queries of one kind came to."""

    kind: str
    queries: int
    none_us: float
    """A tuple that matches none."""
    some: int
    """How many the other tuple matches."""
    some_us: float
    """What that one costs."""
    add_s: float
    drop_s: float
    naive_us: float | None
    bisect_us: float | None
    clips_us: float | None
    clips_add_s: float | None
    wrong: int


def measured(kind: Kind, number: int, tuples: int) -> Figure:
    """Add the queries, try tuples on them, and drop them."""
    gc.collect()
    space = gsg.Space()
    space.insert(kind.facts)
    reached = 0

    def hear(sign: gsg.Sign, row: gsg.Row) -> None:
        nonlocal reached
        reached += 1

    began_s = time.perf_counter()
    live = [space.subscribe(kind.text(n), kind.language, hear) for n in range(number)]
    add_s = time.perf_counter() - began_s
    reached = 0
    none_us = per_tuple_us(space, [kind.none(i) for i in range(tuples)])
    wrong = reached
    some, times = min(SOME, number), max(1, tuples // SOME)
    some_us = per_tuple_us(space, [kind.some(i) for i in range(times)])
    if kind.name == "count":
        wrong += reached != 4 * some * times  # a row goes and another comes, twice
    else:
        wrong += reached != 2 * some * times
    began_s = time.perf_counter()
    for subscription in live:
        subscription.close()
    drop_s = time.perf_counter() - began_s
    naive_us = bisect_us = clips_us = clips_add_s = None
    if kind.naive is not None:
        closures = [kind.naive(n) for n in range(number)]
        naive_us = _naive_us(closures, [kind.none(i) for i in range(min(tuples, NAIVE_TUPLES))])
    if kind.name == "threshold":
        bisect_us = _bisect_us(number, tuples)
    if kind.clips is not None and number <= MOST_RULES and find_spec("clips") is not None:
        clips_us, clips_add_s = _clips(kind.clips, number, [kind.none(i) for i in range(min(tuples, CLIPS_TUPLES))])
    return Figure(kind.name, number, none_us, some, some_us, add_s, drop_s, naive_us, bisect_us, clips_us, clips_add_s, wrong)


def per_tuple_us(space: gsg.Space, tuples: list[Items]) -> float:
    """Each inserted and retracted again."""
    began_s = time.perf_counter()
    for items in tuples:
        space.insert([items])
        space.retract([items])
    return (time.perf_counter() - began_s) / (2 * len(tuples)) * 1e6


def _naive_us(closures: list[Callable[[Items], bool]], tuples: list[Items]) -> float:
    began_s = time.perf_counter()
    for items in tuples:
        for holds in closures:
            if holds(items):
                raise AssertionError("it matches none")
    return (time.perf_counter() - began_s) / len(tuples) * 1e6


def _clips(test: Callable[[int], str], number: int, tuples: list[Items]) -> tuple[float, float]:
    """What a tuple costs that none of so many rules matches, in microseconds, and how long adding the rules took, in seconds."""
    import clips

    environment = clips.Environment()
    environment.build("(deftemplate t (slot s (type SYMBOL)) (slot p (type SYMBOL)) (slot v (type NUMBER)))")
    began_s = time.perf_counter()
    for n in range(number):
        environment.build(f"(defrule q{n} (t (s temp) (p kitchen) (v ?v&:{test(n)})) => )")
    add_s = time.perf_counter() - began_s
    template, temp, kitchen = environment.find_template("t"), clips.Symbol("temp"), clips.Symbol("kitchen")
    began_s = time.perf_counter()
    for items in tuples:
        template.assert_fact(s=temp, p=kitchen, v=items[2]).retract()
    took_s = time.perf_counter() - began_s
    if any(True for _ in environment.activations()):
        raise AssertionError("it matches none")
    return took_s / (2 * len(tuples)) * 1e6, add_s


def _bisect_us(number: int, tuples: int) -> float:
    bounds = [1_000 + n for n in range(number)]
    facts: set[Items] = set()
    began_s = time.perf_counter()
    for i in range(tuples):
        items = "temp", "kitchen", i % 1_000
        facts.add(items)
        bounds[: bisect_left(bounds, items[2])]
        facts.discard(items)
    return (time.perf_counter() - began_s) / (2 * tuples) * 1e6


def show(figures: list[Figure]) -> Iterator[str]:
    """Lines for people, all N of one kind together."""
    first = figures[0]
    for figure in figures:
        ratio = figure.none_us / first.none_us
        wanted = WANTED_CONTAINS if figure.kind == "contains" else WANTED_NONE
        marks = [] if ratio <= wanted else [f"more than {wanted:g} times that of {first.queries}"]
        if figure.queries == 10_000:
            marks += [f"{what} takes more than {WANTED_ADD_S:g} s" for what, took_s in took(figure) if took_s > WANTED_ADD_S]
        beside = "" if figure.naive_us is None else f"  one by one {figure.naive_us:9,.1f} µs"
        beside += "" if figure.clips_us is None else f"  CLIPS {figure.clips_us:.1f} µs, add {figure.clips_add_s:.3f} s"
        beside += "" if figure.bisect_us is None else f"  bisect {figure.bisect_us:.2f} µs"
        yield (
            f"{figure.kind:10} {figure.queries:7,}  none {figure.none_us:8.1f} µs ({ratio:6.1f})  {figure.some:2} match "
            f"{figure.some_us:8.1f} µs  add {figure.add_s:7.3f} s  drop {figure.drop_s:7.3f} s{beside}"
            + (f"  MISSED: {', '.join(marks)}" if marks else "")
        )


def took(figure: Figure) -> list[tuple[str, float]]:
    """What takes its time once."""
    return [("adding", figure.add_s), ("dropping", figure.drop_s)]


def main() -> int:
    """Status 1 where an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", default="1,100,10000", help="numbers of queries (default: 1,100,10000)")
    parser.add_argument("--only", default="", help=f"kinds, of {', '.join(kind.name for kind in KINDS)} (default: all)")
    parser.add_argument("--tuples", type=int, default=4_000, help="tuples that match none (default: 4,000)")
    parser.add_argument("--quick", action="store_true", help="few queries and tuples: does it work at all?")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    options = parser.parse_args()
    numbers = [1, 30] if options.quick else [int(number) for number in options.n.split(",")]
    names = options.only.split(",") if options.only else [kind.name for kind in KINDS]
    if unknown := set(names) - {kind.name for kind in KINDS}:
        parser.error(f"--only: there is no kind {min(unknown)!r}")
    gsg.shorten_collections()
    if not options.json:
        print(machine())
    found: list[Figure] = []
    for kind in KINDS:
        if kind.name in names:
            figures = [measured(kind, number, 40 if options.quick else options.tuples) for number in numbers]
            found += figures
            if not options.json:
                print(*show(figures), sep="\n", flush=True)
    if options.json:
        print(json.dumps({"machine": machine(), "figures": [asdict(figure) for figure in found]}, indent=2))
    wrong = [figure for figure in found if figure.wrong]
    for figure in wrong:
        print(f"wrong: {figure.kind} at {figure.queries:,} queries", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
