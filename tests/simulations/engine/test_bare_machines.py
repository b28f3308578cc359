"""Machines of a cluster have our zip and the packages that are named, and nothing else."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path

import pytest
from pyspark.sql.types import IntegerType, StringType, StructType

from simulations.engine.packaging import DRIVER, EXECUTORS, RDF_READERS, write_package
from simulations.streams.columns import ColumnMaker
from simulations.streams.row_schema import segment_schema
from simulations.streams.stream_reader import GsgStreamReader

ROOT = Path(__file__).resolve().parents[3]

COUNT = """
from simulations.load_balance.balance import peers_table
from simulations.load_balance.counted_tuples import TupleCounter, blocks_of, counts_of_blocks, rows_of_blocks, sums_of_blocks
from simulations.load_balance.peer_loads import loads_in
from simulations.load_balance.peers import Peers, Region
from simulations.load_balance.plan import make_plan
from simulations.load_balance.strategies import STANDARD, parse
from simulations.workload.workload import COMMON_MIX, Synthetic

tuples = Synthetic(300, (20, 3, 20))
for name in (*STANDARD, "choices-2", "bounded-1.25", "maan", "hot-split-10+early-10"):
    plan = make_plan(parse(name), tuples, tuples.subscriptions(20, COMMON_MIX, 1), 9)
    counter = TupleCounter(plan, Peers(9))
    counter.count_chunk(tuples.chunk(0, 300))
    summed = counts_of_blocks(sums_of_blocks([rows_of_blocks(blocks_of(counter.counts))]), plan)
    assert [column.tolist() for column in summed.columns] == [column.tolist() for column in counter.counts.columns]
    loads = loads_in(Region(0, 0), plan, summed, Peers(9))
    loads.histograms()
    assert len(peers_table(loads, Peers(9))) == 9
"""
READ = """
import pyarrow
from simulations.workload.reading.blocks import CodeTable
from simulations.workload.reading.split_reader import read_splits

def rows(format, content):
    place = {"file": ["file:///a/p=7/t.nt"] * len(content), "start": [0] * len(content)}
    batch = pyarrow.RecordBatch.from_pydict({"content": pyarrow.array(content, pyarrow.binary()), **place})
    return [row for made in read_splits(iter([batch]), format) for row in made.to_pylist()]

lines = [b"<a:s> <a:p> <a:o> .", b'_:b <a:p> "text"@en .', b'<a:s> <a:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .']
for format, content in {
    "nt": lines,
    "nq": [line[:-1] + b"<a:g> ." for line in lines],
    "tsv": [b"a\\tb\\t<a:c>"] * 3,
    "jsonl": [b'["a", "b", 1]'] * 3,
    "csv": [b"a,b,<a:c>"] * 3,
}.items():
    assert sum(row["tuples"] or 0 for row in rows(format, content)) == 3, format
for format, content in {"nt": [b'<a:s> <a:p> "\\\\"" .'], "ttl": [b"<a:s> <a:p> <a:o> ."], "tsv": [b"a\\tb\\t<a>"]}.items():
    (seen,) = [row["seen"] for row in rows(format, content) if row["seen"]]
    assert b"takes a parser of RDF, and a machine that reads has none (No module named 'pyoxigraph')" in seen, seen
"""
LOOK_UP = """
from simulations.routing.runs import RoutingRequest, experiment as routing

sweep = routing(RoutingRequest(peers=(30,), lookups=20)).sweeps["lookups"]
assert [way.lookups for way in sweep.play(sweep.cases[0])] == [20]
"""
LOSE = """
from simulations.churn.runs import ChurnRequest, experiment as churn

sweep = churn(ChurnRequest(peers=(30,), tuples=300, subscriptions=50, runs=1, epochs=1)).sweeps["churn"]
assert list(sweep.play(sweep.cases[0]))
"""
OUTLIVE = """
from simulations.churn.lifetime_cases import LifetimesRequest
from simulations.churn.lifetime_runs import experiment as churn

sweep = churn(LifetimesRequest(peers=(30,), tuples=300, subscriptions=50, days=1, runs=1, replicas=(2,))).sweeps["churn"]
assert list(sweep.play(sweep.cases[0]))
"""
SPREAD = """
from simulations.dissemination.cases import DisseminationRequest
from simulations.dissemination.runs import experiment as dissemination

for sweep in dissemination(DisseminationRequest(agents=(60,), views=(5,), settle=3, rounds=3, runs=1)).sweeps.values():
    assert list(sweep.play(sweep.cases[0]))
"""
TELL = """
import numpy as np
from gsg.placement.rules import Anchor
from simulations.subscribers import dates, joins, latency, memories, slow_readers
from simulations.subscribers.counting import Question, in_one_thread
from simulations.subscribers.templates import feeds_of, peers_of_subscribers
from simulations.workload.workload import COMMON_MIX, Synthetic

tuples = Synthetic(300, (20, 3, 20))
feeds = feeds_of(tuples.subscriptions(20, COMMON_MIX, 1), tuples.constants, peers_of_subscribers(20, 9, 1))
assert in_one_thread()(Question(tuples, feeds.templates, feeds.audience)).met.any()
of = tuples, COMMON_MIX, 9, 20, Anchor.RAREST
ranges = dates.Dates(dates.parse_ranges("day=1"))
for sweep in (
    memories.sweep_of(tuples, COMMON_MIX, 9, [100], 1, 1),
    joins.sweep_of(tuples, Anchor.RAREST, joins.Joining(3), [1]),
    dates.sweep_of(*of, ranges, [1]),
    latency.sweep_of(*of, latency.Links(), [1]),
):
    assert list(sweep.play(sweep.cases[0]))
reader = slow_readers.Reader(1, "busiest", feeds.templates, feeds.audience, 0 * feeds.audience, 9, 100)
assert all(len(slow_readers.arrivals(tuples, reader, kind)) for kind in slow_readers.Kind)
"""
READ_STREAM = """
import pickle
import sys
from pathlib import Path

reader, partition = pickle.loads(Path(sys.argv[1]).read_bytes())
assert [row for batch in reader.read(partition) for row in batch.to_pylist()] == [{"x": "a", "sign": 1}, {"x": "b", "sign": -1}]
"""
DRIVE = """
import sys
from gsg.cli.simulate import command

asked = ["load-balance", "--engine", "numpy", "--peers", "9", "--tuples", "300", "--subscriptions", "9", "--strategy", "rarest"]
command([*asked, "--out", sys.argv[1]])
"""


def entries(package: str) -> set[Path]:
    """The folders and modules that a package installs; the folders of libraries that its wheel brings too."""
    found = distribution(package)
    parts = {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "bin", "__pycache__")}
    return {Path(str(found.locate_file(part))) for part in parts}


def required(package: str) -> set[str]:
    """A package, and all that is installed with it."""
    names = {package}
    for requirement in distribution(package).requires or ():
        if ";" not in requirement or "extra" not in requirement.partition(";")[2]:
            try:
                names |= required(re.split(r"[^\w.-]", requirement)[0])
            except ModuleNotFoundError:
                continue  # for another Python or another system
    return names


def run_with(packages: Sequence[str], program: str, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program in a Python that has our zip and these packages alone."""
    write_package(tmp_path / "ours.zip")
    site = tmp_path / "site"
    site.mkdir()
    for name in {name for package in packages for name in required(package)}:
        for entry in entries(name):
            (site / entry.name).symlink_to(entry)
    path = f"import sys\nsys.path[:0] = [{str(tmp_path / 'ours.zip')!r}, {str(site)!r}]\n"
    # -I: nothing of the environment; -S: nothing of what is installed.
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", path + program, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
    )


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("load-balance", COUNT),
        ("reading", READ),
        ("routing", LOOK_UP),
        ("churn", LOSE),
        ("lifetimes", OUTLIVE),
        ("dissemination", SPREAD),
        ("subscribers", TELL),
    ],
)
def test_executors_need_what_is_named_for_them(name: str, program: str, tmp_path: Path) -> None:
    ran = run_with(EXECUTORS, program, tmp_path)

    assert (ran.returncode, ran.stderr) == (0, ""), name


def test_executors_read_the_rows_of_a_stream_with_what_spark_itself_needs(tmp_path: Path) -> None:
    schema = StructType().add("x", StringType()).add("sign", IntegerType())
    options = {"peers": "http://127.0.0.1:1", "query": "(?x)", "spool": str(tmp_path / "spool")}
    reader = GsgStreamReader(options, schema)
    start = reader.initialOffset()
    maker = ColumnMaker([("x", "string")], "plain", segment_schema([("x", "string")]))
    maker.set_variables(("x",))
    reader._open_spool().append([maker.make_batch([1, -1], [("a",), ("b",)], datetime.now(UTC))])
    reader.stop()
    # Who goes on with a spool knows how far it came.
    reader = GsgStreamReader(options, schema)
    [partition] = reader.partitions(start, start | {"position": 2})
    reader.stop()
    (tmp_path / "task").write_bytes(pickle.dumps((reader, partition)))

    ran = run_with([*EXECUTORS, "pyspark"], READ_STREAM, tmp_path, str(tmp_path / "task"))

    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_driver_needs_what_is_named_for_it(tmp_path: Path) -> None:
    ran = run_with([*EXECUTORS, *DRIVER], DRIVE, tmp_path, str(tmp_path / "out"))

    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "out" / "report.html").exists()


def test_a_package_that_is_not_named_is_not_there(tmp_path: Path) -> None:
    ran = run_with(EXECUTORS, "import kademlia", tmp_path)

    assert "No module named 'kademlia'" in ran.stderr


def test_the_page_names_them_all() -> None:
    page = (ROOT / "docs" / "simulation.md").read_text("utf-8")

    machines = page.partition("$ gsg simulate package")[2].partition("## Workloads")[0]
    assert [name for name in (*EXECUTORS, *DRIVER, *RDF_READERS) if name not in machines] == []
