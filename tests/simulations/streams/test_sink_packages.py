"""Machines that write need the packages that are named, and say which one is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from loopback_peer import LoopbackPeer
from pyspark.sql.types import StringType, StructField, StructType

from simulations.engine.packaging import EXECUTORS, WRITERS
from simulations.errors import NotTaken
from simulations.streams.sink import GsgWriter

ROOT = Path(__file__).resolve().parents[3]
OURS = {"gsg", "dht", "rete", "simulations"}
SPARKS = {"pyspark", "py4j"}

WRITE = """
import sys
import pyarrow as pa
from simulations.streams.sink.options import sink_options
from simulations.streams.sink.requests import TaskPlace
from simulations.streams.sink.row_tuples import RowShape
from simulations.streams.sink.task_writer import write_task

rows = pa.RecordBatch.from_pydict({"x": sys.argv[2:], "y": [1]})
for mode in ("facts", "events"):
    options = sink_options({"peers": sys.argv[1], "mode": mode})
    written = write_task(iter([rows]), options, RowShape(("x", "y")), TaskPlace("", "", 0))
    assert (written.rows, written.requests) == (1, 1)
used = {name.partition(".")[0] for name, module in sys.modules.items() if getattr(module, "__file__", None)}
print(*sorted(used - set(sys.stdlib_module_names)))
"""


@pytest.mark.parametrize(
    ("text", "more"),
    [("kitchen", set[str]()), ("<x:kitchen>", set[str]()), ('"the \\"kitchen\\""', {"pyoxigraph"})],
    ids=["symbol", "iri", "escapes"],
)
def test_writing_needs_what_is_named_and_nothing_else(text: str, more: set[str]) -> None:
    with LoopbackPeer() as peer:
        # -S: nothing that this installation imports by itself.
        program = f"import sys\nsys.path[:0] = {[str(ROOT), *sys.path]!r}\n{WRITE}"
        ran = subprocess.run([sys.executable, "-S", "-c", program, peer.url, text], capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")
    used = {name for name in ran.stdout.split() if not name.startswith("_")}
    # What those that are named import themselves.
    theirs = {"typing_extensions", "dateutil", "pytz", "six", "tzdata", "cloudpickle"}
    assert used <= OURS | SPARKS | {*EXECUTORS, *WRITERS} | more | theirs
    assert {*WRITERS, *more} <= used


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = GsgWriter({"peers": "http://127.0.0.1:9"}, StructType([StructField("x", StringType())]), overwrite=False)
    monkeypatch.delitem(sys.modules, "simulations.streams.sink.task_writer", raising=False)
    monkeypatch.setitem(sys.modules, "simulations.streams.sink.outlet", None)

    with pytest.raises(NotTaken, match=r"this machine has no package .*, by which rows are written to peers; install what"):
        writer.write(iter([pa.RecordBatch.from_pydict({"x": ["a"]})]))


def test_the_page_names_them() -> None:
    page = (ROOT / "docs" / "sink.md").read_text("utf-8")

    assert [name for name in (*WRITERS, "pyoxigraph") if f"`{name}`" not in page.partition("## On a cluster")[2]] == []
