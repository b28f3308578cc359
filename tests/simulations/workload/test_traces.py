"""Traces as workloads: what counts, what is left out and told, and anchors in the order of posting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

import rete
from gsg.cli import main
from gsg.monitoring.trace import OPEN, Record, Role, What
from gsg.monitoring.trace_recorder import Parts, Recorder
from gsg.tuples.terms import Symbol, Variable
from gsg.wire.messages import Test as ConditionTest
from simulations.errors import BadWorkload
from simulations.subscribers.traced import received
from simulations.workload import trace_rows
from simulations.workload.anchors_in_order import Step, changes_of, rarest_in_order
from simulations.workload.traces import read_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

P = Symbol("p")
PEER = bytes(range(20))
OTHER = bytes(range(100, 120))

Write = Callable[..., Path]


def published(at_us: int, *items: object, what: What = What.INSERT) -> Record:
    return Record(at_us, what, Role.PUBLISHER, items)  # type: ignore[arg-type]  # terms


def subscribed(at_us: int, number: int, *pattern: object, test: ConditionTest | None = None, begins: bool = True) -> Record:
    template: rete.Template[object] = rete.Template(pattern)
    what = What.SUBSCRIBE if begins else What.UNSUBSCRIBE
    return Record(at_us, what, Role.PUBLISHER, template.pattern, (template, test), [0], "", number)  # type: ignore[arg-type]  # terms


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Leaves the trace of a peer in a folder."""

    def written(*records: Record, peer: bytes = PEER) -> Path:
        recorder = Recorder(lambda run_us: Parts(tmp_path / "trace", peer, run_us), lambda: 1.0)
        recorder.start()
        for record in records:
            recorder.add(record)
        recorder.stop()
        return tmp_path / "trace"

    return written


def balance(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["simulate", "load-balance", "--engine", "numpy", *map(str, arguments)])


def test_what_publishers_of_all_peers_had_is_taken_in_the_order_of_their_clocks(write: Write) -> None:
    write(published(30, "a", P, 3), published(10, "a", P, 1), Record(15, What.INSERT, Role.RENDEZVOUS, ("a", P, 9)))
    trace = read_trace(write(published(20, "a", P, 2, what=What.EVENT), peer=OTHER))

    workload = trace.workload
    assert trace.ids == (PEER.hex(), OTHER.hex())
    assert workload.codes[2].tolist() == [0, 1, 2]
    assert workload.chunk(1, 5).at_s.tolist() == pytest.approx([10e-6, 20e-6])
    assert workload.seconds > 20e-6
    assert (workload.asked, trace.subscriptions, trace.remarks) == (None, 0, ())


def test_what_is_no_triple_is_left_out_and_told(write: Write) -> None:
    folder = write(
        published(1, "a", P, 1),
        published(2, "a", P),
        published(3, Variable("X"), P, 1),
        subscribed(4, 1, None, P),
        subscribed(5, 2, None, P, None),
    )

    trace = read_trace(folder)

    assert (trace.workload.tuples, trace.subscriptions) == (1, 1)
    assert trace.remarks == (
        "2 tuples were left out: triples alone are simulated",
        "1 subscription was left out: triples alone are simulated",
    )


def test_lost_rows_and_unfinished_parts_are_told(write: Write) -> None:
    folder = write(published(1, "a", P, 1), published(2, "\ud800", P, 1), published(3, "a", P, 2))
    (folder / f"x.parquet{OPEN}").write_bytes(b"PAR1")

    trace = read_trace(folder)

    assert trace.workload.tuples == 2
    assert trace.remarks == (
        "1 row was lost while the peers traced: something may be missing",
        "1 unfinished part was left out: a peer still writes it, or was killed",
    )


def test_peers_whose_traces_do_not_end_are_told(write: Write) -> None:
    folder = write(published(1, "a", P, 1))
    (part,) = folder.iterdir()
    write(published(2, "a", P, 2), peer=OTHER)
    parquet.write_table(parquet.read_table(part)[:-1], part)

    assert read_trace(folder).remarks == ("1 peer was killed or still runs: its last rows may be missing",)


def test_a_part_of_a_trace_is_even_and_keeps_codes_times_and_subscriptions(write: Write) -> None:
    folder = write(*(published(number, f"s{number}", P, number % 2) for number in range(10)), subscribed(99, 1, None, P, None))
    workload = read_trace(folder).workload

    part = workload.thinned(4)

    assert (part.tuples, part.codes[0].tolist()) == (4, [0, 2, 5, 7])
    assert [known.facts.tolist() for known in part.constants[1:]] == [[4], [2, 2]]
    assert part.constants[0].facts.tolist() == [1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
    assert part.chunk(0, 4).at_s.tolist() == pytest.approx([0, 2e-6, 5e-6, 7e-6])
    assert (part.seconds, part.asked) == (workload.seconds, workload.asked)


def test_rows_that_make_no_sense_are_counted_and_told(write: Write) -> None:
    folder = write(published(1, "a", P, 1), published(2, "a", P, 2))
    (part,) = folder.iterdir()
    table = parquet.read_table(part)
    terms = table["terms"].to_pylist()
    terms[2] = "[nonsense"
    parquet.write_table(table.set_column(table.column_names.index("terms"), "terms", [terms]), part)

    trace = read_trace(folder)

    assert trace.workload.tuples == 1
    assert trace.remarks[0].startswith(f"1 malformed row was left out: {PEER.hex()[:12]} row 3: ")


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("x.txt", b"", r"cannot read .*trace: no part of a trace \(\.parquet\) is in it; expected a folder of gsg peer --trace"),
        ("x.parquet", b"nonsense", r"cannot read .*x\.parquet: "),
    ],
    ids=["none", "no Parquet"],
)
def test_a_folder_without_a_trace_is_one_clear_line(tmp_path: Path, name: str, data: bytes, complaint: str) -> None:
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / name).write_bytes(data)

    ran = balance("--trace", tmp_path / "trace", "--out", tmp_path / "out")

    assert ran.exit_code == 2
    with pytest.raises(BadWorkload, match=complaint) as refused:
        read_trace(tmp_path / "trace")
    assert ran.stderr == f"gsg: {refused.value}\n"


def test_parquet_of_something_else_is_one_clear_line(tmp_path: Path) -> None:
    import pyarrow

    parquet.write_table(pyarrow.table({"peer": ["x"]}), tmp_path / "x.parquet")

    with pytest.raises(BadWorkload, match=r"cannot read .*x\.parquet: it has no column 'at_us', which a trace of this version has"):
        read_trace(tmp_path)


@pytest.mark.parametrize(
    ("column", "values", "complaint"),
    [
        ("at_us", [None], "'at_us' is empty in some rows, and a trace has it in all"),
        ("row", ["x"], "Failed to parse string: 'x' as a scalar of type int64"),
        ("peer", ["Q1"], "'Q1' is no id of a peer; expected hexadecimal digits"),
    ],
    ids=["empty", "another type", "no peer"],
)
@pytest.mark.parametrize("reader", [read_trace, received])
def test_rows_of_something_else_are_one_clear_line(
    write: Write, reader: Callable[[Path], object], column: str, values: list[object], complaint: str
) -> None:
    import pyarrow

    folder = write(published(1, "a", P, 1))
    (part,) = folder.iterdir()
    table = parquet.read_table(part)
    parquet.write_table(table.set_column(table.column_names.index(column), column, pyarrow.array(values * len(table))), part)

    with pytest.raises(BadWorkload, match=rf"cannot read .*\.parquet: {complaint}"):
        reader(folder)


def test_parts_without_rows_are_one_clear_line(write: Write) -> None:
    folder = write(published(1, "a", P, 1))
    (part,) = folder.iterdir()
    parquet.write_table(parquet.read_table(part).slice(0, 0), part)

    with pytest.raises(BadWorkload, match=r"cannot read .*: no row is in its parts; expected a folder of gsg peer --trace"):
        received(folder)


@pytest.mark.parametrize("limit", ["MAX_ROWS", "MAX_BYTES"])
def test_more_of_a_trace_than_the_driver_holds_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    folder = write(*(published(number, f"s{number}", P, number) for number in range(4)))
    monkeypatch.setattr(trace_rows, limit, 3)

    with pytest.raises(BadWorkload, match=r"rows of publishers, or .* bytes of them, and one process reads all of it here"):
        read_trace(folder)


def test_a_trace_whose_text_is_none_is_one_clear_line(write: Write) -> None:
    import pyarrow

    folder = write(published(1, "a", P, 1))
    (part,) = folder.iterdir()
    table = parquet.read_table(part)
    invalid = pyarrow.Array.from_buffers(pyarrow.string(), len(table), pyarrow.array([b"\xff"] * len(table)).buffers())
    parquet.write_table(table.set_column(table.column_names.index("terms"), "terms", invalid), part)

    with pytest.raises(BadWorkload, match=r"cannot read .*\.parquet: .*Invalid UTF8 sequence"):
        read_trace(folder)


def test_a_trace_of_no_triples_is_one_clear_line(write: Write) -> None:
    with pytest.raises(BadWorkload, match=r"has no triples that were published while peers traced \(1 tuple was left out"):
        read_trace(write(published(1, "a", P)))


def test_a_trace_may_get_other_peers_and_other_subscriptions(write: Write, tmp_path: Path) -> None:
    folder = write(*(published(number, f"s{number}", P, number) for number in range(20)), subscribed(99, 1, None, P, None))

    own = balance("--trace", folder, "--out", tmp_path / "own", "--strategy", "rarest")
    more = balance("--trace", folder, "--peers", "7", "--subscriptions", "9", "--out", tmp_path / "more", "--strategy", "rarest")

    assert (own.exit_code, more.exit_code) == (0, 0), own.output + more.output
    assert parquet.read_table(tmp_path / "own" / "peers" / "strategy=rarest").to_pydict() == {
        "peer": [0],
        "id": [PEER.hex()],
        "tuples": [60],
        "subscriptions": [1],
        "templates": [1],
        "work": [20],
    }
    others = parquet.read_table(tmp_path / "more" / "peers" / "strategy=rarest")
    assert (len(others), sum(others["tuples"].to_pylist()), sum(others["subscriptions"].to_pylist())) == (7, 60, 9)
    assert {len(peer) for peer in others["id"].to_pylist()} == {16}


def test_all_strategies_take_a_trace(write: Write, tmp_path: Path) -> None:
    folder = write(
        *(published(number, f"s{number % 3}", P, number % 5) for number in range(40)),
        *(subscribed(50 + number, number, f"s{number % 3}", P, None) for number in range(12)),
        subscribed(80, 100, None, None, None),
    )

    ran = balance("--trace", folder, "--peers", "30", "--out", tmp_path / "out")

    assert ran.exit_code == 0, ran.output
    assert "hot-split-10+demand+virtual-8" in ran.stdout


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--events", "x.tsv"], "gsg: --trace and --events are two workloads; expected one of them\n"),
        ([], "gsg: nobody subscribed to triples in {}; say how many to make, with --subscriptions\n"),
        (["--subscriptions", "0"], "gsg: 0 subscriptions; expected 1 to 67108864\n"),
        (["--peers", "0"], "gsg: 0 peers; expected 1 to 67108864\n"),
    ],
    ids=["two workloads", "no subscriptions", "none wanted", "no peers"],
)
def test_impossible_options_are_one_clear_line(write: Write, tmp_path: Path, options: list[str], complaint: str) -> None:
    folder = write(published(1, "a", P, 1))

    ran = balance("--trace", folder, "--out", tmp_path / "out", *options)

    assert (ran.exit_code, ran.stderr) == (2, complaint.format(folder))


# --- as a stream -----------------------------------------------------------------------------------------------------------


def test_a_trace_is_a_stream_of_files_for_spark(spark: SparkSession, write: Write, tmp_path: Path) -> None:
    # As docs/simulation.md has it.
    traces = str(write(published(1, "a", P, 1), published(2, "b", P, 2), subscribed(3, 1, "a", P, None)))
    (tmp_path / "trace" / f"half{OPEN}").write_bytes(b"not finished")
    schema = spark.read.option("pathGlobFilter", "*.parquet").parquet(traces).schema
    rows = spark.readStream.schema(schema).option("pathGlobFilter", "*.parquet").parquet(traces)
    inserted = rows.where("role = 'publisher' and what = 'insert'").select("at_us", "terms")

    def run() -> list[list[object]]:
        stream = inserted.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        stream.trigger(availableNow=True).start(str(tmp_path / "lake")).awaitTermination()
        return [list(row) for row in spark.read.parquet(str(tmp_path / "lake")).orderBy("at_us").collect()]

    first = run()
    write(published(4, "c", P, 3), peer=OTHER)
    second = run()

    assert first == [[1, '["a",[1,"p"],1]'], [2, '["b",[1,"p"],2]']]
    assert second == [*first, [4, '["c",[1,"p"],3]']]


# --- anchors in the order of posting ---------------------------------------------------------------------------------------


def anchors(tuples: list[tuple[int, int]], templates: list[tuple[int, int]], steps: list[Step], **kinds: list[int]) -> list[int]:
    """Of pairs, all of which come and stay."""
    columns = [np.array(column) for column in zip(*tuples, strict=True)]
    alike = [0] * len(templates)
    return rarest_in_order(
        columns,
        np.ones(len(tuples), dtype=np.int8),
        np.array(templates).T,
        np.array(kinds.get("kinds", alike)),
        np.array(kinds.get("untested", alike)),
        steps,
    ).tolist()


def test_rarest_is_what_was_rarest_then() -> None:
    tuples = [(0, 0), (1, 0), (0, 1), (0, 2)]

    assert anchors(tuples, [(0, 0), (0, 0), (0, 0)], [Step(0, 0), Step(2, 1), Step(4, 2)]) == [0, 0, 0]
    assert anchors(tuples, [(0, 0)], [Step(2, 0)]) == [0]
    assert anchors(tuples, [(0, 0)], [Step(4, 0)]) == [1]


def test_where_two_are_as_rare_the_templates_there_decide_until_they_end() -> None:
    tuples = [(0, 0)]
    templates = [(0, 1), (0, 0), (0, 0)]

    assert anchors(tuples, [(0, -1), (0, 0)], [Step(1, 0), Step(1, 1)]) == [0, 1]
    assert anchors(tuples, [(0, -1), (0, 0)], [Step(1, 0), Step(1, 0, begins=False), Step(1, 1)]) == [0, 0]
    assert anchors(tuples, templates[1:], [Step(1, 0), Step(1, 1)]) == [0, 0]


def test_a_template_that_is_posted_already_is_used_again_unless_it_has_a_test() -> None:
    tuples = [(number, 0) for number in range(1, 10)] + [(0, number) for number in range(1, 20)]
    steps = [Step(0, 0), Step(28, 1)]

    assert anchors(tuples, [(0, 0), (0, 0)], steps) == [0, 0]
    assert anchors(tuples, [(0, 0), (0, 0)], steps, kinds=[1, 1], untested=[0, 0]) == [0, 1]


def test_a_template_without_constants_has_no_anchor() -> None:
    assert anchors([(0, 0)], [(-1, -1)], [Step(1, 0), Step(1, 0, begins=False)]) == [-1]


def test_facts_are_a_set() -> None:
    tuples = [np.array([0, 0, 0, 1, 0, 0]), np.array([0, 0, 0, 0, 0, 0])]

    assert changes_of(tuples, [1, 1, 0, -1, -1, -1]).tolist() == [1, 0, 0, 0, -1, 0]


def test_templates_that_differ_in_tests_are_counted_each_and_equal_ones_once(write: Write, tmp_path: Path) -> None:
    test = ConditionTest("filter", "x")
    folder = write(
        published(1, "a", P, 1),
        *(subscribed(2, number, None, P, None) for number in range(3)),
        *(subscribed(2, 10 + number, None, P, None, test=test) for number in range(2)),
        subscribed(2, 20, None, P, 7),
    )

    ran = balance("--trace", folder, "--out", tmp_path / "out", "--strategy", "rarest")

    assert ran.exit_code == 0, ran.output
    table = parquet.read_table(tmp_path / "out" / "peers" / "strategy=rarest").to_pydict()
    assert (table["templates"], table["subscriptions"]) == ([3], [6])
