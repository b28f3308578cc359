"""Values of Python as literals of XML Schema, and back."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy
import pandas
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

import gsg
from gsg import BadTerm, Literal, Row, Sign, Space, Symbol
from gsg.languages.expressions.dates import duration_of, moment_of
from gsg.tuples.numbers import number_of
from gsg.tuples.python_values import READABLE
from gsg.tuples.terms import XSD, Compound, Term, fact, term

CET = timezone(timedelta(hours=1))
WEST = timezone(-timedelta(hours=3, minutes=30))


@pytest.mark.parametrize(
    ("value", "datatype", "lexical"),
    [
        (datetime(2026, 11, 29, 8, 30), "dateTime", "2026-11-29T08:30:00"),
        (datetime(2026, 11, 29, 8, 30, tzinfo=UTC), "dateTime", "2026-11-29T08:30:00Z"),
        (datetime(2026, 11, 29, 8, 30, tzinfo=CET), "dateTime", "2026-11-29T08:30:00+01:00"),
        (datetime(2026, 7, 29, 8, 30, tzinfo=ZoneInfo("Europe/Berlin")), "dateTime", "2026-07-29T08:30:00+02:00"),
        (datetime(2026, 11, 29, 8, 30, 5, 120_000, tzinfo=WEST), "dateTime", "2026-11-29T08:30:05.12-03:30"),
        (datetime(1, 1, 1), "dateTime", "0001-01-01T00:00:00"),
        (datetime.max, "dateTime", "9999-12-31T23:59:59.999999"),
        (date(2026, 11, 29), "date", "2026-11-29"),
        (date(33, 4, 3), "date", "0033-04-03"),
        (time(8, 30), "time", "08:30:00"),
        (time(8, 30, 0, 100_000, tzinfo=UTC), "time", "08:30:00.1Z"),
        (timedelta(), "dayTimeDuration", "PT0S"),
        (timedelta(days=1, hours=2, minutes=3, seconds=4, microseconds=500_000), "dayTimeDuration", "P1DT2H3M4.5S"),
        (-timedelta(minutes=90), "dayTimeDuration", "-PT1H30M"),
        (timedelta(days=40), "dayTimeDuration", "P40D"),
        (timedelta.max, "dayTimeDuration", "P999999999DT23H59M59.999999S"),
        (Decimal("1.50"), "decimal", "1.5"),
        (Decimal("-0.00"), "decimal", "0"),
        (Decimal("5.0"), "decimal", "5"),
        (Decimal("1E+3"), "decimal", "1000"),
        (Decimal("1E-3"), "decimal", "0.001"),
        (Decimal("12345678901234567890123456789012345.678"), "decimal", "12345678901234567890123456789012345.678"),
        (b"", "base64Binary", ""),
        (b"\x00\xffa", "base64Binary", "AP9h"),
        (b"ab", "base64Binary", "YWI="),
        (True, "boolean", "true"),
        (False, "boolean", "false"),
        (21.5, "double", "21.5"),
        (2**64, "integer", "18446744073709551616"),
    ],
    ids=repr,
)
def test_a_value_is_the_literal_of_its_datatype_and_comes_back(value: object, datatype: str, lexical: str) -> None:
    made = term(value)

    assert made == Literal(lexical, XSD + datatype)
    assert isinstance(made, Literal)
    assert type(made.to_python()) is type(value)
    assert made.to_python() == value


@given(
    st.one_of(
        st.datetimes(),
        st.datetimes(timezones=st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))),
        st.dates(),
        st.times(),
        st.timedeltas(),
        st.decimals(allow_nan=False, allow_infinity=False),
        st.binary(),
        st.booleans(),
        st.floats(allow_nan=False),
    )
)
def test_every_value_comes_back(value: object) -> None:
    made = term(value)

    assert isinstance(made, Literal)
    assert made.to_python() == value
    assert type(made.to_python()) is type(value)
    if isinstance(value, datetime | time):
        assert made.to_python().utcoffset() == value.utcoffset()  # type: ignore[union-attr]  # of the same type


plain_decimals = st.decimals(allow_nan=False, allow_infinity=False, places=3)


@given(st.one_of(st.datetimes(), st.datetimes(timezones=st.just(CET)), st.dates(), st.times(), st.timedeltas(), plain_decimals))
def test_queries_read_what_is_written(value: object) -> None:
    made = term(value)

    assert [read for read in (moment_of(made), duration_of(made), number_of(made)) if read is not None] != []


class Nowhere(tzinfo):
    """A timezone that says no offset."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (Fraction(1, 3), "Fraction(1, 3) of type Fraction is no term; expected str, int, float, bool, Decimal, bytes"),
        (Fraction(1, 3), "XML Schema has no fractions: give a Decimal or a float"),
        (Decimal("NaN"), "Decimal('NaN') is no term; expected a number"),
        (Decimal("-Infinity"), "Decimal('-Infinity') is no term; expected a number"),
        (Decimal("1E+1000000"), "is too long for a term; expected at most 4,000 digits"),
        (Decimal("1E-1000000"), "is too long for a term; expected at most 4,000 digits"),
        (Decimal("-" + "9" * 4000), "is too long for a term; expected at most 4,000 digits"),
        (time(8, 30, tzinfo=ZoneInfo("Europe/Berlin")), "its timezone says no offset for it; expected a fixed offset"),
        (datetime(2026, 1, 1, tzinfo=Nowhere()), "its timezone says no offset for it; expected a fixed offset"),
        (datetime(1850, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")), "value.astimezone(datetime.UTC) is the same moment"),
        (datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=15))), "is 15:00:00 east of UTC; expected whole minutes"),
        (numpy.int64(5), "a number of numpy becomes one of Python by .item()"),
        (pandas.Timestamp("2026-01-01"), ".to_pydatetime()"),
        (pandas.Timedelta(1), ".to_pytimedelta()"),
        (bytearray(b"a"), "of type bytearray is no term"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_value_without_a_literal_is_refused_with_what_to_do(value: object, problem: str) -> None:
    for given_it in (lambda: term(value), lambda: fact(["a", value]), lambda: Row({"x": value})):
        with pytest.raises(BadTerm, match=re.escape(problem)):
            given_it()


@pytest.mark.parametrize(
    ("lexical", "datatype", "value"),
    [
        ("a", "", "a"),
        ("a", "string", "a"),
        (" a ", "anyURI", " a "),
        ("a b", "normalizedString", "a b"),
        ("a b", "token", "a b"),
        ("", "token", ""),
        ("de-CH", "language", "de-CH"),
        ("1-a", "NMTOKEN", "1-a"),
        ("x:a", "Name", "x:a"),
        ("_a", "NCName", "_a"),
        ("+007", "integer", 7),
        ("-3", "negativeInteger", -3),
        ("255", "unsignedByte", 255),
        (" 5\n", "int", 5),
        ("9" * 4000, "integer", int("9" * 4000)),
        (".50", "decimal", Decimal("0.50")),
        ("1e2", "double", 100.0),
        ("-INF", "double", -math.inf),
        ("0.1", "float", 0.10000000149011612),
        ("1e39", "float", math.inf),
        ("1", "boolean", True),
        (" false", "boolean", False),
        ("2026-11-29T24:00:00", "dateTime", datetime(2026, 11, 30)),
        ("2026-11-29T08:30:00.1200000000Z", "dateTimeStamp", datetime(2026, 11, 29, 8, 30, 0, 120_000, tzinfo=UTC)),
        ("24:00:00", "time", time()),
        ("08:30:00-03:30", "time", time(8, 30, tzinfo=WEST)),
        ("PT90M", "dayTimeDuration", timedelta(minutes=90)),
        ("-P1D", "duration", -timedelta(days=1)),
        ("0aFF", "hexBinary", b"\x0a\xff"),
        ("A P9\nh", "base64Binary", b"\x00\xffa"),
    ],
)
def test_a_literal_in_any_form_has_its_value(lexical: str, datatype: str, value: object) -> None:
    found = Literal(lexical, XSD + datatype if datatype else "").to_python()

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "literal",
    [
        Literal("chat", "", "fr"),
        Literal("2026", XSD + "gYear"),
        Literal("P1M", XSD + "yearMonthDuration"),
        Literal("{}", "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"),
        Literal("5", "x:t"),
    ],
    ids=lambda literal: literal.n3(),
)
def test_a_literal_without_a_value_in_python_is_given_back(literal: Literal) -> None:
    assert literal.to_python() is literal


@pytest.mark.parametrize(
    ("lexical", "datatype"),
    [
        ("five", "integer"),
        ("1.0", "integer"),
        ("٣", "integer"),
        ("9" * 4001, "integer"),
        ("256", "unsignedByte"),
        ("1e2", "decimal"),
        ("inf", "double"),
        ("1_0", "double"),
        ("TRUE", "boolean"),
        ("2026-11-29", "dateTime"),
        ("2026-11-29T08:30:00" + " " * 100, "dateTime"),
        ("P1DT1.5S" + "0" * 100, "dayTimeDuration"),
        ("2026-11-29T08:30:00", "dateTimeStamp"),
        ("2026-02-30", "date"),
        ("2026-02-01Z ago", "date"),
        ("25:00:00", "time"),
        ("P1M", "dayTimeDuration"),
        ("PT", "duration"),
        ("abc", "hexBinary"),
        ("a b0", "hexBinary"),
        ("é0", "hexBinary"),
        ("YWI", "base64Binary"),
        ("YWJ=", "base64Binary"),
        ("é===", "base64Binary"),
        ("a\tb", "normalizedString"),
        ("a  b", "token"),
        ("e n", "language"),
        ("a b", "NMTOKEN"),
        ("1a", "Name"),
        ("x:a", "NCName"),
    ],
)
def test_what_is_no_value_of_its_datatype_is_refused(lexical: str, datatype: str) -> None:
    with pytest.raises(BadTerm, match=rf"is no value of xsd:{datatype}; expected .*; the literal's attribute lexical is the text"):
        Literal(lexical, XSD + datatype).to_python()


@pytest.mark.parametrize(
    ("lexical", "datatype", "why"),
    [
        ("12026-01-01T00:00:00", "dateTime", "its years are those from 1 to 9999"),
        ("9999-12-31T24:00:00", "dateTime", "its years are those from 1 to 9999"),
        ("-0044-03-15", "date", "its years are those from 1 to 9999"),
        ("0000-03-15", "date", "its years are those from 1 to 9999"),
        ("2026-11-29T08:30:00.1234567", "dateTime", "its times are whole microseconds"),
        ("08:30:00.0000001", "time", "its times are whole microseconds"),
        ("PT0.0000001S", "dayTimeDuration", "its times are whole microseconds"),
        ("2026-11-29+01:00", "date", "a date has no timezone there"),
        ("P1M", "duration", "months have no length there"),
        ("P999999999DT24H", "duration", "its durations are less than a thousand million days"),
    ],
)
def test_what_python_does_not_hold_is_refused_and_never_rounded(lexical: str, datatype: str, why: str) -> None:
    with pytest.raises(BadTerm, match=f"is a value of xsd:{datatype} that Python does not hold: {why}"):
        Literal(lexical, XSD + datatype).to_python()


@given(st.sampled_from(sorted(READABLE)), st.text(alphabet="0123456789-+:.TZPDHMSeEINFatrue= \n", max_size=40))
def test_any_text_has_a_value_or_is_refused(datatype: str, lexical: str) -> None:
    try:
        value = Literal(lexical, datatype).to_python()
    except BadTerm:
        return
    assert not isinstance(value, Literal)
    assert isinstance(term(value), int | str | Literal)


@pytest.mark.parametrize("datatype", ["integer", "decimal", "double", "boolean", "dateTime", "date", "hexBinary"])
def test_values_are_those_of_rdflib(datatype: str) -> None:
    lexical = {
        "integer": "12", "decimal": "1.25", "double": "1.5e3", "boolean": "true",
        "dateTime": "2026-11-29T08:30:00Z", "date": "2026-11-29", "hexBinary": "00ff",
    }[datatype]  # fmt: skip

    assert Literal(lexical, XSD + datatype).to_python() == rdflib.Literal(lexical, datatype=XSD + datatype).toPython()


def test_values_are_facts_events_and_filters_of_why() -> None:
    space = Space()
    rings = space.subscribe("(door, rang, ?at)")
    moment = datetime(2026, 11, 29, 8, 30, tzinfo=UTC)
    born = space.subscribe('(?who, ^born, ?day) FILTER(?day < "2000-01-01"^^<http://www.w3.org/2001/XMLSchema#date>)')

    space.notify([(Symbol("door"), Symbol("rang"), moment)])
    made = space.insert([("Ann", Symbol("born"), date(1999, 1, 2)), ("Bob", Symbol("born"), date(2001, 1, 2))])

    assert [(sign, row["at"].to_python()) for sign, row in rings] == [(Sign.EVENT, moment)]  # type: ignore[union-attr]
    assert made == 2
    assert born.rows() == {Row({"who": "Ann", "day": date(1999, 1, 2)}): 1}
    assert born.why({"day": date(1999, 1, 2)}).total == 1
    assert not born.why_not({"day": date(2001, 1, 2)}).holds
    assert space.retract([("Ann", Symbol("born"), date(1999, 1, 2))]) == 1


def test_values_stand_inside_of_compounds() -> None:
    made: Term = term(Compound((Symbol("at"), date(2026, 11, 29))))  # type: ignore[arg-type]  # as users do

    assert made == Compound((Symbol("at"), Literal("2026-11-29", XSD + "date")))


async def test_values_are_said_to_topics() -> None:
    async with gsg.Peer() as peer, await peer.topic("births").subscribe() as births:
        await peer.topic("births").publish("Ann", date(1999, 1, 2), Decimal("3.20"))

        event = await anext(births)

    assert event.values == ("Ann", term(date(1999, 1, 2)), term(Decimal("3.2")))
