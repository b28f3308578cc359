"""The stages of an experiment, what participants are told, and what is taken from their logs; in a time of the test's own."""

from __future__ import annotations

from random import Random

import pytest

from dht import Contact
from gsg.errors import LocalError, Refused
from gsg.experiments import facilitator as module
from gsg.experiments.facilitator import GONE_US, MAX_ROW, PATIENCE_US, Facilitator, Stage
from gsg.experiments.log import Entry
from gsg.experiments.plan import MAX_PARTICIPANTS, SECOND_US, WARM, Count, Plan, acts_of_topic
from gsg.wire.experiment_messages import Act, ActKind, Orders, Row, RowKind, TakePart

BEGIN_US = 1_000 * SECOND_US
ALL = (1.0,)


def contact(number: int) -> Contact:
    return Contact(bytes([number]) * 20, "10.0.0.1", 8000 + number)


class Bench:
    """A facilitator, and participants that do what they are told and report every second."""

    def __init__(self, plan: Plan, count: int) -> None:
        self.now_us = BEGIN_US
        self.entries: list[Entry] = []
        self.said: list[str] = []
        self.facilitator = Facilitator(plan, Random(1), self.entries.append, self.now_us, self.said.append)
        self.done: dict[int, list[Act]] = {number: [] for number in range(count)}
        self.rows: dict[int, list[Row]] = {number: [] for number in range(count)}
        self.neighbours: dict[int, list[Contact]] = {}
        self.silent: set[int] = set()

    def report(self, number: int, rows: list[Row] | None = None, first: int | None = None) -> Orders:
        told = self.rows[number] if rows is None else rows
        done = self.done[number][-1].number if self.done[number] else 0
        report = TakePart(1, done, first or 1, told, 5, 2)
        orders = self.facilitator.report(contact(number), report, self.now_us)
        for act in orders.acts:
            self.done[number].append(act)
            if act.do is ActKind.SUBSCRIBE:
                self.rows[number].append(Row(RowKind.SUBSCRIBED, self.now_us, act.topic))
            if act.do is ActKind.END:
                self.silent.add(number)
        if orders.neighbours:
            self.neighbours[number] = orders.neighbours
        return orders

    def run(self, until: Stage, seconds: int = 1_000) -> None:
        for _ in range(seconds):
            for number in self.done:
                if number not in self.silent:
                    self.report(number)
            self.facilitator.advance(self.now_us)
            if self.facilitator.stage is until:
                return
            self.now_us += SECOND_US
        raise AssertionError(f"{self.facilitator.stage} after {seconds} s, not {until}")

    def what(self, *kinds: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.what in kinds]


def test_nothing_begins_before_all_have_come() -> None:
    bench = Bench(Plan(4, ALL), 3)
    for number in range(3):
        bench.report(number)
    before = bench.facilitator.stage
    bench.done[3], bench.rows[3] = [], []

    bench.run(Stage.SETTLING)
    bench.now_us += SECOND_US
    for number in range(4):
        bench.report(number)

    assert before is Stage.GATHERING
    assert [entry.peer for entry in bench.what("joined")] == [contact(number).id.hex() for number in range(4)]
    assert {number: len(known) for number, known in bench.neighbours.items()} == dict.fromkeys(range(4), 3)


def test_an_experiment_goes_from_topic_to_topic_to_the_removal_and_its_end() -> None:
    bench = Bench(Plan(8, (0.5, 1.0), removed=0.25, events=3, settle_s=5, watch_s=20), 8)

    bench.run(Stage.OVER)

    assert [(entry.topic, entry.number) for entry in bench.what("topic")] == [("experiment/0.5", 4), ("experiment/1", 8)]
    assert len(bench.what("subscribed")) == 12
    assert len(bench.what("removed")) == len(bench.silent) == 2
    assert bench.what("gone") == []  # those that were removed went as they were told
    assert bench.entries[-1].what == "over"
    assert bench.said == [
        "all 8 have come, and settle for 5 s",
        "4 are to subscribe to experiment/0.5, within 60 s",
        "4 have subscribed to experiment/0.5, and settle for 5 s",
        "events of experiment/0.5 spread among 4 for 19 s",
        "8 are to subscribe to experiment/1, within 60 s",
        "8 have subscribed to experiment/1, and settle for 5 s",
        "events of experiment/1 spread among 8 for 19 s",
        "2 of 8 end as if they were killed; views of the others are logged for 20 s",
        "the experiment is over; peers go on, and Ctrl-C ends each",
    ]
    assert bench.report(min(set(range(8)) - bench.silent)).is_over


def test_each_event_is_published_by_one_and_counts_are_made_by_all() -> None:
    bench = Bench(Plan(6, (0.5,), events=5, settle_s=0), 6)

    bench.run(Stage.OVER)

    acts = [(number, act) for number, done in bench.done.items() for act in done]
    members = {number for number, act in acts if act.do is ActKind.SUBSCRIBE}
    published = {act.event: number for number, act in acts if act.do is ActKind.PUBLISH}
    assert sorted(published) == list(range(1, 1 + WARM + 2 * 5 + 1))
    assert published[1] not in members
    assert {published[number] for number in range(2, 9)} < members
    assert len({published[number] for number in range(2, 9)}) == 1
    for number in range(6):
        assert [act.event for _, act in acts if _ == number and act.do is ActKind.COUNT] == list(
            range(Count.BEGUN, Count.ENDED + 1)
        )


def test_acts_are_told_again_until_they_have_come() -> None:
    bench = Bench(Plan(2, (1.0,), settle_s=0), 2)
    bench.run(Stage.SUBSCRIBING)
    bench.done[0].clear()

    first = bench.report(0).acts
    bench.done[0].clear()
    second = bench.report(0).acts

    assert first == second != []
    assert bench.report(0).acts == []


def test_rows_that_are_told_twice_are_written_once_and_missing_ones_are_counted() -> None:
    bench = Bench(Plan(2, ALL), 1)
    rows = [Row(RowKind.VIEW, number, view=[b"a"]) for number in (1, 2, 3)]

    bench.report(0, rows[:2])
    bench.report(0, rows)
    bench.report(0, rows[:1], first=6)

    assert [entry.at_us for entry in bench.what("view")] == [1 + 5, 2 + 5, 3 + 5, 1 + 5]
    assert (bench.what("view")[0].error_us, bench.what("view")[0].view) == (2, [b"a".hex()])
    assert bench.facilitator.lost == 2


@pytest.mark.parametrize(
    "row",
    [
        Row(RowKind.TOLD, -1),
        Row(RowKind.TOLD, 1 << 63),
        Row(RowKind.TOLD, 1, "t" * 257),
        Row(RowKind.TOLD, 1, publisher=b"p" * 21),
        Row(RowKind.VIEW, 1, view=[b"p"] * 256),
        Row(RowKind.VIEW, 1, view=[b"p" * 21]),
        Row(RowKind.COUNTED, 1, payloads=1 << 63),
    ],
    ids=["before 1970", "no time", "long topic", "long id", "large view", "long id in a view", "no count"],
)
def test_a_row_that_cannot_be_written_is_left_out_and_counted(row: Row) -> None:
    bench = Bench(Plan(2, ALL), 1)

    bench.report(0, [row, Row(RowKind.TOLD, 7)])

    assert [entry.at_us for entry in bench.what("told", "view", "counted")] == [12]
    assert bench.facilitator.lost == 1


def test_a_report_whose_numbers_are_none_is_refused() -> None:
    bench = Bench(Plan(2, ALL), 1)

    with pytest.raises(Refused, match="expected a row from 1"):
        bench.facilitator.report(contact(0), TakePart(1, 0, 0, []), bench.now_us)


def test_one_participant_cannot_fill_the_log_nor_all_of_them_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARE_BYTES", 250)
    monkeypatch.setattr(module, "LOG_BYTES", 350)
    bench = Bench(Plan(2, ALL), 2)
    rows = [Row(RowKind.TOLD, number) for number in (1, 2, 3)]

    bench.report(0, rows)
    bench.report(1, rows)

    assert len(bench.what("told")) == 3
    assert bench.facilitator.lost == 3


def test_there_are_not_more_participants_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PARTICIPANTS", 1)
    bench = Bench(Plan(2, ALL), 2)
    bench.report(0)

    with pytest.raises(Refused, match="has 1 participants, and may have no more"):
        bench.report(1)


def test_who_says_nothing_is_gone_and_nobody_waits_for_it() -> None:
    bench = Bench(Plan(4, ALL, settle_s=1), 4)
    bench.run(Stage.SETTLING)
    bench.silent.add(3)

    bench.run(Stage.SPREADING)

    assert bench.now_us < BEGIN_US + GONE_US + 10 * SECOND_US
    assert [entry.peer for entry in bench.what("gone")] == [contact(3).id.hex()]


def test_who_does_not_subscribe_is_waited_for_and_then_left_out() -> None:
    bench = Bench(Plan(3, (1.0,), settle_s=0), 3)
    bench.run(Stage.SUBSCRIBING)
    bench.rows[2] = []
    bench.done[2].append(Act(1, 0, ActKind.SUBSCRIBE))

    bench.run(Stage.SPREADING)

    assert bench.now_us >= BEGIN_US + PATIENCE_US
    bench.run(Stage.OVER)
    assert {act.event for act in bench.done[2] if act.do is ActKind.PUBLISH} == {1}


def test_a_latecomer_is_told_of_others_and_is_of_the_next_topics() -> None:
    bench = Bench(Plan(2, (1.0,), settle_s=30), 2)
    bench.run(Stage.SETTLING)
    bench.done[7], bench.rows[7] = [], []

    bench.report(7)

    assert {each.id for each in bench.neighbours[7]} == {contact(0).id, contact(1).id}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"participants": 1}, "1 participants; expected 2 to 10000"),
        ({"events": 0}, "0 events; expected 1 to 10000"),
        ({"watch_s": -1.0}, "-1 seconds to watch; expected 0 to 86400"),
        ({"removed": 1.0}, "a share of 1 removed; expected 0 or more, and that some stay"),
        ({"subscribers": (0.33331, 0.33332)}, "shares of 0.3333 twice; expected some that differ in four digits"),
        ({"subscribers": (0.1,)}, "a share of 0.1 of 8 subscribe; expected two at least, and 1 at most"),
    ],
    ids=lambda given: str(given)[:20],
)
def test_a_plan_that_cannot_be_says_so(given: dict[str, object], said: str) -> None:
    with pytest.raises(LocalError) as raised:
        Plan(**given)  # type: ignore[arg-type]  # as given

    assert str(raised.value) == said


def test_acts_of_a_topic_are_in_the_order_of_their_times() -> None:
    acts, over_us = acts_of_topic(Plan(2, ALL, events=3), [b"a", b"b"], [], 100, Random(2))

    assert [act.at_us for act in acts] == sorted(act.at_us for act in acts)
    assert over_us == acts[-1].at_us
    assert acts[-1].do is ActKind.LEAVE


def test_nothing_is_written_any_more_when_the_experiment_is_over() -> None:
    bench = Bench(Plan(2, ALL, events=1, settle_s=0), 2)
    bench.run(Stage.OVER)
    written = len(bench.entries)

    orders = bench.report(0, [Row(RowKind.TOLD, 1)], first=100)

    assert (orders.is_over, orders.acts, len(bench.entries)) == (True, [], written)


def test_rows_that_participants_say_to_have_lost_can_be_written_in_one_column() -> None:
    bench = Bench(Plan(4, ALL), 3)

    for number in range(2):
        bench.report(number, [Row(RowKind.TOLD, 1)], first=MAX_ROW - 1)

    assert MAX_ROW < bench.facilitator.lost <= 2 * MAX_ROW
    assert MAX_PARTICIPANTS * MAX_ROW < 2**63
    with pytest.raises(Refused, match=f"from row {MAX_ROW}, .* expected a row from 1 to {MAX_ROW - 1:,}"):
        bench.report(2, [Row(RowKind.TOLD, 1)], first=MAX_ROW)


def test_bytes_of_a_row_count_its_texts() -> None:
    short, long = (Entry(1, 1, "told", "p" * 40, "x" * length).size_bytes() for length in (1, 256))

    assert long >= short + 255


def test_rows_of_the_future_are_lost() -> None:
    bench = Bench(Plan(2, ALL), 1)
    now_us = bench.now_us

    bench.report(0, [Row(RowKind.VIEW, at_us) for at_us in (now_us, now_us + GONE_US + SECOND_US, 2**61)])

    assert [entry.at_us for entry in bench.what("view")] == [now_us + 5]
    assert bench.facilitator.lost == 2
