"""The files of a trace: closed parts, and what becomes of rows when the disk fails or is slow."""

from __future__ import annotations

import logging
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from pyarrow import parquet

import rete
from gsg.errors import LocalError, Unsupported
from gsg.monitoring import trace_recorder as recorder
from gsg.monitoring.trace import OPEN, Record, Role, What, part_name
from gsg.monitoring.trace_recorder import PART_S, Parts, Recorder, Row
from gsg.wire.messages import Test as ConditionTest

PEER = bytes(range(20))


def row(number: int) -> Row:
    return (number, 1, "insert", "publisher", f'["x",{number}]', None, [0, 1], None, None, 5, True, 0, 0, None, 7)


def rows_in(folder: Path) -> list[int]:
    return [number for part in sorted(folder.glob("*.parquet")) for number in parquet.read_table(part)["row"].to_pylist()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "made" / "here"


@pytest.fixture
def parts(folder: Path) -> Parts:
    return Parts(folder, PEER, 3)


def test_a_part_is_readable_once_it_is_closed_and_not_before(parts: Parts, folder: Path) -> None:
    parts.write([row(1), row(2)], 0.0)
    parts.write([row(3)], PART_S - 1)
    before = rows_in(folder)
    parts.write([], PART_S)

    assert (before, rows_in(folder), parts.written) == ([], [1, 2, 3], 3)
    (part,) = folder.iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, part)] == [0o700, 0o600]
    assert part.name == part_name(PEER, 3, 1)
    assert parquet.ParquetFile(part).num_row_groups == 2


def test_a_large_part_is_closed_before_its_time(parts: Parts, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "PART_ROWS", 2)

    for number in range(1, 6):
        parts.write([row(number)], 0.0)

    assert rows_in(folder) == [1, 2, 3, 4]
    assert len(list(folder.glob(f"*{OPEN}"))) == 1


def test_rows_that_cannot_be_written_are_counted_and_the_next_go_to_another_part(parts: Parts, folder: Path) -> None:
    shutil.rmtree(folder)
    said = parts.write([row(1)], 0.0)
    folder.mkdir()
    parts.write([row(2)], 1.0)
    parts.close()

    assert "no such file or directory" in said
    assert (rows_in(folder), parts.written, parts.lost) == ([2], 1, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the size of files")
def test_a_full_disk_loses_the_part_that_was_open_and_leaves_nothing_unreadable(tmp_path: Path) -> None:
    # A process of its own: the limit is for all of its files.
    ran = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=True)

    assert ran.stdout.split("\n") == ["file too large", "lost all but 2", ""]
    assert [part.name for part in tmp_path.iterdir()] == [part_name(PEER, 3, 2)]
    assert rows_in(tmp_path) == [1, 2]


FULL_DISK = """
import random, resource, sys
from itertools import count
from pathlib import Path
from gsg.monitoring.trace_recorder import Parts

parts = Parts(Path(sys.argv[1]), bytes(range(20)), 3)

def row(number):
    return (number, random.getrandbits(60), *[None] * 12, 0)

resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
groups = 0
said = ""
while not said:
    said = parts.write([row(number) for number in range(1_000)], 0.0)
    groups += 1
print(said)
assert groups > 1 and parts.lost == 1_000 * groups
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
parts.write([row(1), row(2)], 0.0)
parts.close()
print("lost all but", parts.written)
"""


def test_a_row_that_no_column_takes_costs_its_group_alone(parts: Parts, folder: Path) -> None:
    parts.write([row(1)], 0.0)
    said = parts.write([row(2**80)], 0.0)
    parts.write([row(3)], 0.0)
    parts.close()

    assert said
    assert (rows_in(folder), parts.lost) == ([1, 3], 1)


def test_no_pyarrow_is_one_clear_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    how = r"pip install 'gsg-router\[sim\]', or in a clone: make .venv/.installed$"
    with pytest.raises(Unsupported, match=rf"a trace needs pyarrow \(.*\); install the extra: {how}"):
        Parts(folder, PEER, 1)


def test_a_folder_that_cannot_be_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LocalError, match=r"cannot trace to .*file: file exists; expected a folder, or a place for one"):
        Parts(tmp_path / "file", PEER, 1)


Started = Callable[..., Recorder]


@pytest.fixture
def started(folder: Path) -> Iterator[Started]:
    running: list[Recorder] = []

    def start(make: Callable[[int], Parts] = lambda run_us: Parts(folder, PEER, run_us)) -> Recorder:
        made = Recorder(make, lambda: 12.5)
        made.start()
        running.append(made)
        return made

    yield start
    for made in running:
        made.stop()


def insertion(item: object) -> Record:
    return Record(7, What.INSERT, Role.RENDEZVOUS, (item,), positions=[0], stamp_us=6, changed=True, matched=2, forwarded=3)  # type: ignore[arg-type]  # any term


def test_stopping_writes_all_that_came(started: Started, folder: Path) -> None:
    made = started()
    for number in range(5):
        made.add(insertion(number))
    template = rete.Template(("a", None, None), ((1, 2),))
    made.add(Record(8, What.SUBSCRIBE, Role.RENDEZVOUS, template.pattern, (template, ConditionTest("x", "y")), [0], "ab", 4))
    made.stop()

    (part,) = folder.glob("*.parquet")
    first, *inserted, subscribed, last = parquet.read_table(part).to_pylist()
    assert (first["what"], last["what"], first["at_us"], first["run_us"]) == ("start", "stop", 12_500_000, 12_500_000)
    assert [found["terms"] for found in inserted] == ["[0]", "[1]", "[2]", "[3]", "[4]"]
    assert inserted[0] == {
        "peer": PEER.hex(),
        "run_us": 12_500_000,
        "row": 2,
        "at_us": 7,
        "what": "insert",
        "role": "rendezvous",
        "terms": "[0]",
        "condition": None,
        "positions": [0],
        "source": None,
        "number": None,
        "stamp_us": 6,
        "changed": True,
        "matched": 2,
        "forwarded": 3,
        "events_only": None,
    }
    assert (subscribed["terms"], subscribed["condition"]) == ('["a",null,null]', '[[[1,2]],["x","y"]]')
    assert (made.written, made.lost) == (8, 0)


def test_a_row_that_cannot_be_text_is_counted_and_its_number_is_missing(started: Started, folder: Path) -> None:
    made = started()
    made.add(insertion("\ud800"))
    made.add(insertion("fine"))
    made.stop()

    assert rows_in(folder) == [1, 3, 4]
    assert made.lost == 1


class SlowParts(Parts):
    """A disk that answers when it is let."""

    def __init__(self, folder: Path, run_us: int) -> None:
        super().__init__(folder, PEER, run_us)
        self.asked = threading.Event()
        self.let = threading.Event()

    def write(self, rows: Sequence[Row], now_s: float) -> str:
        self.asked.set()
        assert self.let.wait(60)
        return super().write(rows, now_s)


def test_what_a_slow_disk_does_not_take_is_bounded_and_counted(
    started: Started, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorder, "WAITING_ROWS", 10)
    monkeypatch.setattr(recorder, "GROUP_S", 0.001)
    made: list[SlowParts] = []

    def make(run_us: int) -> Parts:
        made.append(SlowParts(folder, run_us))
        return made[0]

    slow = started(make)
    assert made[0].asked.wait(60)
    for number in range(25):
        slow.add(insertion(number))
    made[0].let.set()
    with caplog.at_level(logging.WARNING):
        slow.stop()

    assert len(rows_in(folder)) == slow.written
    assert slow.written + slow.lost == 27
    assert slow.lost >= 14
    assert f"lacks {slow.lost} rows so far: its disk is too slow for what comes" in caplog.text


def test_large_terms_are_bounded_in_bytes(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "WAITING_BYTES", 1_000)

    made = started()
    made.add(insertion("x" * 1_000))
    made.stop()

    assert made.lost == 1


def test_a_disk_that_does_not_answer_keeps_nobody_from_leaving(
    started: Started, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorder, "CLOSE_S", 0.01)
    made: list[SlowParts] = []

    def make(run_us: int) -> Parts:
        made.append(SlowParts(folder, run_us))
        return made[0]

    stuck = started(make)
    with caplog.at_level(logging.WARNING):
        stuck.stop()
    made[0].let.set()

    assert "is not finished: its disk has not answered for 0.01 s" in caplog.text


def test_what_never_started_stops_at_once(folder: Path) -> None:
    Recorder(lambda run_us: Parts(folder, PEER, run_us), lambda: 0.0).stop()

    assert not folder.exists()
