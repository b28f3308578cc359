"""What is told of real processes is judged as promised."""

from __future__ import annotations

import pytest
from real_verdict import ON, RANG, Reader, Said, violations

EVENTS, FACTS = "(rang, ?who, ?n)", "(?who, on, ?n)"


def rung(*unsure: int) -> Said:
    """A stream that said 0, 1 and 2, of which these were not acknowledged."""
    said = Said("A0", facts=False, next=3)
    for number in range(3):
        if number in unsure:
            said.unsure[range(number, number + 1)] = "nobody knows"
        else:
            said.acknowledged[range(number, number + 1)] = (float(number), number + 0.5)
    return said


def hearing(*numbers: int, missed: int = 0) -> Reader:
    """A reader who was told of these events of that stream."""
    reader = Reader("B", EVENTS, missed=missed)
    for number in numbers:
        reader.told(0, ("A0", number))
    return reader


@pytest.mark.parametrize(
    ("said", "reader", "found"),
    [
        pytest.param(rung(), hearing(0, 1, 2), [], id="all of them in order"),
        pytest.param(rung(1), hearing(0, 2), [], id="one that nobody acknowledged did not come"),
        pytest.param(rung(1), hearing(0, 1, 2), [], id="one that nobody acknowledged came"),
        pytest.param(rung(), hearing(0, 2, missed=1), [], id="who was told of a missed one"),
        pytest.param(
            rung(),
            hearing(0, 2),
            ["B: 1 events lost, 0 of them told as missed: A0 1, said at 1.000, acknowledged 0.500 s later"],
            id="lost",
        ),
        pytest.param(rung(), hearing(0, 1, 1, 2), ["B: A0 repeated: [1]"], id="repeated"),
        pytest.param(rung(), hearing(0, 2, 1), ["B: A0 out of order: ['1 after 2']"], id="out of order"),
        pytest.param(rung(), hearing(0, 1, 2, 7), ["B: A0: told of numbers that were never said"], id="never said"),
    ],
)
def test_events_come_once_and_in_order_or_are_told_as_missed(said: Said, reader: Reader, found: list[str]) -> None:
    assert violations([said], [reader]) == found


def test_rows_are_those_of_the_facts_that_are_true() -> None:
    said = Said("A1", facts=True, true={4, 5})
    reader = Reader("B", FACTS)

    for sign, number in ((1, 4), (1, 6)):
        reader.told(sign, ("A1", number))

    assert violations([said], [reader]) == ["B: 1 rows lost: [('A1', 5)]", "B: 1 rows invented: [('A1', 6)]"]


def test_a_row_that_comes_twice_or_goes_before_it_came_is_noticed_though_all_is_right_in_the_end() -> None:
    said = Said("A1", facts=True, true={4})
    reader = Reader("B", FACTS)

    for sign in (1, 1, -1):
        reader.told(sign, ("A1", 4))

    assert violations([said], [reader]) == ["B: A1 4 is there 2 times"]


@pytest.mark.parametrize(
    ("text", "heard"),
    [(EVENTS, ["A0", "B0"]), ('(rang, "A0", ?n)', ["A0"]), (FACTS, ["A1"]), ("(?what, ?who, ?n)", ["A0", "A1", "B0"])],
)
def test_a_query_asks_for_the_streams_that_it_names(text: str, heard: list[str]) -> None:
    streams = [Said("A0", facts=False), Said("A1", facts=True), Said("B0", facts=False)]

    assert [said.name for said in streams if Reader("B", text).hears(said)] == heard


def test_rows_without_a_name_are_of_the_stream_that_is_asked_for() -> None:
    alone, wild = Reader("B", '(rang, "A0", ?n)'), Reader("B", "(?what, ?who, ?n)")

    alone.told(0, (3,))
    wild.told(0, (RANG, "B0", 4))
    wild.told(1, ("A1", ON, 5))

    assert (alone.events, wild.events, dict(wild.rows)) == ({"A0": [3]}, {"B0": [4]}, {("A1", 5): 1})
