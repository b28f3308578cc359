"""Replay on Spark beside replay in memory, which is held against a live space (test_relations.py)."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from simulations.errors import BadParameter, BadWorkload
from simulations.replay.answering import Line, Numbers, Request, Stays, answer, in_this_process, on_spark, summary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = "SUBSCRIBE ?x, ?y { (?x, p, ?y), (*, ?y), NOT { (?y, q, ?z), FILTER ?z != ?x } }"
"""A join, and a NOT with a test that takes two facts; rows come several times because of what is not shown."""
NESTED = "SUBSCRIBE DISTINCT ?x, ?X { (?x, p, ?X), NOT { (q, b), NOT { (p, ?z) } } }"
"""NOT in NOT that share no variable, and names that differ in case alone."""


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a history of 600 changes in three files, and two lines that are none."""
    folder, chance = tmp_path_factory.mktemp("history"), random.Random(6)
    for number in range(3):
        lines = ["nonsense"] if number else []
        for _ in range(200):
            items = [chance.choice("abcd"), chance.choice("pq"), chance.choice(["a", "b", "c", 1, 2])][chance.choice((0, 0, 1)) :]
            lines.append(json.dumps({"time": chance.randrange(80) / 2, "sign": chance.choice("++-"), "tuple": items}))
        (folder / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def in_memory(request: Request) -> tuple[list[Line], Numbers]:
    with answer(request, in_this_process) as found:
        return list(found.rows.lines()), summary(found)


def test_the_result_does_not_depend_on_partitions(spark: SparkSession, events: Path) -> None:
    from pyspark.testing import assertDataFrameEqual

    request = Request(WHOLE, str(events))
    expected, numbers = in_memory(request)

    with ExitStack() as answers:
        found = [answers.enter_context(answer(request, partial(on_spark, spark, partitions=cut))) for cut in (1, 3, 16)]
        # Counted, and so computed and kept, each with its own number of partitions.
        assert [summary(one) for one in reversed(found)] == [numbers] * 3
        frames = [cast(Stays, one.rows).frame for one in found]
        assertDataFrameEqual(frames[1], frames[0])
        assertDataFrameEqual(frames[2], frames[0])
        assert list(found[0].rows.lines()) == expected


def test_rows_come_several_times_and_go(events: Path) -> None:
    """What the comparisons above and below would not be worth much without."""
    lines, numbers = in_memory(Request(WHOLE, str(events)))

    assert max(Counter(lines).values()) > 1
    assert 0 < numbers["holding"] < numbers["rows"]
    assert numbers["malformed"] == 2


def test_spark_answers_as_one_process_does(spark: SparkSession, events: Path) -> None:
    request = Request(NESTED, str(events))

    with answer(request, partial(on_spark, spark)) as found:
        assert (list(found.rows.lines()), summary(found)) == in_memory(request)


def test_a_file_that_is_damaged_inside_is_one_clear_line(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.nt.gz").write_bytes(gzip.compress(b"<a:s> <a:p> <a:o> .\n" * 1000)[:-20])

    for engine in (partial(on_spark, spark), in_this_process):
        with (
            pytest.raises(BadWorkload, match=r"^cannot read .*t\.nt\.gz: damaged, or not gzip at all$"),
            answer(Request("(?x, <a:p>, ?y)", str(tmp_path)), engine),
        ):
            pass


def test_no_partitions_are_refused(spark: SparkSession) -> None:
    with pytest.raises(BadParameter, match="0 partitions; expected 1 or more"):
        on_spark(spark, partitions=0)
