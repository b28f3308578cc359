"""The rows of a subscription as tables, and what a notebook shows of it."""

from __future__ import annotations

import math
import sys
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from html.parser import HTMLParser

import pyarrow
import pytest

import gsg
from gsg import IRI, Literal, LiveSubscription, Row, Space, Symbol, TooManyTokens, Unsupported
from gsg.languages.notebook import MOST_CHARACTERS
from gsg.subscriptions.tables import MOST_SHOWN, arrow_table, data_frame
from gsg.tuples.terms import XSD, Term, Variable, n3, term

MORNING = datetime(2026, 11, 29, 8, 30, 0, 120_000)
BERLIN = timezone(timedelta(hours=1))


def table_of(*values: object) -> pyarrow.Table:
    """A table of one column, x: one row for each value, None where it is unbound."""
    return arrow_table(("x",), Counter([Row({} if value is None else {"x": value}) for value in values]))


@pytest.mark.parametrize(
    ("values", "kind", "column"),
    [
        ([1, -(2**63)], pyarrow.int64(), [1, -(2**63)]),
        ([1, Literal("007", XSD + "unsignedByte")], pyarrow.int64(), [1, 7]),
        ([1.5, -math.inf, Literal("1e2", XSD + "float")], pyarrow.float64(), [1.5, -math.inf, 100.0]),
        ([True, False, Literal("1", XSD + "boolean")], pyarrow.bool_(), [True, False, True]),
        (["a", "é"], pyarrow.string(), ["a", "é"]),
        ([b"\x00", b""], pyarrow.binary(), [b"\x00", b""]),
        ([Decimal("1.5"), Decimal(100)], pyarrow.decimal128(4, 1), [Decimal("1.5"), Decimal(100)]),
        ([Decimal("1" * 60)], pyarrow.decimal256(60), [Decimal("1" * 60)]),
        ([date(2026, 11, 29)], pyarrow.date32(), [date(2026, 11, 29)]),
        ([time(8, 30)], pyarrow.time64("us"), [time(8, 30)]),
        ([timedelta(microseconds=1)], pyarrow.duration("us"), [timedelta(microseconds=1)]),
        ([MORNING], pyarrow.timestamp("us"), [MORNING]),
        ([MORNING.replace(tzinfo=BERLIN)], pyarrow.timestamp("us", tz="UTC"), [MORNING.replace(tzinfo=BERLIN)]),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_column_of_one_kind_has_its_type(values: list[object], kind: pyarrow.DataType, column: list[object]) -> None:
    table = table_of(*values, None)

    assert table.schema.field("x").type == kind
    assert table["x"].to_pylist() == [*column, None]


@pytest.mark.parametrize(
    "values",
    [
        [1, 1.5],
        [1, "1"],
        [1, True],
        [2**63, 1],
        [Decimal("1" * 77)],
        [Symbol("B1"), IRI("http://example.org/")],
        ["a", Symbol("a")],
        [Literal("chat", "", "fr"), "chat"],
        [Literal("five", XSD + "integer"), 5],
        [Literal("2026-11-29Z", XSD + "date"), date(2026, 11, 29)],
        [Literal("2026", XSD + "gYear")],
        [MORNING, MORNING.replace(tzinfo=UTC)],
        [time(8, 30, tzinfo=UTC)],
        [timedelta.max],
    ],
    ids=lambda values: " ".join(map(n3, map(term, values)))[:60],
)
def test_another_column_has_its_terms_as_script_writes_them(values: list[object]) -> None:
    table = table_of(*values, None)

    assert table.schema.field("x").type == pyarrow.string()
    assert table["x"].to_pylist() == [*(n3(term(value)) for value in values), None]


def test_half_of_a_pair_is_escaped() -> None:
    assert table_of("\ud800")["x"].to_pylist() == [r'"\uD800"']


def test_not_a_number_is_no_null() -> None:
    column = table_of(math.nan, None)["x"]

    assert column.null_count == 1
    assert math.isnan(column.to_pylist()[0])


def test_a_column_without_terms_is_null() -> None:
    assert table_of(None, None)["x"].type == pyarrow.null()
    assert arrow_table(("x", "y"), Counter()).schema.names == ["x", "y"]
    assert arrow_table(("x", "y"), Counter()).num_rows == 0


def test_rows_are_there_as_often_as_they_hold() -> None:
    rows = Counter({Row({"x": 1, "y": "a"}): 2, Row({"y": "b"}): 1})

    table = arrow_table(("y", "x"), rows)

    assert table.schema.names == ["y", "x"]
    assert table.to_pylist() == [{"y": "a", "x": 1}, {"y": "a", "x": 1}, {"y": "b", "x": None}]


def test_rows_of_a_query_without_variables_are_counted() -> None:
    table = arrow_table((), Counter({Row({}): 3}))

    assert (table.num_rows, table.num_columns) == (3, 0)
    assert len(data_frame((), Counter({Row({}): 3}))) == 3


def readings() -> gsg.Subscription:
    space = Space()
    subscription = space.subscribe(
        "SELECT ?room ?degrees ?at { ?room <t:reads> ?degrees OPTIONAL { ?room <t:at> ?at } }", language="sparql"
    )
    hall, cellar = IRI("t:hall"), IRI("t:cellar")
    space.insert([(hall, IRI("t:reads"), 2**60 + 1), (cellar, IRI("t:reads"), 12), (hall, IRI("t:at"), MORNING)])
    return subscription


def test_a_subscription_is_a_table() -> None:
    found = readings().to_arrow().sort_by("room").to_pylist()

    assert found == [
        {"room": "<t:cellar>", "degrees": 12, "at": None},
        {"room": "<t:hall>", "degrees": 2**60 + 1, "at": MORNING},
    ]


def test_a_subscription_is_a_frame_whose_integers_stay_exact() -> None:
    frame = readings().to_dataframe().set_index("room")

    assert frame["degrees"].sum() == 2**60 + 13
    assert frame["degrees"].dtype == "int64[pyarrow]"
    assert list(frame["at"].isna()) == [row != "<t:hall>" for row in frame.index]


@pytest.mark.parametrize(("missing", "method"), [("pyarrow", "to_arrow"), ("pyarrow", "to_dataframe"), ("pandas", "to_dataframe")])
def test_what_is_missing_is_named_with_its_extra(missing: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(
        Unsupported, match=rf"a table of rows needs {missing} .*; install the extra: pip install 'gsg-router\[sim\]'"
    ):
        getattr(readings(), method)()


class Shown(HTMLParser):
    """What a reader of HTML sees: the cells of its tables, and the texts beside."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.said: dict[str, list[str]] = {"th": [], "td": [], "pre": []}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert not attrs
        self.tags.append(tag)
        if tag in self.said:
            self.said[tag].append("")

    def handle_data(self, data: str) -> None:
        self.said[self.tags[-1]][-1] += data


def test_a_notebook_shows_rows_as_a_table() -> None:
    subscription = readings()

    shown = Shown(subscription._repr_html_())

    assert shown.said["pre"] == ["<gsg.Subscription to ?room ?degrees ?at: open, 2 unread>, rows: 2"]
    assert shown.said["th"] == ["?room", "?degrees", "?at"]
    assert sorted(shown.said["td"]) == sorted(["<t:cellar>", "12", "", "<t:hall>", str(2**60 + 1), n3(term(MORNING))])


def test_a_notebook_shows_some_rows_and_says_how_many_more() -> None:
    space = Space()
    subscription = space.subscribe("(?x, ^is, ?y)")
    space.insert([(number, Symbol("is"), "there") for number in range(MOST_SHOWN + 1_234)])

    shown = Shown(subscription._repr_html_())

    assert len(shown.said["td"]) == 2 * MOST_SHOWN
    assert shown.said["pre"][1] == "and 1,234 more"


HOSTILE: list[Term] = [
    "<script>alert(1)</script>",
    Symbol("<b>"),
    IRI("javascript:'\"<i>"),
    Literal("&lt;", "x:<u>"),
    Variable("<i>"),
    "\u202e</td>",
    "x" * 1_000_000,
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: str(value)[:20])
def test_what_strangers_say_is_text_in_a_notebook(value: Term) -> None:
    shown = Shown(Row({"x<u>": value})._repr_html_())

    assert set(shown.tags) == {"table", "thead", "tbody", "tr", "th", "td"}
    assert shown.said["th"] == [r"?x\u003Cu\u003E"]
    assert shown.said["td"][0].rstrip("…") == n3(value)[: len(shown.said["td"][0].rstrip("…"))]
    assert len(shown.said["td"][0]) == min(len(n3(value)), MOST_CHARACTERS)


def test_a_row_without_names_is_shown() -> None:
    assert Row({})._repr_html_() == "<pre>(true)</pre>"


def test_a_subscription_says_how_it_is() -> None:
    space = Space()
    subscription = space.subscribe("(?x, ^on, ?y)")
    called = space.subscribe("(?x, ^on, table)", callback=lambda sign, row: None)
    asked = space.subscribe("ASK { <a:a> <a:b> <a:c> }", language="sparql")
    space.run("INSERT { (B1, ^on, B2) }")

    assert repr(subscription) == "<gsg.Subscription to ?x ?y: open, 1 unread>"
    assert repr(called) == "<gsg.Subscription to ?x: open, told by callback>"
    assert repr(asked) == "<gsg.Subscription to whether there is an answer: open, 0 unread>"
    subscription.close()
    assert repr(subscription) == "<gsg.Subscription to ?x ?y: closed, 1 unread>"


def test_a_notebook_shows_what_has_ended_a_subscription() -> None:
    space = Space()
    subscription = space.subscribe("(?x, ^on, ?y)", max_tokens=1)
    space.run("INSERT { (B1, ^on, B2), (B2, ^on, B3), (B3, ^on, B4) }")

    assert repr(subscription).startswith("<gsg.Subscription to ?x ?y: ended by TooManyTokens")
    with pytest.raises(TooManyTokens):
        subscription.to_arrow()
    assert "at most 1 are allowed" in Shown(subscription._repr_html_()).said["pre"][0]


async def test_a_subscription_of_a_peer_is_a_table() -> None:
    async with gsg.Peer() as peer, await peer.subscribe("(?room, ^temperature, ?degrees)") as subscription:
        await peer.insert([("kitchen", Symbol("temperature"), 21.5)])
        await anext(subscription)

        assert isinstance(subscription, LiveSubscription)
        assert subscription.to_arrow().to_pylist() == [{"room": "kitchen", "degrees": 21.5}]
        assert subscription.to_dataframe()["degrees"].mean() == 21.5
        assert Shown(subscription._repr_html_()).said["td"] == ['"kitchen"', "21.5"]
        assert repr(subscription) == f"<gsg.LiveSubscription {subscription.number} to ?room ?degrees: open, 0 unread>"
    assert repr(subscription) == f"<gsg.LiveSubscription {subscription.number} to ?room ?degrees: closed, 0 unread>"
    assert subscription.to_arrow().num_rows == 0


@pytest.mark.parametrize("asked", ["plan", "why", "why_not"])
def test_explanations_are_shown_with_their_lines(asked: str) -> None:
    space = Space()
    subscription = space.subscribe("(?x, '<b>', ?y)")
    space.insert([(1, Symbol("<b>"), 2)])
    explained = {
        "plan": lambda: space.explain("(?x, '<b>', ?y)"),
        "why": lambda: subscription.why({"x": 1}),
        "why_not": lambda: subscription.why_not({"x": 2}),
    }[asked]()

    shown = Shown(explained._repr_html_())

    assert shown.tags == ["pre"]
    assert shown.said["pre"] == [str(explained)]
    assert "'<b>'" in str(explained)
