"""The engine in one process: all verbs, as a user meets them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import rdflib

import gsg
import rete
from gsg import IRI, BadQuery, BadTerm, BadText, DoorClosed, Literal, Overrun, Row, Sign, Space, Subscription, Symbol, Unsupported
from gsg.languages.query import Query

FIGURE_2 = """
SUBSCRIBE {
    (?x, ^on, ?y),
    (?y, ^left-of, ?z),
    NOT {
        (?z, ^color, red),
        (?z, ^color, green),
        (?z, ^color, blue)
    }
}

INSERT {
    (B1, ^on,B2),
    (B3, ^color,green),
    (B1, ^on,B3),
    (B1, ^color,red),
    (B7, ^color,red),
    (B2, ^on,table),
    (B2, ^left-of,B3)
}
"""

BLOCKS = Row({"x": Symbol("B1"), "y": Symbol("B2"), "z": Symbol("B3")})


@pytest.fixture
def space() -> Iterator[Space]:
    with Space() as made:
        yield made


def news(subscription: Subscription) -> list[str]:
    """The unread differences, as ``+?x=1``."""
    return [f"{sign}{row}" for sign, row in subscription]


def test_inserting_says_how_many_were_not_true_before(space: Space) -> None:
    assert space.insert([("a", 1), ("b", 2)]) == 2
    assert space.insert([("a", 1), ("c", 3), ("c", 3)]) == 1
    assert len(space) == 3


def test_retracting_says_how_many_were_true(space: Space) -> None:
    space.insert([("a", 1), ("b", 2)])

    assert space.retract([("a", 1), ("z", 0)]) == 1
    assert (("a", 1) in space, ("b", 2) in space) == (False, True)


def test_numbers_strings_and_floats_are_different_terms(space: Space) -> None:
    space.insert([("a", 1)])

    assert [("a", 1.0) in space, ("a", "1") in space, ("a", True) in space, ("a", 1) in space] == [False, False, False, True]
    assert space.insert([("a", 1.0), ("a", "1"), ("a", True)]) == 3


@pytest.mark.parametrize("verb", ["insert", "retract", "notify"])
@pytest.mark.parametrize(
    ("tuples", "problem"),
    [
        ([("a", 1), ("b", object())], "is no term; expected str, int, float"),
        ([("a", 1), ()], "a tuple of 0 terms; expected 1 to 255"),
        (("a", "b", "c"), "'a' is not a tuple; a single tuple is given as"),
        ([("a", 1), gsg.tuples.terms.Variable("x")], "is not a tuple"),
    ],
    ids=["no term", "empty", "a bare tuple", "no tuple"],
)
def test_a_mistake_in_one_tuple_applies_none(space: Space, verb: str, tuples: list[tuple[object, ...]], problem: str) -> None:
    space.insert([("b", 1)])
    subscription = space.subscribe("(?x, ?y)")
    news(subscription)

    with pytest.raises(BadTerm, match=problem):
        getattr(space, verb)(tuples)

    assert news(subscription) == []
    assert len(space) == 1


def test_figure_2_works_as_printed(space: Space) -> None:
    (subscription,) = space.run(FIGURE_2)

    assert subscription.variables == ("x", "y", "z")
    assert subscription.rows() == Counter({BLOCKS: 1})
    assert news(subscription) == ["+?x=B1 ?y=B2 ?z=B3"]


def test_the_negated_group_of_figure_2_flips_when_all_of_it_holds_and_not_before(space: Space) -> None:
    (subscription,) = space.run(FIGURE_2)
    news(subscription)

    space.run("INSERT { (B3, ^color, red) }")
    assert news(subscription) == []
    space.run("INSERT { (B3, ^color, blue) }")
    assert news(subscription) == ["-?x=B1 ?y=B2 ?z=B3"]
    space.run("DELETE { (B3, ^color, green) }")
    assert news(subscription) == ["+?x=B1 ?y=B2 ?z=B3"]
    assert subscription.rows() == Counter({BLOCKS: 1})


def test_blocks_of_a_script_are_run_in_order(space: Space) -> None:
    first, second = space.run(
        "INSERT { (a, 1) } SUBSCRIBE { (?x, 1) } DELETE { (a, 1) } INSERT { (b, 1) } NOTIFY { (c, 1) } SUBSCRIBE { (?x, 1) }"
    )

    assert news(first) == ["+?x=a", "-?x=a", "+?x=b", "!?x=c"]
    assert news(second) == ["+?x=b"]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("INSERT { (a, 1) } INSERT { (a, ?x) }", BadText),
        ("INSERT { (a, 1) } SUBSCRIBE { (a, 1 }", BadText),
        ("INSERT { (a, 1) } SUBSCRIBE { NOT { (?x) } }", BadText),
        ("INSERT { (a, 1) } SUBSCRIBE { (?x) " + ", (?x)" * 200 + "}", BadQuery),
    ],
    ids=["a variable in a fact", "a bracket missing", "nothing outside NOT", "too many conditions"],
)
def test_a_script_with_a_mistake_applies_nothing(space: Space, script: str, error: type[Exception]) -> None:
    with pytest.raises((BadText, BadQuery)) as caught:
        space.run(script)

    assert isinstance(caught.value, (error, BadText))
    assert len(space) == 0


def test_a_late_subscription_begins_with_the_rows_that_hold(space: Space) -> None:
    space.insert([("a", "on", "b"), ("c", "on", "d")])

    subscription = space.subscribe('(?x, "on", ?y)')

    assert sorted(news(subscription)) == ['+?x="a" ?y="b"', '+?x="c" ?y="d"']
    assert sum(subscription.rows().values()) == 2


def test_reading_ends_when_there_is_nothing_new_and_goes_on_later(space: Space) -> None:
    subscription = space.subscribe("(?x)")
    assert news(subscription) == []

    space.insert([(1,)])
    assert news(subscription) == ["+?x=1"]
    assert news(subscription) == []


def test_an_event_is_a_row_of_its_moment_and_no_state(space: Space) -> None:
    space.insert([("kitchen", "floor", 1)])
    subscription = space.subscribe('("temp", ?room, ?t), (?room, "floor", ?f)')

    space.notify([("temp", "kitchen", 25), ("temp", "attic", 30), ("temp", "kitchen", 25)])

    assert news(subscription) == ['!?room="kitchen" ?t=25 ?f=1'] * 2
    assert subscription.rows() == Counter()
    assert len(space) == 1


def test_a_wildcard_makes_a_row_hold_several_times(space: Space) -> None:
    space.insert([("a", 1), ("a", 2)])
    subscription = space.subscribe("(?x, *)")

    assert subscription.rows() == Counter({Row({"x": "a"}): 2})
    space.retract([("a", 1)])
    assert news(subscription) == ['+?x="a"', '+?x="a"', '-?x="a"']


def test_an_event_is_reported_for_each_way_that_it_matches(space: Space) -> None:
    space.insert([("b", 1), ("b", 2)])
    subscription = space.subscribe('(?x), ("b", *)')

    space.notify([("a",)])

    assert news(subscription) == ['!?x="a"', '!?x="a"']


def test_a_callback_hears_of_the_beginning_the_changes_and_the_events(space: Space) -> None:
    space.insert([(1,)])
    heard: list[tuple[Sign, Row]] = []
    subscription = space.subscribe("(?x)", callback=lambda sign, row: heard.append((sign, row)))

    space.insert([(2,)])
    space.notify([(3,)])
    space.retract([(1,)])

    assert heard == [
        (Sign.PLUS, Row({"x": 1})),
        (Sign.PLUS, Row({"x": 2})),
        (Sign.EVENT, Row({"x": 3})),
        (Sign.MINUS, Row({"x": 1})),
    ]
    assert news(subscription) == []


def test_a_callback_that_fails_is_counted_and_logged_and_hurts_nobody(space: Space, caplog: pytest.LogCaptureFixture) -> None:
    failing = space.subscribe("(?x)", callback=lambda sign, row: 1 // 0)
    other = space.subscribe("(?x)")

    with caplog.at_level(logging.ERROR, logger="gsg"):
        assert space.insert([(1,), (2,)]) == 2

    assert failing.failures == 2
    assert sorted(news(other)) == ["+?x=1", "+?x=2"]
    assert [record.exc_info is not None for record in caplog.records] == [True, True]
    assert "failed on + ?x=1" in caplog.text
    assert failing.rows() == other.rows()


def calling(space: Space, do: Callable[[], object]) -> Subscription:
    """A subscription whose callback does something at the first row of ``(?x, 1)``."""
    todo = [do]
    return space.subscribe("(?x, 1)", callback=lambda sign, row: todo and todo.pop()())


def test_a_callback_may_insert_subscribe_and_notify(space: Space) -> None:
    others: list[Subscription] = []
    other = space.subscribe("(?x, ?y)")
    calling(space, lambda: (space.insert([("b", 2)]), others.append(space.subscribe("(?x, ?y)")), space.notify([("c", 3)])))

    space.insert([("a", 1)])

    assert sorted(news(other)) == ['!?x="c" ?y=3', '+?x="a" ?y=1', '+?x="b" ?y=2']
    assert sorted(news(others[0])) == ['!?x="c" ?y=3', '+?x="a" ?y=1', '+?x="b" ?y=2']


def test_a_callback_may_close_subscriptions_its_own_included(space: Space) -> None:
    closing: list[Subscription] = []
    first = calling(space, lambda: [each.close() for each in closing])
    second = space.subscribe("(?x, *)")
    closing += [first, second]

    space.insert([("a", 1)])
    space.insert([("b", 1)])

    assert (first.failures, news(second)) == (0, [])


def test_what_a_callback_undoes_while_it_hears_of_the_beginning_is_told_after_that(space: Space) -> None:
    space.run("INSERT { (a), (b) }")
    heard: list[str] = []

    def hear(sign: Sign, row: Row) -> None:
        heard.append(f"{sign}{row}")
        space.run("DELETE { (a), (b) }")

    space.subscribe("(?x)", callback=hear)

    assert heard == ["+?x=a", "+?x=b", "-?x=a", "-?x=b"]


def test_a_callback_that_closes_its_subscription_hears_nothing_more(space: Space) -> None:
    heard: list[str] = []

    def hear(sign: Sign, row: Row) -> None:
        heard.append(f"{sign}{row}")
        subscription.close()

    subscription = space.subscribe("(?x)", callback=hear)
    space.run("INSERT { (a), (b) }")

    assert len(heard) == 1


def test_a_callback_on_an_event_may_close_a_subscription_that_was_about_to_hear(space: Space) -> None:
    closing: list[Subscription] = []
    one = calling(space, lambda: [each.close() for each in closing])
    other = calling(space, lambda: [each.close() for each in closing])
    closing += [one, other]

    space.notify([("a", 1)])

    assert (one.failures, other.failures) == (0, 0)
    assert (one.rows(), other.rows()) == (Counter(), Counter())


def test_a_closed_subscription_hears_nothing_more(space: Space) -> None:
    with space.subscribe("(?x)") as subscription:
        space.insert([(1,)])
    subscription.close()

    space.insert([(2,)])
    space.notify([(3,)])

    assert news(subscription) == ["+?x=1"]
    assert subscription.rows() == Counter()


def test_the_memory_of_closed_subscriptions_is_free(space: Space) -> None:
    subscriptions = [*space.run(FIGURE_2), space.subscribe("(?x, on, ?y)")]

    for subscription in subscriptions:
        subscription.close()

    assert space._network.is_empty


def test_indexes_go_with_the_many_subscriptions_that_they_were_built_for(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.facts_by_template, "SCAN_LIMIT", 0)
    space.insert([("hut", "in", "Alps")])
    many = [space.subscribe(f'(?x, "in", {number})') for number in range(gsg.space.CLOSED_BEFORE_DROP)]

    for subscription in many[1:]:
        subscription.close()
    kept = space._store.is_indexed
    many[0].close()

    assert (kept, space._store.is_indexed) == (True, False)


@pytest.mark.parametrize(
    "use",
    [
        lambda space: space.insert([("a",)]),
        lambda space: space.retract([("a",)]),
        lambda space: space.notify([("a",)]),
        lambda space: space.run("INSERT { (a) }"),
        lambda space: space.subscribe("(?x)"),
    ],
    ids=["insert", "retract", "notify", "run", "subscribe"],
)
def test_a_closed_space_says_so(use: Callable[[Space], object]) -> None:
    space = Space()
    subscription = space.subscribe("(?x)")
    space.close()
    space.close()

    with pytest.raises(DoorClosed, match=r"this space is closed; make a new gsg\.Space\(\)"):
        use(space)
    assert subscription.rows() == Counter()


def test_terms_of_rdflib_are_terms(space: Space) -> None:
    space.insert([(rdflib.URIRef("x:a"), rdflib.URIRef("x:age"), rdflib.Literal(7))])
    space.insert([(rdflib.URIRef("x:a"), rdflib.URIRef("x:name"), rdflib.Literal("Anna", lang="de"))])

    subscription = space.subscribe("(?who, <x:age>, 7), (?who, <x:name>, ?name)")

    assert subscription.rows() == Counter({Row({"who": IRI("x:a"), "name": Literal("Anna", "", "de")}): 1})
    assert (rdflib.URIRef("x:a"), IRI("x:age"), 7) in space


def test_a_subscription_that_cannot_be_says_why(space: Space) -> None:
    with pytest.raises(BadText) as caught:
        space.subscribe("(?x, on, ?y")
    assert (caught.value.line, caught.value.column) == (1, 12)

    with pytest.raises(Unsupported, match="unknown language 'prolog'; known are: gsg"):
        space.subscribe("x", language="prolog")
    assert space._network.is_empty


def test_a_reader_that_is_too_slow_for_events_is_told(space: Space) -> None:
    subscription = space.subscribe("(?x)", limit=2)
    space.notify([(1,), (2,), (3,)])

    with pytest.raises(Overrun, match="1 events were dropped"):
        news(subscription)
    assert news(subscription) == ["!?x=2", "!?x=3"]


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_events_leave_their_window_when_the_space_is_asked() -> None:
    clock = Clock()
    space = gsg.Space(clock=clock)
    room, temperature = rete.Variable("room"), rete.Variable("t")
    recent = rete.Condition((room, "temp", temperature), rete.Window(seconds=10))
    subscription = space._subscribe(Query.selecting_all(rete.Group((recent,))), None, 100)

    space.notify([("hall", "temp", 20)])
    kept = subscription.rows()
    clock.now += 10

    assert [str(sign) for sign, _ in subscription] == ["+", "-"]
    assert (sum(kept.values()), subscription.rows()) == (1, {})


def test_any_call_and_advance_let_events_leave() -> None:
    clock = Clock()
    space = gsg.Space(clock=clock)
    seen: list[str] = []
    recent = rete.Condition((rete.Variable("room"), "temp", rete.Variable("t")), rete.Window(seconds=10))
    space._subscribe(Query.selecting_all(rete.Group((recent,))), lambda sign, row: seen.append(f"{sign}{row['t']}"), 100)

    space.notify([("hall", "temp", 20)])
    clock.now += 5
    space.notify([("hall", "temp", 21)])
    clock.now += 5
    space.insert([("hall", "is", "warm")])
    assert seen == ["+20", "+21", "-20"]
    clock.now += 5
    space.advance()

    assert seen == ["+20", "+21", "-20", "-21"]


def test_a_subscription_of_a_space_ends_when_nobody_reads_it_where_it_asks_for_that(space: Space) -> None:
    subscription = space.subscribe("(?x, p)", limit=2, overflow="error")

    space.insert([(number, Symbol("p")) for number in range(3)])

    with pytest.raises(Overrun, match="as overflow='error' asks"):
        list(subscription)
    with pytest.raises(Overrun):
        subscription.rows()


@pytest.mark.parametrize("come_later", [False, True], ids=["there", "come later"])
@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("(?s, ^at, ?t), NOT { (?s, ^at, ?later) FILTER ?later > ?t }", "gsg"),
        ("SELECT ?s ?t { ?s <urn:at> ?t OPTIONAL { ?s <urn:at> ?later FILTER(?later > ?t) } FILTER(!BOUND(?later)) }", "sparql"),
    ],
    ids=["NOT", "OPTIONAL"],
)
def test_the_latest_of_readings_is_found_while_their_pairs_are_as_many_as_tokens_may_be(
    text: str, language: str, come_later: bool
) -> None:
    at = gsg.Symbol("at") if language == "gsg" else gsg.IRI("urn:at")
    readings = [(gsg.IRI("urn:s"), at, 7 * number % 150) for number in range(150)]

    with gsg.Space() as space:
        space.insert([] if come_later else readings)
        latest = space.subscribe(text, language, max_tokens=150 * 150)
        space.insert(readings)

        assert [row["t"] for row in latest.rows()] == [149]
