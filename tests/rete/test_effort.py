"""What a query may look at is bounded, whatever it asks: it ends alone, after a number of steps that can be told before."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import pytest
from naive_algebra import By, Copy, Count, Equals, Least
from notation import basic, condition, group, none_of
from world import World

import rete
from rete import Network, activation, effort
from rete import algebra as a
from rete.effort import steps_each
from rete.predicates import Between, Requirement

CAP = 300
LEAST = 200
CALLS = 100 * (CAP + LEAST)
"""Functions of the matcher that one transaction may call, taking away what has ended included. A product of three of these facts
would be 64,000 tokens, each some calls, where nothing bounds it."""

P = [f"a{number} p {number}" for number in range(40)]
Q = [f"b{number} q {number}" for number in range(40)]
EDGES = [f"{one} k {other}" for one in "stuvwxyz" for other in "stuvwxyz" if one != other]
HOT = [f"c{number} in club" for number in range(40)]
FACTS = P + Q + EDGES + HOT


@dataclass(frozen=True)
class Costly:
    """A test that takes as long as a hundred that compare two names, and holds for everything."""

    names: tuple[str, ...]
    steps: int = 100

    def __call__(self, values: tuple[str, ...]) -> bool:
        return True


@dataclass(frozen=True)
class Never:
    """A test that reads of several conditions, and holds for nothing."""

    names: tuple[str, ...]

    def __call__(self, values: tuple[str, ...]) -> bool:
        return False


def never(*names: str) -> Never:
    return Never(names)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "STEPS_PER_TOKEN", 0)
    monkeypatch.setattr(effort, "LEAST", LEAST)
    monkeypatch.setattr(effort, "UNASKED", 16)
    monkeypatch.setattr(activation, "MANY_WAIT", 8)


class Calls:
    """How many functions of the matcher were called, at most, in one of several times."""

    def __init__(self) -> None:
        self.most = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        calls = 0

        def called(frame: FrameType, event: str, _: object) -> None:
            nonlocal calls
            if event == "call" and "/rete/" in frame.f_code.co_filename:
                calls += 1

        sys.setprofile(called)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.most = max(self.most, calls)


class Held(World):
    """A world that hears of queries that end."""

    def __init__(self, *facts: str) -> None:
        self.ended: list[rete.TooManyTokens] = []
        super().__init__(*facts)
        self.network = rete.Network(self.facts_of, self.count_of, on_end=lambda _, why: self.ended.append(why))

    def query(self, tree: a.Algebra | rete.Group, listener: Callable[[list[tuple[tuple[str, ...], int]]], None]) -> rete.Production:
        if isinstance(tree, rete.Group):
            return self.network.subscribe(tree, tree.variables(), listener, max_tokens=CAP)
        return self.network.subscribe_algebra(tree, ("x", "a"), listener, max_tokens=CAP)


def pair(one: str = "?a p ?x", other: str = "?b q ?y") -> a.Algebra:
    return basic(one, other)


A, B = a.Distinct(basic("?a p ?x")), a.Distinct(basic("?b q ?y"))
FRUITLESS: dict[str, a.Algebra | rete.Group] = {
    "a product that a filter throws away": a.Filter(pair(), never("x", "y")),
    "a product of streams": a.Filter(a.Join(a.Distinct(basic("?a p ?x")), a.Distinct(basic("?b q ?y"))), never("x", "y")),
    "a product in an optional": a.LeftJoin(
        a.Distinct(basic("?a p ?x")), a.Slice(basic("?b q ?y"), None, 0, 1_000), never("x", "y")
    ),
    "an optional by demand": a.LeftJoin(basic("?a p ?x"), basic("?b q ?y", "?c in club"), Equals("y", "nothing")),
    "a group of a product": a.Grouped(basic("?a p ?x", "?b q ?y", "?c in club"), (), (("n", Count()),)),
    "one row of a product": a.Distinct(a.Project(basic("?a p ?x", "?b q ?y", "?c in club"), ())),
    "a negated group": group("?a p ?x", none_of("?b q ?y", "?c in club")),
    "exists": a.Exists(basic("?a p ?x"), a.Filter(basic("?b q ?y", "?c in club"), never("b", "c"))),
    "minus": a.Minus(basic("?a p ?x"), a.Filter(basic("?a p ?x", "?b q ?y", "?c in club"), never("x", "y", "c"))),
    "a hot key": a.Filter(basic("?a in ?x", "?b in ?x", "?c in ?x"), never("a", "b", "c")),
    "both sides of a union": a.Filter(
        a.Join(a.Union(basic("?a p ?x"), basic("?a q ?x")), a.Distinct(basic("?b k ?y"))), never("x", "y")
    ),
    "a closure": a.Path(rete.Variable("x"), a.Closure(a.Link("k"), True, True), rete.Variable("a")),
    "a closure of closures": a.Path(
        rete.Variable("x"),
        a.Steps(a.Closure(a.Link("k"), False, True), a.Closure(a.Link("k"), False, True)),
        rete.Variable("a"),
    ),
    "values": a.Filter(a.Join(basic("?a p ?x"), a.Values(("y",), tuple((str(number),) for number in range(40)))), never("x", "y")),
    "copies": a.Filter(a.Numbered(a.Project(basic("?a p ?x", "?b q ?y", "?c in club"), ("x",)), "n"), never("n")),
    "the last of a product": a.Slice(a.Filter(basic("?a p ?x", "?b q ?y", "?c in club"), never("x", "y", "c")), By(("x",)), 0, 3),
}


@pytest.mark.parametrize("name", FRUITLESS)
def test_a_query_that_looks_at_much_for_nothing_ends_whether_facts_are_there_or_come(name: str) -> None:
    tree, calls = FRUITLESS[name], Calls()
    there, coming = Held(*FACTS), Held()
    neighbours = [world.watch(basic("?a p ?x")) for world in (there, coming)]

    with pytest.raises(rete.TooManyTokens), calls.counted():
        there.query(tree, lambda _: None)
    with calls.counted():
        coming.query(tree, lambda _: None)
    with calls.counted():
        coming.insert(*FACTS)

    assert len(coming.ended) == 1
    assert calls.most < CALLS
    for watch, world in zip(neighbours, (there, coming), strict=True):
        assert watch.held == watch.production.rows() == Counter({(text.split()[0], text.split()[2]): 1 for text in P})
        world.unwatch(watch)
        assert world.network.is_empty


def test_an_event_and_its_end_in_a_window_are_bounded_too() -> None:
    calls, world = Calls(), Held(*P, *Q)
    window = rete.Condition((rete.Variable("e"), "is", rete.Variable("z")), rete.Window(seconds=10.0))
    listening = world.network.subscribe_algebra(
        a.Filter(a.Basic((window, condition("?b q ?y"))), never("e", "y")), ("e",), lambda _: None, max_tokens=CAP
    )

    for number in range(40):
        with calls.counted():
            world.network.notify((f"e{number}", "is", "z"), 0.0)
    with calls.counted():
        world.network.expire(11.0)

    assert len(world.ended) == 1
    assert listening.ended
    assert calls.most < CALLS


def test_what_is_read_is_bounded_where_it_came_bit_by_bit() -> None:
    calls, world = Calls(), Held()
    production = world.query(a.Filter(pair(), never("x", "y")), lambda _: None)
    for text in (*P, *Q):
        world.insert(text)

    with pytest.raises(rete.TooManySteps), calls.counted():
        production.rows()
    with calls.counted():
        world.network.unsubscribe(production)

    assert world.ended == []
    assert calls.most < CALLS
    assert world.network.is_empty


def test_what_is_looked_at_for_its_nodes_alone_is_not_evaluated() -> None:
    calls = Calls()
    rows = tuple((str(number),) for number in range(100))
    product = a.Join(a.Join(a.Values(("x",), rows), a.Values(("y",), rows)), a.Join(a.Values(("z",), rows), basic("?a p ?z")))
    network = rete.Network(lambda _: (), is_hollow=True)

    with calls.counted():
        network.subscribe_algebra(a.Exists(product, basic("?x q ?y")), ("a",), lambda _: None)

    assert len(network.alphas()) == 2
    assert calls.most < 10_000


def test_what_grows_with_the_facts_is_not_bounded_by_them() -> None:
    world = Held()
    joined = world.watch(a.Filter(basic("?a in ?x", "?a p ?y"), Equals("x", "club")))

    world.insert(*(f"c{number} in club" for number in range(5_000)), *(f"c{number} p {number}" for number in range(5_000)))

    assert len(joined.rows) == 5_000
    held = Held(*(" ".join(items) for items in world.facts))
    production = held.network.subscribe_algebra(a.Filter(basic("?a in ?x"), never("a")), ("a",), lambda _: None, max_tokens=CAP)
    assert not production.rows()


def test_a_test_that_takes_longer_may_be_made_of_fewer_pairs() -> None:
    facts = [*P[:10], *Q[:10]]

    assert Held(*facts).query(pair(), lambda _: None).rows().total() == 100
    with pytest.raises(rete.TooManySteps):
        Held(*facts).query(a.Filter(pair(), Costly(("x", "y"))), lambda _: None)
    with pytest.raises(rete.TooManySteps):
        Held(*facts).query(a.LeftJoin(basic("?a p ?x"), basic("?b q ?y"), Costly(("x", "y"))), lambda _: None)


def test_a_test_that_takes_long_may_be_made_of_each_fact() -> None:
    world = Held(*(f"c{number} in club" for number in range(1_000)))
    tree = a.Filter(a.Filter(basic("?a in ?x"), Costly(("a",))), never("a"))

    assert not world.network.subscribe_algebra(tree, ("a",), lambda _: None, max_tokens=CAP).rows()


def tree_of(choose: random.Random, depth: int) -> a.Algebra:
    """Any query, most of which explode."""
    letters = "abcxyz"

    def leaf() -> a.Algebra:
        names = [choose.choice(letters) for _ in range(6)]
        texts = [f"?{names[at]} {choose.choice(['p', 'q', 'k', 'in'])} ?{names[at + 1]}" for at in (0, 2, 4)]
        return basic(*texts[: choose.randint(1, 3)])

    if not depth:
        return leaf()

    def inner() -> a.Algebra:
        return tree_of(choose, depth - 1)

    match choose.randrange(12):
        case 0:
            return a.Join(inner(), inner())
        case 1:
            return a.LeftJoin(inner(), inner(), choose.choice([None, never("x", "y")]))
        case 2:
            return a.Union(inner(), inner())
        case 3:
            return a.Minus(inner(), inner())
        case 4:
            return a.Exists(inner(), inner(), choose.random() < 0.5)
        case 5:
            return a.Filter(inner(), Equals(choose.choice(letters), choose.choice(["nothing", "club", "s"])))
        case 6:
            return a.Distinct(a.Project(inner(), tuple(choose.sample(letters, 2))))
        case 7:
            return a.Grouped(inner(), (choose.choice(letters),), (("n", Count()), ("least", Least("y"))))
        case 8:
            return a.Slice(inner(), By((choose.choice(letters),)), choose.randrange(3), choose.randrange(1, 30))
        case 9:
            return a.Extend(inner(), "sum", Copy(("x", "y")))
        case 10:
            ends = rete.Variable(choose.choice(letters)), rete.Variable(choose.choice(letters))
            return a.Join(inner(), a.Path(ends[0], a.Closure(a.Link("k"), choose.random() < 0.5, True), ends[1]))
        case _:
            return a.Numbered(inner(), "number")


@pytest.mark.parametrize("part", range(10))
def test_each_of_a_thousand_queries_ends_in_time_or_is_right(part: int) -> None:
    calls = Calls()
    for seed in range(part * 100, part * 100 + 100):
        choose = random.Random(seed)
        tree = tree_of(choose, choose.randrange(4))
        facts = choose.sample(FACTS, 50)
        there, coming = Held(*facts), Held()
        neighbour = coming.watch(basic("?a p ?x", "?b q ?y"))
        first: rete.Production | None = None
        try:
            with calls.counted():
                first = there.query(tree, lambda _: None)
        except rete.TooManyTokens:
            pass
        except rete.BadQuery:
            continue
        told: Counter[tuple[str, ...]] = Counter()
        with calls.counted():
            production = coming.query(tree, lambda changes, told=told: told.update(dict(changes)))  # type: ignore[misc]  # bound now
        told.update(production.rows())
        for at in range(0, 50, 25):
            with calls.counted():
                coming.insert(*facts[at : at + 25])
        if not production.ended and first is not None:
            assert +told == first.rows() == production.rows(), seed
        with calls.counted():
            coming.retract(*facts)
        assert production.ended or +told == first_of_nothing(tree), seed
        assert neighbour.held == Counter(), seed
        for world, one in ((there, first), (coming, production)):
            if one is not None:
                with calls.counted():
                    world.network.unsubscribe(one)
        coming.unwatch(neighbour)
        assert there.network.is_empty, seed
        assert coming.network.is_empty, seed
        assert calls.most < CALLS, seed


def first_of_nothing(tree: a.Algebra) -> Counter[tuple[str, ...]]:
    """The rows of a query where there are no facts."""
    return +Held().query(tree, lambda _: None).rows()


def entered(world: World, tree: a.Algebra, at_once: int) -> rete.Production:
    return world.network.subscribe_algebra(tree, ("x", "a"), lambda _: None, at_once=at_once)


@pytest.mark.parametrize("part", range(5))
def test_what_takes_longer_than_somebody_waits_is_left_and_leaves_nothing(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "LEAST", 1_000_000)
    left = 0
    for seed in range(part * 100, part * 100 + 100):
        choose = random.Random(seed)
        tree = tree_of(choose, choose.randrange(4))
        world = Held(*choose.sample(FACTS, 50))
        neighbour = world.watch(basic("?a p ?x", "?b q ?y"))
        before = neighbour.rows
        try:
            whole = entered(world, tree, rete.UNLIMITED)
        except rete.BadQuery:
            continue
        rows = whole.rows()
        world.network.unsubscribe(whole)

        try:
            production = entered(world, tree, choose.choice((0, 10, 100, 1_000)))
        except rete.TakesLong:
            left += 1
        else:
            assert production.rows() == rows, seed
            world.network.unsubscribe(production)

        assert entered(world, tree, rete.UNLIMITED).rows() == rows, seed
        assert neighbour.rows == before, seed
    assert left > 20


def test_facts_that_are_entered_in_an_index_take_time_and_those_that_are_there_take_none() -> None:
    world = Held(*P)
    tree = basic("c0 in ?x", "?a p ?x")

    with pytest.raises(rete.TakesLong):
        entered(world, tree, len(P) - 1)
    assert world.network.is_empty
    first = entered(world, tree, len(P))
    second = entered(world, basic("c1 in ?x", "?a p ?x"), 0)

    assert not first.rows()
    assert not second.rows()


class Abandoning:
    """A test in the middle of which nobody waits any more."""

    def __init__(self, world: World) -> None:
        self.names = ("x", "y")
        self._world = world
        self.calls = 0

    def __call__(self, values: tuple[str, ...]) -> bool:
        self.calls += 1
        self._world.network.abandon()
        return True


def test_a_query_that_is_abandoned_is_left_at_the_next_steps() -> None:
    world = Held(*P, *Q)
    test = Abandoning(world)

    with pytest.raises(rete.TakesLong):
        world.network.subscribe_algebra(a.Filter(pair(), test), ("x", "a"), lambda _: None)

    assert test.calls == len(Q)
    assert world.network.is_empty
    world.network.abandon()  # there is none
    assert len(entered(world, basic("?a p ?x"), rete.UNLIMITED).rows()) == len(P)


def test_tests_that_are_looked_up_are_no_steps_of_every_token() -> None:
    facts = [("q", "x", number) for number in range(20)]
    network = Network(lambda alpha: filter(alpha.template.matches, facts))
    conditions = a.LeftJoin(basic("p ?x"), basic("q ?x ?z"))
    one = network.subscribe(a.Filter(conditions, Above("z", 1_000)), ("z",), lambda _: None)
    before = steps_each(one.node.parents()[0])

    for number in range(50):
        network.subscribe(a.Filter(conditions, Above("z", 2_000 + number)), ("z",), lambda _: None)

    assert steps_each(one.node.parents()[0]) == before


@dataclass(frozen=True)
class Above:
    """A test that says what it requires."""

    name: str
    bound: int

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def requires(self) -> tuple[tuple[int, Requirement], ...]:
        return ((0, (Between(number_or_none, self.bound, None),)),)

    def __call__(self, values: tuple[object, ...]) -> bool:
        return isinstance(values[0], int) and values[0] > self.bound


def number_or_none(value: object) -> int | None:
    return value if isinstance(value, int) else None
