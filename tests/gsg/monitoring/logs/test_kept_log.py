"""The last records of the log: bounded, numbered, and kept whatever stands in them."""

from __future__ import annotations

import logging
from datetime import datetime
from threading import Thread

import msgspec
import pytest

from gsg.monitoring.logs.kept import MAX_BYTES, MAX_RECORDS, KeptLog, kept_log
from gsg.monitoring.logs.kinds import OF_A_KIND, WINDOW_S


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(clock: Clock) -> KeptLog:
    return KeptLog(clock)


def say(kept: KeptLog, message: object, *arguments: object, level: int = logging.INFO, line: int = 7, **about: object) -> None:
    record = logging.LogRecord("gsg.churn", level, "here.py", line, message, arguments, None)
    record.__dict__.update(about)
    if level >= kept.level:  # as a logger does
        kept.handle(record)


def say_all(kept: KeptLog, count: int, text: str = "") -> None:
    for number in range(count):
        say(kept, "%d%s", number, text, line=number)


def test_a_record_has_its_fields_and_its_number(kept: KeptLog) -> None:
    say(kept, "%s came", "it", peer="ab")
    say(kept, "not for those who ask", level=logging.DEBUG)
    say(kept, "odd", level=logging.WARNING, client="10.0.0.1:7")

    page = kept.page()

    assert [(each.number, each.level, each.logger, each.message, each.peer, each.client) for each in page.records] == [
        (1, "INFO", "gsg.churn", "it came", "ab", ""),
        (2, "WARNING", "gsg.churn", "odd", "", "10.0.0.1:7"),
    ]
    assert (page.first, page.last) == (1, 2)
    assert datetime.fromisoformat(page.records[0].time).utcoffset() is not None


def test_beyond_the_bound_the_oldest_go_and_the_first_number_says_so(kept: KeptLog) -> None:
    say_all(kept, MAX_RECORDS + 3)

    page = kept.page()

    assert (page.first, page.last, len(page.records)) == (4, MAX_RECORDS + 3, MAX_RECORDS)
    assert [each.number for each in kept.page(MAX_RECORDS).records] == [MAX_RECORDS + 1, MAX_RECORDS + 2, MAX_RECORDS + 3]
    assert kept.page(MAX_RECORDS + 3).records == []


def test_long_records_leave_room_for_fewer(kept: KeptLog) -> None:
    say_all(kept, MAX_RECORDS, text="x" * 5_000)

    page = kept.page()

    assert len(msgspec.json.encode(page.records)) <= MAX_BYTES + len(page.records) + 2
    assert 40 < len(page.records) < 60
    assert page.records[-1].number == MAX_RECORDS


def test_where_nothing_was_said_there_is_no_number(kept: KeptLog) -> None:
    page = kept.page()

    assert (page.records, page.first, page.last) == ([], 1, 0)


def test_many_of_a_kind_leave_the_others_their_room(kept: KeptLog, clock: Clock) -> None:
    say(kept, "before", line=1)
    for number in range(2 * MAX_RECORDS):
        say(kept, "a stranger said %d", number, line=2)
    say(kept, "after", line=3)
    clock.now_s = WINDOW_S

    messages = [each.message for each in kept.page().records]

    assert (messages[0], messages[1], messages[-2]) == ("before", "a stranger said 0", "after")
    assert messages[-1] == f"{2 * MAX_RECORDS - OF_A_KIND:,} more like this in 60 s, the last: a stranger said %d"
    assert len(messages) == OF_A_KIND + 3


def test_what_cannot_be_formatted_is_told_and_what_is_no_text_kept(kept: KeptLog) -> None:
    say(kept, "%d of %s", "one", line=1)
    say(kept, ValueError("odd"), line=2)
    say(kept, "a file \udcff", line=3)

    first, second, third = [each.message for each in kept.page().records]

    assert first.startswith("a line of the log from here.py:1 could not be formatted: ")
    assert (second, third) == ("odd", "a file \\udcff")


def test_a_traceback_is_a_field(kept: KeptLog) -> None:
    logger = logging.Logger("gsg.defect")
    logger.addHandler(kept)
    try:
        raise ValueError("odd")
    except ValueError:
        logger.exception("failed")

    [told] = kept.page().records
    assert told.exception.endswith("ValueError: odd")


def test_threads_that_log_at_once_get_numbers_of_their_own(kept: KeptLog) -> None:
    threads = [
        Thread(target=lambda first: [say(kept, "said", line=first + each) for each in range(50)], args=(50 * number,))
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [each.number for each in kept.page().records] == list(range(1, 201))


def test_that_of_the_process_is_found(kept: KeptLog) -> None:
    before = kept_log()
    logging.getLogger().addHandler(kept)
    found = kept_log()
    logging.getLogger().removeHandler(kept)

    assert (before, found) == (None, kept)
