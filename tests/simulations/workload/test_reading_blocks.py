"""Blocks, counts and splits: what tasks hand over, and how it is put together again. Without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulations.errors import BadWorkload
from simulations.workload.files import read
from simulations.workload.reading import split_reader
from simulations.workload.reading.blocks import (
    CodeTable,
    Counts,
    SplitSeen,
    blocks_of,
    chunks_of_blocks,
    codes_of,
    counted,
    packed,
    parts_of,
    position_of,
    sums_of_parts,
    unpacked,
)
from simulations.workload.reading.columns import Rows
from simulations.workload.reading.dictionary import Encoded
from simulations.workload.reading.encoding import encode, new_dictionaries
from simulations.workload.reading.places_of_files import Source, among
from simulations.workload.reading.splits import in_order
from simulations.workload.workload import POSITIONS


@given(
    distinct=st.lists(st.integers(0, 2**64 - 1), unique=True, min_size=1, max_size=400),
    fields=st.lists(st.integers(0, 399), min_size=1, max_size=600),
)
def test_a_column_is_packed_by_its_own_keys_and_coded_by_all(distinct: list[int], fields: list[int]) -> None:
    keys = np.array(distinct, dtype=np.uint64)
    which = np.array(fields) % len(keys)
    places = np.arange(len(keys), dtype=np.int32)

    data = packed(Encoded(places, which), keys)
    known, index = unpacked(data, len(fields))
    table = CodeTable(np.sort(keys))

    assert known[index].tolist() == keys[which].tolist()
    assert len(known) == len(set(which.tolist()))
    assert codes_of(table.coded(data, len(fields)), len(fields)).tolist() == np.searchsorted(np.sort(keys), keys[which]).tolist()


def test_counts_of_several_blocks_and_tasks_add_up() -> None:
    known = new_dictionaries()
    counts = Counts(known)
    rows: list[tuple[int, bytes]] = []
    for batch in (["a", "b", "a"], ["c", "a", "open<"], ["b", None, "d"]):
        encoded = encode(known, Rows((list(batch), ["p"] * 3, list(batch)), np.arange(3), []))
        counts.count(encoded.columns)
        rows += list(counts.parts().items()) if batch[0] == "c" else []
    rows += list(counts.parts().items())

    sums = sums_of_parts(rows)

    of_positions: list[list[int]] = [[], [], []]
    for part, data in sums.items():
        of_positions[position_of(part)] += counted(data)[1].tolist()
    totals = list(map(sorted, of_positions))
    assert totals == [[1, 1, 1, 2, 3], [8], [1, 1, 1, 2, 3]]
    assert counts.parts() == {}


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=200))
def test_parts_hold_all_constants_in_the_order_of_their_keys(some: list[int]) -> None:
    keys = np.sort(np.array(some, dtype=np.uint64))

    parts = parts_of(1, keys, np.arange(len(keys)))

    found = [counted(parts[part]) for part in sorted(parts)]
    assert [key for column, _ in found for key in column.tolist()] == keys.tolist()
    assert [count for _, column in found for count in column.tolist()] == list(range(len(keys)))
    assert {position_of(part) for part in parts} <= {1}


def batches(content: list[tuple[str, int, bytes]], size: int) -> Iterator[pyarrow.RecordBatch]:
    """Lines of splits, so many in a batch."""
    for begin in range(0, len(content), size):
        files, starts, lines = zip(*content[begin : begin + size], strict=True)
        yield pyarrow.RecordBatch.from_pydict(
            {"content": pyarrow.array(lines, pyarrow.binary()), "file": files, "start": pyarrow.array(starts, pyarrow.int64())}
        )


@pytest.mark.parametrize("size", [1, 3, 5, 100])
def test_splits_that_a_task_has_one_after_the_other_are_told_apart(size: int) -> None:
    content = [("file:///x/b.tsv", 40, b"a\tb\tc"), ("file:///x/b.tsv", 40, b"wrong")] * 3
    content += [("file:///x/b.tsv", 0, b"a\tb\td"), ("file:///x/a%20b.tsv", 0, b""), ("file:///x/a%20b.tsv", 0, b"a\tb\tc")]

    rows = [row for batch in split_reader.read_splits(batches(content, size), "tsv") for row in batch.to_pylist()]
    seen = [msgspec.msgpack.decode(row["seen"], type=SplitSeen) for row in rows if row["seen"]]

    assert [(one.file, one.start, one.lines, one.tuples, one.malformed) for one in seen] == [
        ("file:///x/b.tsv", 40, 6, 3, 3),
        ("file:///x/b.tsv", 0, 1, 1, 0),
        ("file:///x/a%20b.tsv", 0, 2, 1, 0),
    ]
    ordered = in_order(seen, ["/x/a b.tsv", "/x/b.tsv"])
    assert ordered.begins == {("file:///x/a%20b.tsv", 0): 0, ("file:///x/b.tsv", 0): 1, ("file:///x/b.tsv", 40): 2}
    assert ordered.tuples == 5
    assert ordered.seen.examples[0] == "b.tsv line 3: 1 fields between tabs; expected 3"


def test_a_worker_that_has_seen_too_many_texts_forgets_them_and_counts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_reader, "MAX_KEPT", 3)
    monkeypatch.setattr(split_reader, "BATCH", 2)
    content = [("file:///x/b.tsv", 0, f"s{number % 5}\tp\to".encode()) for number in range(20)]

    rows = [row for batch in split_reader.read_splits(batches(content, 4), "tsv") for row in batch.to_pylist()]

    sums = sums_of_parts((row["part"], row["counted"]) for row in rows if row["counted"])
    assert sorted(np.concatenate([counted(data)[1] for data in sums.values()]).tolist()) == [4] * 5 + [20, 20]
    assert sum(row["counted"] is not None for row in rows) > len(sums)


def test_a_split_that_cannot_be_read_is_told_by_the_first() -> None:
    splits = [SplitSeen("file:///b", 0, failure="second"), SplitSeen("file:///a", 9, failure="first"), SplitSeen("file:///a", 0)]

    with pytest.raises(BadWorkload, match=r"^first$"):
        in_order(splits, ["/a", "/b"])


def test_chunks_are_the_tuples_of_blocks_at_their_times() -> None:
    columns = {"begin": [4, 0], "tuples": [2, 3], **{name: [b"\x01\x02", b"\x00\x00\x01"] for name in POSITIONS}}
    batch = pyarrow.RecordBatch.from_pydict(columns)

    (chunk,) = chunks_of_blocks(batch, 0.5)

    assert [column.tolist() for column in chunk.codes] == [[1, 2, 0, 0, 1]] * 3
    assert chunk.at_s.tolist() == [2.0, 2.5, 0.0, 0.5, 1.0]
    assert [(block.begin, len(block)) for block in blocks_of(batch)] == [(4, 2), (0, 3)]


def test_files_at_a_uri_come_in_the_order_of_a_folder() -> None:
    names = ["z.nt", "a/part-0.json", "a/b/c.ttl", "a/x.json", "notes.txt"]

    found = among([(f"s3a://bucket/{name}", 7) for name in names], "s3a://bucket/", None)

    assert [source.path for source in found.sources] == [f"s3a://bucket/{name}" for name in ("z.nt", "a/part-0.json", "a/b/c.ttl")]
    assert found.ignored == ("notes.txt", "a/x.json")
    assert found.sources[0].within == "/z.nt"
    with pytest.raises(BadWorkload, match=r"s3a://bucket/x has no files of tuples; expected names that end with \.nt, "):
        among([], "s3a://bucket/x", None)
    with pytest.raises(BadWorkload, match=r"'x\.zip' has no known suffix; expected \.nt, "):
        among([("s3a://bucket/x.zip", 7)], "s3a://bucket/x.zip", None)


def test_signs_of_patterns_in_names_are_escaped() -> None:
    assert Source("file:/a[1]{2}*?.nt", "nt", 1).literally == "file:/a\\[1\\]\\{2\\}\\*\\?.nt"


def test_terms_of_codes_are_in_the_order_of_keys(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("b\tp\to\na\tp\to\nc\t<open\to\n")

    reading = read(tmp_path / "t.tsv", keeps_terms=True)

    subjects = reading.recorded.constants[0].keys
    assert (np.diff(subjects.astype(np.float64)) > 0).all()
    assert sorted(map(str, reading.terms()[0])) == ["a", "b"]
    assert [str(reading.terms()[0][code]) for code in reading.recorded.codes[0]] == ["b", "a"]
