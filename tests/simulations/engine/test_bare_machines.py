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

from simulations.engine.packaging import DRIVER, EXECUTORS, write_package
from simulations.streams.columns import ColumnMaker
from simulations.streams.row_schema import segment_schema
from simulations.streams.stream_reader import GsgStreamReader

ROOT = Path(__file__).resolve().parents[3]

COUNT = """
from simulations.load_balance.balance import blocks_of, rows_of_blocks, sums_of_blocks
from simulations.load_balance.plan import make_plan, peer_ids
from simulations.load_balance.strategies import STANDARD, parse
from simulations.load_balance.counted_loads import LoadCounter
from simulations.workload.workload import COMMON_MIX, Synthetic

tuples = Synthetic(300, (20, 3, 20))
for name in STANDARD:
    plan = make_plan(parse(name), tuples, tuples.subscriptions(20, COMMON_MIX, 1), peer_ids(9, 1))
    counter = LoadCounter(plan)
    counter.count_chunk(tuples.chunk(0, 300))
    counted = counter.loads()
    summed = sums_of_blocks([rows_of_blocks(blocks_of(counted))])
    # A strategy that refuses all keys sends nothing.
    assert [seen.tolist() for seen, _, _ in summed.values()] == [counted.tuples.tolist()] * bool(counted.tuples.any())
"""
LOOK_UP = """
from simulations.routing.runs import RoutingRequest, experiment as routing

sweep = routing(RoutingRequest(peers=30, lookups=20)).sweeps["lookups"]
assert [way.lookups for way in sweep.play(sweep.cases[0])] == [20]
"""
LOSE = """
from simulations.churn.runs import ChurnRequest, experiment as churn

sweep = churn(ChurnRequest(peers=30, tuples=300, subscriptions=50, runs=1, epochs=1)).sweeps["churn"]
assert list(sweep.play(sweep.cases[0]))
"""
SPREAD = """
from simulations.dissemination.cases import DisseminationRequest
from simulations.dissemination.runs import experiment as dissemination

for sweep in dissemination(DisseminationRequest(agents=(60,), views=(5,), settle=3, rounds=3, runs=1)).sweeps.values():
    assert list(sweep.play(sweep.cases[0]))
"""
READ = """
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


@pytest.mark.parametrize("program", [COUNT, LOOK_UP, LOSE, SPREAD], ids=["load-balance", "routing", "churn", "dissemination"])
def test_executors_need_what_is_named_for_them(program: str, tmp_path: Path) -> None:
    ran = run_with(EXECUTORS, program, tmp_path)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_executors_read_the_rows_of_a_stream_with_what_spark_itself_needs(tmp_path: Path) -> None:
    schema = StructType().add("x", StringType()).add("sign", IntegerType())
    options = {"peers": "http://127.0.0.1:1", "query": "(?x)", "spool": str(tmp_path / "spool")}
    reader = GsgStreamReader(options, schema)
    start = reader.initialOffset()
    maker = ColumnMaker([("x", "string")], "plain", segment_schema([("x", "string")]))
    maker.begin(("x",))
    reader._opened().append([maker.batch([1, -1], [("a",), ("b",)], datetime.now(UTC))])
    [partition] = reader.partitions(start, start | {"position": 2})
    reader.stop()
    (tmp_path / "task").write_bytes(pickle.dumps((reader, partition)))

    ran = run_with([*EXECUTORS, "pyspark"], READ, tmp_path, str(tmp_path / "task"))

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
    assert [name for name in (*EXECUTORS, *DRIVER) if name not in machines] == []
