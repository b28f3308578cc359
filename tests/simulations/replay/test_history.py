"""Histories from files: what a line says, how files are cut, and what is said of lines that are no changes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from gsg.monitoring.trace import Role, What, schema, text_of
from gsg.tuples.terms import IRI, Symbol
from simulations.errors import BadWorkload
from simulations.replay.changes import read_piece
from simulations.replay.history import ORDER, Change, Seen, open_history

A, P, B = Symbol("a"), Symbol("p"), Symbol("b")


def read(path: Path, **options: int) -> tuple[list[Change], Seen]:
    seen = Seen()
    pieces = open_history(path, **options).pieces
    return [change for piece in pieces for changes in read_piece(piece, seen) for change in changes], seen


def write(path: Path, text: str) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


LINES = {
    "a time and a sign": ('{"time": 2.5, "sign": "-", "tuple": ["a", "p", 5, true]}', (2.5, -1, 4)),
    "a date and time": ('{"time": "1970-01-01T01:00:10+01:00", "sign": "+", "tuple": ["a"]}', (10.0, 1, 1)),
    "a time without a zone is UTC": ('{"time": "1970-01-02", "subject": "a", "predicate": "p", "object": "b"}', (86400.0, 1, 3)),
    "a line alone is an insertion at its place": ('["a", "p"]', (1.0, 1, 2)),
    "short names": ('{"s": "a", "p": "p", "o": "b", "sign": -1}', (1.0, -1, 3)),
}


@pytest.mark.parametrize("name", LINES)
def test_json_lines(tmp_path: Path, name: str) -> None:
    text, expected = LINES[name]

    ((change,), _) = read(write(tmp_path / "t.jsonl", text))

    assert (change.time, change.sign, len(change.fact)) == expected
    assert change.fact[0] == A


@pytest.mark.parametrize("name", ["t.nt", "t.nt.gz"])
def test_each_triple_is_inserted_at_the_place_of_its_line(tmp_path: Path, name: str) -> None:
    changes, seen = read(write(tmp_path / name, "# a comment\n<a:s> <a:p> <a:o> .\n\nnonsense\n<a:s> <a:p> <a:q> .\n"))

    assert changes == [
        Change(2, 2.0, 1, (IRI("a:s"), IRI("a:p"), IRI("a:o"))),
        Change(5, 5.0, 1, (IRI("a:s"), IRI("a:p"), IRI("a:q"))),
    ]
    assert (seen.changes, seen.malformed) == (2, 1)
    assert seen.examples[0].startswith(f"{name} line 4: ")


def test_two_triples_in_a_line_are_no_change_and_cost_no_other_line(tmp_path: Path) -> None:
    changes, seen = read(write(tmp_path / "t.nt", "<a:s> <a:p> <a:o> .\r<a:s> <a:p> <a:q> .\n<a:s> <a:p> <a:r> .\n"))

    assert [change.order for change in changes] == [2]
    assert seen.examples == ["t.nt line 1: 2 triples in a line; expected one"]


@pytest.mark.parametrize("piece_bytes", [8, 9, 16, 64])
def test_a_file_says_the_same_however_it_is_cut(tmp_path: Path, piece_bytes: int) -> None:
    path = write(tmp_path / "t.tsv", "".join(f"a\tp\t{number}\n" for number in range(9)) + "\nx\ty\n" + "a\tp\tb")

    cut, whole = read(path, piece_bytes=piece_bytes), read(path)

    assert cut == whole
    assert whole[0][-1] == Change(12, 12.0, 1, (A, P, B))
    assert whole[1].examples == ["t.tsv line 11: 2 fields between tabs; expected 3"]


def test_a_line_that_is_longer_than_a_piece_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", "a\tp\tb\na\tp\t" + "b" * 50)

    with pytest.raises(BadWorkload, match=r"cannot read .*t\.tsv: a line of more than 20 bytes after line 1$"):
        open_history(path, piece_bytes=20)


MALFORMED = {
    "[1": "t.jsonl line 1: Input data was truncated",
    "5": "t.jsonl line 1: neither an object nor an array",
    "[]": "t.jsonl line 1: a tuple of 0 terms; expected 1 to 255",
    '{"time": 1}': "t.jsonl line 1: neither a field tuple nor the fields subject, predicate, object",
    '{"tuple": "a"}': "t.jsonl line 1: a tuple that is no array but 'a'",
    '{"tuple": ["a"], "sign": "plus"}': "t.jsonl line 1: sign 'plus'; expected + or - (or ! for an event)",
    '{"tuple": ["a"], "sign": [1]}': "t.jsonl line 1: sign [1]; expected + or - (or ! for an event)",
    '{"tuple": ["a"], "time": "soon"}': "t.jsonl line 1: time 'soon'; expected seconds, or a date and time in ISO 8601",
    "[" * 100_000: "t.jsonl line 1: brackets within brackets, too deep to be read",
    '{"tuple": ["a"], "time": 1%s}'
    % ("0" * 400): f"t.jsonl line 1: time 1{'0' * 59}; expected seconds, or a date and time in ISO 8601",
    '{"tuple": ["a"], "time": true}': "t.jsonl line 1: time True; expected seconds, or a date and time in ISO 8601",
}


@pytest.mark.parametrize("line", MALFORMED, ids=lambda line: f"{line:.40}")
def test_a_line_that_is_no_change_is_counted_and_told(tmp_path: Path, line: str) -> None:
    changes, seen = read(write(tmp_path / "t.jsonl", line + "\n"))

    assert (changes, seen.malformed, seen.examples) == ([], 1, [MALFORMED[line]])


def test_events_are_counted_and_left_out(tmp_path: Path) -> None:
    changes, seen = read(write(tmp_path / "t.jsonl", '{"sign": "!", "tuple": ["a"]}\n["a"]\n'))

    assert (len(changes), seen.events) == (1, 1)
    assert seen.said() == ["1 event was left out: replay answers over facts, which stay"]


def test_parquet_in_row_groups(tmp_path: Path) -> None:
    table = pyarrow.table({"sign": ["+", "-", "+"], "time": [1, 2, 3], "tuple": [["a", "p"], ["a", "p"], None]})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=2)

    changes, seen = read(tmp_path / "t.parquet")

    assert changes == [Change(1, 1.0, 1, (A, P)), Change(2, 2.0, -1, (A, P))]
    assert seen.examples == ["t.parquet row 3: neither a field tuple nor the fields subject, predicate, object"]


def test_parquet_whose_text_is_none_cannot_be_read(tmp_path: Path) -> None:
    invalid = pyarrow.Array.from_buffers(pyarrow.string(), 2, pyarrow.array([b"a", b"\xff"]).buffers())
    table = pyarrow.table({"subject": invalid, "predicate": ["p", "p"], "object": ["b", "c"]})
    parquet.write_table(table, tmp_path / "t.parquet")

    _, seen = read(tmp_path / "t.parquet")

    assert seen.failure.endswith("t.parquet: In column 0: Invalid: Invalid UTF8 sequence at string index 1")


def test_of_a_peers_trace_what_was_published_counts_and_nothing_else(tmp_path: Path) -> None:
    rows = [
        (What.START, None, None),
        (What.INSERT, Role.PUBLISHER, text_of((A, P, B))),
        (What.INSERT, Role.RENDEZVOUS, text_of((A, P, B))),
        (What.EVENT, Role.PUBLISHER, text_of((A, P, 1))),
        (What.RETRACT, Role.PUBLISHER, text_of((A, P, B))),
    ]
    empty = dict.fromkeys(schema().names)
    made = [
        empty | {"peer": "a", "run_us": 1, "at_us": 10_500_000 + at, "row": at, "what": what, "role": role, "terms": terms}
        for at, (what, role, terms) in enumerate(rows, 1)
    ]
    parquet.write_table(pyarrow.Table.from_pylist(made, schema()), tmp_path / "a-1-000001.parquet")
    later = [made[-1] | {"row": number, "role": Role.RENDEZVOUS} for number in (6, 9)]
    parquet.write_table(pyarrow.Table.from_pylist(later, schema()), tmp_path / "a-1-000002.parquet")
    (tmp_path / "a-1-000003.parquet.open").touch()

    changes, seen = read(tmp_path)

    assert changes == [Change(2, 10.500002, 1, (A, P, B)), Change(5, 10.500005, -1, (A, P, B))]
    assert (seen.changes, seen.events, seen.malformed) == (2, 1, 0)
    assert open_history(tmp_path).said() == [
        "2 rows were lost while the peers traced: something may be missing",
        "1 peer was killed or still runs: its last rows may be missing",
        "1 unfinished part was left out: a peer still writes it, or was killed",
    ]


def test_peers_whose_traces_do_not_end_are_told(tmp_path: Path) -> None:
    empty = dict.fromkeys(schema().names) | {"at_us": 1}
    for peer, run_us, last in (("a", 1, What.STOP), ("b", 1, What.INSERT), ("b", 2, What.STOP), ("c", 1, What.EVENT)):
        made = [empty | {"peer": peer, "run_us": run_us, "row": row, "what": what} for row, what in ((1, What.START), (2, last))]
        parquet.write_table(pyarrow.Table.from_pylist(made, schema()), tmp_path / f"{peer}-{run_us}-000001.parquet")

    assert open_history(tmp_path).said() == ["2 peers were killed or still run: their last rows may be missing"]


def test_a_trace_whose_text_is_none_is_one_clear_line(tmp_path: Path) -> None:
    row = dict.fromkeys(schema().names) | {"run_us": 1, "row": 1, "at_us": 1}
    invalid = pyarrow.Array.from_buffers(pyarrow.string(), 1, pyarrow.array([b"\xff"]).buffers())
    table = pyarrow.Table.from_pylist([row], schema())
    for name in ("peer", "what"):
        table = table.set_column(table.column_names.index(name), name, invalid)
    parquet.write_table(table, tmp_path / "a.parquet")

    with pytest.raises(BadWorkload, match=r"^cannot read .*a\.parquet: a text in it is no UTF-8$"):
        open_history(tmp_path)


def test_a_folder_is_read_in_order_of_names(tmp_path: Path) -> None:
    for name in ("b.tsv", "a.tsv", "_SUCCESS", ".b.tsv.crc"):
        write(tmp_path / name, f"{name}\tp\tb\n")

    changes, _ = read(tmp_path)

    assert [(change.order, change.fact[0]) for change in changes] == [(1, Symbol("a.tsv")), (ORDER + 1, Symbol("b.tsv"))]


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "t.parquet").write_text("no Parquet")
    (tmp_path / "t.xml").touch()
    expected = {
        "t.nt": r"cannot read .*t\.nt: no such file or directory$",
        "t.xml": r"'t\.xml' has no known suffix; expected \.nt, ",
        "t.parquet": r"cannot read .*t\.parquet: Parquet magic bytes not found",
        "empty": r"empty has no files of changes; expected names that end with \.nt, ",
    }

    for name, said in expected.items():
        with pytest.raises(BadWorkload, match=said):
            open_history(tmp_path / name)


def test_parquet_of_other_columns_is_refused_by_its_columns(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "t.parquet")

    _, seen = read(tmp_path / "t.parquet")

    assert seen.failure.endswith(
        "t.parquet: its columns are x; expected tuple, or subject, predicate, object, and time and sign, or the columns of a "
        "peer's trace"
    )


def test_comma_separated_changes_have_their_times_and_signs(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "time,sign,subject,predicate,object\n1.5,+,a,p,b\n2024-01-01T00:00:00,,a,p,c\n3,-,a,p,b\n4,x,a,p,b\n"
    )

    found, seen = read(tmp_path / "t.csv")

    assert [(change.time, change.sign, change.fact[2]) for change in found] == [
        (1.5, 1, Symbol("b")),
        (1704067200.0, 1, Symbol("c")),
        (3.0, -1, Symbol("b")),
    ]
    assert seen.examples == ["t.csv line 5: sign 'x'; expected + or - (or ! for an event)"]


def test_a_partitioned_folder_of_changes_is_read_with_its_columns(tmp_path: Path) -> None:
    (tmp_path / "predicate=p").mkdir()
    parquet.write_table(
        pyarrow.table({"subject": ["a"], "object": ["b"], "time": [2.0]}), tmp_path / "predicate=p" / "part-0.parquet"
    )

    found, _ = read(tmp_path)

    assert [(change.time, change.fact) for change in found] == [(2.0, (Symbol("a"), Symbol("p"), Symbol("b")))]
