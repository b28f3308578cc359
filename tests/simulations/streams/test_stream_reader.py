"""A reader as Spark drives it, with a real peer: what comes, what comes again after a restart, and what is told."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from loopback_peer import LoopbackPeer
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows
from pyspark.sql.types import IntegerType, LongType, StringType, StructType, TimestampType

import gsg
from gsg.errors import BadText, PeerUnreachable
from simulations.errors import BadParameter, BadSpool
from simulations.streams import stream_reader
from simulations.streams.receiver import EventsMissed
from simulations.streams.stream_reader import GsgStreamReader, Offset
from simulations.streams.worker_errors import HIDE_TRACEBACK

pytestmark = pytest.mark.waits

ON = gsg.Symbol("on")
SCHEMA = StructType().add("x", StringType()).add("y", LongType()).add("sign", IntegerType()).add("position", LongType())
QUERY = "(?x, ^on, ?y)"

Said = tuple[str | None, int | None, int | None]
"""x, y and the sign of a row."""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reader tells the reports of its worker is not to be told to Spark, which another test may start."""
    monkeypatch.setenv(HIDE_TRACEBACK, "")


@pytest.fixture
def peer() -> Iterator[LoopbackPeer]:
    with LoopbackPeer() as made:
        yield made


@contextmanager
def reading(peer: LoopbackPeer, folder: Path, **options: str) -> Iterator[GsgStreamReader]:
    """A reader of the spool in this folder. Leaving is as the end of its process, except that locks are left at once."""
    given = {"peers": peer.url, "query": QUERY, "spool": str(folder / "spool")} | options
    reader = GsgStreamReader(given, SCHEMA)
    try:
        yield reader
    finally:
        reader.stop()


def rows(reader: GsgStreamReader, start: Offset, end: Offset) -> list[Said]:
    """What executors would read, each with a reader of its own."""
    executor = pickle.loads(pickle.dumps(reader))
    read = [row for part in reader.partitions(start, end) for batch in executor.read(part) for row in batch.to_pylist()]
    assert [row["position"] for row in read] == list(range(start["position"] + 1, end["position"] + 1))
    return [(row["x"], row["y"], row["sign"]) for row in read]


def until(reader: GsgStreamReader, start: Offset, number: int, limit: ReadLimit | None = None) -> Offset:
    """The offset so many rows further, or more."""
    end = start
    while end["position"] < start["position"] + number:
        end = reader.latestOffset(end, limit or ReadAllAvailable())
    return end


def sums(told: list[Said]) -> Counter[tuple[str | None, int | None]]:
    found = Counter[tuple[str | None, int | None]]()
    for x, y, sign in told:
        found[x, y] += sign or 0
    return Counter({row: count for row, count in found.items() if count})


def test_the_answer_comes_first_and_then_its_differences_and_events(peer: LoopbackPeer, tmp_path: Path) -> None:
    peer.insert(("a", ON, 1), ("b", ON, 2))
    with reading(peer, tmp_path) as reader:
        start = reader.initialOffset()
        first = until(reader, start, 2)
        peer.insert(("c", ON, 3))
        second = until(reader, first, 1)
        peer.retract(("a", ON, 1))
        third = until(reader, second, 1)
        peer.notify(("d", ON, 4))
        last = until(reader, third, 1)

        assert sorted(rows(reader, start, first)) == [("a", 1, 1), ("b", 2, 1)]
        assert rows(reader, first, last) == [("c", 3, 1), ("a", 1, -1), ("d", 4, 0)]
        assert reader.reportLatestOffset() == last


def test_an_answer_without_rows_is_no_reason_to_wait(peer: LoopbackPeer, tmp_path: Path) -> None:
    with reading(peer, tmp_path) as reader:
        start = reader.initialOffset()

        assert reader.latestOffset(start, ReadAllAvailable()) == start
        assert reader.partitions(start, start) == []


def test_a_query_that_is_killed_twenty_times_between_reading_and_committing_has_each_row_once(
    peer: LoopbackPeer, tmp_path: Path
) -> None:
    rng, committed = Random(7), list[Said]()
    facts: set[tuple[str, gsg.Symbol, int]] = set()
    start: Offset | None = None
    with gsg.Client(peer.url) as client:
        for _ in range(20):
            goes = set(rng.sample(sorted(facts, key=str), len(facts) // 3))
            come = {(f"x{rng.randrange(100)}", ON, rng.randrange(100)) for _ in range(20)} - facts
            client.retract(goes)
            client.insert(come)
            facts = facts - goes | come
            with reading(peer, tmp_path) as killed:
                start = killed.initialOffset() if start is None else start
                lost = until(killed, start, len(goes) + len(come))
                read_and_lost = rows(killed, start, lost)
            with reading(peer, tmp_path) as again:
                # As Spark does, which has written down where the batch ends.
                committed += rows(again, start, lost)
                again.commit(lost)
                assert committed[-len(read_and_lost) :] == read_and_lost
                start = lost

    assert sums(committed) == Counter({(x, y): 1 for x, _, y in facts})
    assert start is not None
    assert len(committed) == start["position"]


def test_what_changed_while_nobody_read_comes_as_the_difference(peer: LoopbackPeer, tmp_path: Path) -> None:
    peer.insert(("a", ON, 1), ("b", ON, 2))
    with reading(peer, tmp_path) as reader:
        first = until(reader, reader.initialOffset(), 2)
        reader.commit(first)
    peer.insert(("c", ON, 3))
    peer.retract(("a", ON, 1))

    with reading(peer, tmp_path) as again:
        last = until(again, first, 2)

        assert rows(again, first, last) == [("a", 1, -1), ("c", 3, 1)]


def test_a_peer_that_is_lost_and_comes_back_is_followed_by_the_difference(peer: LoopbackPeer, tmp_path: Path) -> None:
    peer.insert(("a", ON, 1), ("b", ON, 2))
    with reading(peer, tmp_path) as reader:
        first = until(reader, reader.initialOffset(), 2)
        peer.lose()
        peer.start()
        # It has nothing on a disk: what it knew is gone.
        second = until(reader, first, 2)
        peer.insert(("b", ON, 2))
        last = until(reader, second, 1)

        assert sorted(rows(reader, first, second)) == [("a", 1, -1), ("b", 2, -1)]
        assert rows(reader, second, last) == [("b", 2, 1)]


def test_events_that_may_have_been_missed_are_a_row_without_a_sign_where_that_is_asked_for(
    peer: LoopbackPeer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with reading(peer, tmp_path, onGap="row") as reader:
        start = reader.initialOffset()
        reader.latestOffset(start, ReadAllAvailable())
        peer.lose()
        peer.start()
        after_loss = until(reader, start, 1)
        assert rows(reader, start, after_loss) == [(None, None, None)]
    with reading(peer, tmp_path, onGap="row") as again:
        after_restart = until(again, after_loss, 1)
        peer.notify(("e", ON, 1))
        last = until(again, after_restart, 1)

        assert rows(again, after_loss, last) == [(None, None, None), ("e", 1, 0)]
    lost, stopped = [record.message for record in caplog.records if "events in between may have been missed" in record.message]
    assert "connected to" in lost
    assert "; rows of facts follow as a difference, and events in between may have been missed, if there were any" in lost
    assert "go on reading" not in lost
    assert stopped.startswith("the stream was stopped; rows of facts follow as a difference, and events in between may have been")
    assert "if there were any: no peer can say that" in stopped


def test_events_that_may_have_been_missed_end_the_stream_where_that_is_asked_for(peer: LoopbackPeer, tmp_path: Path) -> None:
    with reading(peer, tmp_path, onGap="fail") as reader:
        start = reader.initialOffset()
        reader.latestOffset(start, ReadAllAvailable())
        peer.lose()
        peer.start()

        with pytest.raises(EventsMissed, match=r"may have been missed.*start the query again to go on"):
            until(reader, start, 1)
    with reading(peer, tmp_path, onGap="fail") as again:
        assert again.latestOffset(start, ReadAllAvailable()) == start


def test_a_micro_batch_has_no_more_rows_than_it_may(peer: LoopbackPeer, tmp_path: Path) -> None:
    peer.insert(*[("a", ON, number) for number in range(10)])
    with reading(peer, tmp_path, maxRowsPerBatch="4") as reader:
        limit = reader.getDefaultReadLimit()
        ends = [reader.initialOffset()]
        until(reader, ends[0], 10)
        for _ in range(4):
            ends.append(reader.latestOffset(ends[-1], limit))
        read = [rows(reader, start, end) for start, end in pairwise(ends)]

    assert limit == ReadMaxRows(4)
    assert [len(batch) for batch in read] == [4, 4, 2, 0]
    assert sums([row for batch in read for row in batch]) == Counter({("a", number): 1 for number in range(10)})


def test_what_is_available_now_ends_though_more_comes(peer: LoopbackPeer, tmp_path: Path) -> None:
    peer.insert(*[("a", ON, number) for number in range(5)])
    with reading(peer, tmp_path) as reader:
        start = reader.initialOffset()
        reader.prepareForTriggerAvailableNow()
        first = reader.latestOffset(start, ReadMaxRows(3))
        peer.insert(("b", ON, 1))
        second = reader.latestOffset(first, ReadMaxRows(3))

        assert len(rows(reader, start, second)) == 5
        assert reader.latestOffset(second, ReadMaxRows(3)) == second


def test_a_spool_that_is_full_waits_for_spark_and_nothing_of_facts_is_lost(
    peer: LoopbackPeer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("simulations.streams.receiver.WAITING_BYTES", 5_000)
    monkeypatch.setattr("simulations.streams.receiver.SEGMENT_ROWS", 10)
    with reading(peer, tmp_path, maxSpoolBytes="1") as reader, gsg.Client(peer.url) as client:
        start = end = reader.initialOffset()
        reader.latestOffset(start, ReadAllAvailable())
        for number in range(100):
            client.insert([("a", ON, number * 10 + part) for part in range(10)])
        unread = reader.reportLatestOffset()
        told = list[Said]()
        while len(sums(told)) < 1_000:
            end = reader.latestOffset(start, ReadAllAvailable())
            told += rows(reader, start, end)
            start = end

    assert unread is not None
    assert unread["position"] < 1_000
    assert sums(told) == Counter({("a", number): 1 for number in range(1_000)})
    assert sum("is full" in record.message for record in caplog.records) == 1
    assert any(
        "the spool was full for some time; rows of facts follow as a difference" in record.message for record in caplog.records
    )


def test_what_is_available_now_is_found_though_the_spool_is_full_and_a_gap_is_to_be_a_row(
    peer: LoopbackPeer, tmp_path: Path
) -> None:
    peer.insert(("a", ON, 1))
    with reading(peer, tmp_path) as reader:
        start = reader.initialOffset()
        until(reader, start, 1)
    with reading(peer, tmp_path, onGap="row", maxSpoolBytes="1") as again:
        again.prepareForTriggerAvailableNow()

        end = until(again, start, 2)

        assert rows(again, start, end) == [("a", 1, 1), (None, None, None)]


def test_many_rows_are_several_tasks(peer: LoopbackPeer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_reader, "PARTITION_ROWS", 1_000)
    with gsg.Client(peer.url, wait_for_quota=True) as client, reading(peer, tmp_path) as reader:
        start = reader.initialOffset()
        for first in (0, 1_000):  # rows that came at another time are another segment
            client.insert([("a", ON, value) for value in range(first, first + 1_000)])
            end = until(reader, start, first + 1_000)

        assert len(reader.partitions(start, end)) == 2
        assert len(set(rows(reader, start, end))) == 2_000


def test_nobody_who_answers_is_told(tmp_path: Path) -> None:
    reader = GsgStreamReader({"peers": "http://127.0.0.1:1", "query": QUERY, "spool": str(tmp_path / "spool")}, SCHEMA)

    with pytest.raises(PeerUnreachable, match=r"http://127.0.0.1:1"):
        until(reader, reader.initialOffset(), 1)
    reader.stop()


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"query": "(?x, ^on ?y)"}, BadText, r"line 1, column 10: unexpected"),
        ({"query": "(?x, ^on, ?z)"}, BadParameter, r"a column y, which is no variable of the query; expected some of x, z"),
    ],
    ids=["a mistake", "another variable"],
)
def test_a_query_that_does_not_fit_is_told(
    peer: LoopbackPeer, tmp_path: Path, options: dict[str, str], kind: type[Exception], said: str
) -> None:
    with reading(peer, tmp_path, **options) as reader, pytest.raises(kind, match=said):
        until(reader, reader.initialOffset(), 1)


def test_a_spool_that_another_checkpoint_has_read_is_refused(peer: LoopbackPeer, tmp_path: Path) -> None:
    peer.insert(("a", ON, 1))
    with reading(peer, tmp_path) as reader:
        end = until(reader, reader.initialOffset(), 1)
        folding: Callable[..., Any] = reader._open_spool()._fold  # Any: that of a spool
        folding(reader._open_spool().segments_between(0, 1))

        with pytest.raises(BadSpool, match="was read up to row 1 by a query with another checkpoint"):
            reader.initialOffset()
        with pytest.raises(BadSpool, match="goes on with the spool number other"):
            reader.latestOffset(end | {"spool": "other"}, ReadAllAvailable())


def test_a_spool_that_is_older_than_its_checkpoint_is_refused_whatever_is_received_since(
    peer: LoopbackPeer, tmp_path: Path
) -> None:
    with reading(peer, tmp_path) as reader:
        checkpoint = reader.initialOffset() | {"position": 1}
    peer.insert(("a", ON, 1), ("b", ON, 2))

    with reading(peer, tmp_path) as again:
        again.prepareForTriggerAvailableNow()

        with pytest.raises(BadSpool, match=r"the checkpoint has come to row 1 and the spool .* to 0"):
            again.latestOffset(checkpoint, ReadAllAvailable())


def test_rows_say_when_they_were_received(peer: LoopbackPeer, tmp_path: Path) -> None:
    before = datetime.now(UTC)
    peer.insert(("a", ON, 1))
    given = {"peers": peer.url, "query": QUERY, "spool": str(tmp_path)}
    reader = GsgStreamReader(given, StructType().add("at", TimestampType()))
    start = reader.initialOffset()
    end = until(reader, start, 1)

    [batch] = [batch for part in reader.partitions(start, end) for batch in reader.read(part)]
    reader.stop()

    assert before <= batch.to_pylist()[0]["at"] <= datetime.now(UTC)
