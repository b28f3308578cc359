"""Tuples from files, and what is said of lines that hold none."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from gsg.languages.files import load
from gsg.tuples.features import key
from gsg.tuples.terms import IRI, Literal, Symbol
from simulations.engine.ownership import prefixes_of
from simulations.errors import BadWorkload
from simulations.load_balance.meets_one_by_one import matching
from simulations.workload import files
from simulations.workload.files import read
from simulations.workload.pieces import LINES
from simulations.workload.workload import COMMON_MIX

SHARED = Path(os.environ.get("GSG_SHARED", Path(__file__).resolve().parents[4] / "shared"))
FILMS = SHARED / "data" / "films-2008-2014.nt.gz"


def write(path: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def rows(path: Path) -> list[tuple[object, ...]]:
    """The tuples of a file, from what was encoded."""
    reading = read(path, keeps_terms=True)
    terms = reading.terms()
    return [tuple(known[code] for known, code in zip(terms, row, strict=True)) for row in zip(*reading.recorded.codes, strict=True)]


N_TRIPLES = '<a:s> <a:p> "x\u2028y"@en .\n# a comment\n\n<a:t> <a:p> <a:o> .\n'
EXPECTED = [(IRI("a:s"), IRI("a:p"), Literal("x\u2028y", "", "en")), (IRI("a:t"), IRI("a:p"), IRI("a:o"))]


@pytest.mark.parametrize("name", ["t.nt", "t.nt.gz"])
def test_n_triples(tmp_path: Path, name: str) -> None:
    assert rows(write(tmp_path / name, N_TRIPLES)) == EXPECTED


def test_triples_whose_lines_end_as_old_ones_do(tmp_path: Path) -> None:
    assert rows(write(tmp_path / "t.nt", N_TRIPLES.replace("\n", "\r"))) == EXPECTED


@pytest.mark.parametrize("name", ["t.nt", "t.nt.gz", "t.nq", "t.ttl", "t.trig"])
def test_a_blank_node_is_that_of_its_file_that_peers_have(tmp_path: Path, name: str) -> None:
    text = "_:b <a:p> _:c.d .\n<a:s>\t<a:p> _:b . # so .\n<a:s> <a:p> _:b . \n"
    one, other = (write(tmp_path / f"{beside}{name}", text) for beside in ("", "other-"))

    assert rows(one) == [items[:3] for items in load(one)]
    assert set(rows(tmp_path)) == {*rows(one), *rows(other)}
    assert not set(rows(one)) & set(rows(other))


def test_a_name_of_a_table_is_the_same_node_in_all_files(tmp_path: Path) -> None:
    for name in ("t.tsv", "u.tsv"):
        write(tmp_path / name, "_:b\tp\to\n")

    assert len(set(rows(tmp_path))) == 1


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz", "T.TSV"])
def test_tab_separated(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, 'Q1\tP2\tQ3\n\n<a:s>\tP2\t"two words"\r\n')

    assert rows(path) == [(Symbol("Q1"), Symbol("P2"), Symbol("Q3")), (IRI("a:s"), Symbol("P2"), "two words")]


def test_json_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl", '["a", "b", 5]\n{"subject": "a", "predicate": "b", "object": true}\n{"o": 1, "p": "b", "s": "a"}\n'
    )

    true = Literal("true", "http://www.w3.org/2001/XMLSchema#boolean")
    assert rows(path) == [(Symbol("a"), Symbol("b"), found) for found in (5, true, 1)]


def test_a_history_for_replay_is_a_workload_too(tmp_path: Path) -> None:
    lines = '{"time": 12.5, "sign": "-", "tuple": ["a", "b", 5]}\n{"sign": "!", "tuple": ["a", "b"]}\n{"tuple": 7}\n'

    reading = read(write(tmp_path / "t.jsonl", lines))

    assert rows(tmp_path / "t.jsonl") == [(Symbol("a"), Symbol("b"), 5)]
    assert reading.seen.examples == [
        "t.jsonl line 2: a tuple of 2; expected 3, which alone are simulated",
        "t.jsonl line 3: a tuple that is no array but 7",
    ]


def test_parquet(tmp_path: Path) -> None:
    table = pyarrow.table({"other": [0, 0], "subject": ["a", None], "predicate": ["<a:p>", "b"], "object": [7, 8]})
    parquet.write_table(table, tmp_path / "t.parquet")

    reading = read(tmp_path / "t.parquet")

    assert rows(tmp_path / "t.parquet") == [(Symbol("a"), IRI("a:p"), 7)]
    assert reading.seen.examples == ["t.parquet line 2: a field is empty"]


MALFORMED = {
    "t.nt": ("<a:s> <a:p> <a:o> .\nnonsense\n<a:s> <a:p>\n<a:t> <a:p> <a:o> .\n", 2, "t.nt line 2: "),
    "t.tsv": (b"a\tb\tc\na\tb\n\xff\tb\tc\na\t\tc\na\tb\t<open\nd\te\tf\n", 4, "t.tsv line 2: 2 fields between tabs; expected 3"),
    "t.jsonl": ('["a", "b", "c"]\n[1,\n{"s": 1}\n[1]\n["a", "b", []]\n["a", "b", "d"]\n', 4, "t.jsonl line 2: "),
}


@pytest.mark.parametrize("kind", [pyarrow.list_(pyarrow.string()), pyarrow.list_(pyarrow.string(), 3)], ids=["list", "of three"])
def test_tuples_in_one_column_of_parquet(tmp_path: Path, kind: pyarrow.DataType) -> None:
    tuples = pyarrow.array([["a", "b", "c"], None, ["d", "e", "f"]], kind)
    parquet.write_table(pyarrow.table({"tuple": tuples}), tmp_path / "t.parquet")

    assert [[str(term) for term in row] for row in rows(tmp_path / "t.parquet")] == [["a", "b", "c"], ["d", "e", "f"]]
    assert read(tmp_path / "t.parquet").seen.malformed == 1


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_lines_are_counted_and_told(tmp_path: Path, name: str) -> None:
    text, malformed, first = MALFORMED[name]

    reading = read(write(tmp_path / name, text))

    assert (reading.recorded.tuples, reading.seen.malformed) == (2, malformed)
    assert reading.seen.examples[0].startswith(first)


def test_a_line_of_very_many_brackets_is_malformed(tmp_path: Path) -> None:
    # How deep is too deep depends on the calls that stand around it.
    deep = [f'["a", "b", {"[" * depth}{"]" * depth}]\n' for depth in (*range(900, 1000, 3), 100_000)]

    reading = read(write(tmp_path / "t.jsonl", "".join(['["a", "b", "c"]\n', "[" * 100_000 + "\n", *deep])))

    assert (reading.recorded.tuples, reading.seen.malformed) == (1, 1 + len(deep))
    assert reading.seen.examples[0] == "t.jsonl line 2: brackets within brackets, too deep to be read"


def test_a_mistake_far_down_costs_no_other_line(tmp_path: Path) -> None:
    lines = [f"<a:{number}> <a:p> <a:o> .\n" for number in range(LINES + 10)]
    lines[LINES + 3] = "<a:s> <a:p> <a:o>\n"

    reading = read(write(tmp_path / "t.nt", "".join(lines)))

    assert (reading.recorded.tuples, reading.seen.malformed) == (LINES + 9, 1)
    assert reading.seen.examples[0].startswith(f"t.nt line {LINES + 4}: ")


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("t.nt", b"nonsense\n", r"t\.nt holds no tuples \(1 malformed lines, the first: t\.nt line 1: "),
        ("t.nt.gz", None, r"cannot read .*t\.nt\.gz: damaged, or not gzip at all"),
        ("t.xml", b"<a/>", r"'t\.xml' has no known suffix; expected \.nt, \.tsv,"),
        (
            "t.csv",
            b"a,b\n",
            r"t\.csv holds no tuples \(1 malformed lines, the first: t\.csv line 1: 2 fields between commas; expected 3",
        ),
        ("t.csv.gz", None, r"cannot read .*t\.csv\.gz: damaged, or not gzip at all"),
        ("u.csv", b"\xff,b,c\n", r"cannot read .*u\.csv: a text in it is no UTF-8"),
        ("t.parquet", b"nonsense", r"cannot read .*t\.parquet: "),
        ("t.parquet.gz", b"", r"has no known suffix"),
    ],
    ids=["nothing in it", "damaged", "unknown", "no triple", "no gzip", "no text", "no Parquet", "compressed twice"],
)
def test_a_file_that_cannot_be_read_is_one_clear_line(tmp_path: Path, name: str, data: bytes | None, complaint: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"no gzip" if data is None else data)

    with pytest.raises(BadWorkload, match=complaint) as refused:
        read(path)

    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(BadWorkload, match=r"cannot read .*gone\.tsv: no such file or directory"):
        read(tmp_path / "gone.tsv")
    (tmp_path / "d.tsv").mkdir()
    with pytest.raises(BadWorkload, match=r"d\.tsv has no files of tuples; expected names that end with \.nt, "):
        read(tmp_path / "d.tsv")
    with pytest.raises(BadWorkload, match=r"no file is named as .*\*\.nt' says; expected a pattern of files"):
        read(tmp_path / "*.nt")


def test_comma_separated(tmp_path: Path) -> None:
    named = write(tmp_path / "n.csv", b'\xef\xbb\xbfid,object,subject,predicate\r\n7,"say ""hi""\nand go","a, b",P2\r\n8,,x,P2\r\n')
    bare = write(tmp_path / "b.csv.gz", '<a:s>,P2,"""two words"""\n\nQ1,P2,5\n')

    assert rows(named) == [(Symbol("a, b"), Symbol("P2"), Symbol('say "hi"\nand go'))]
    assert read(named).seen.examples == ["n.csv line 4: a field is empty"]
    assert rows(bare) == [(IRI("a:s"), Symbol("P2"), "two words"), (Symbol("Q1"), Symbol("P2"), Symbol("5"))]


def test_comma_separated_as_spark_writes_quotes(tmp_path: Path) -> None:
    ours = write(tmp_path / "spark.csv", 'subject,predicate,object\na,b,"\\"chat\\"@en"\n')
    others = write(tmp_path / "others.csv", 'subject,predicate,object\na,b,"C:\\dir\\"\n')

    assert rows(ours) == [(Symbol("a"), Symbol("b"), Literal("chat", "", "en"))]
    assert rows(others) == [(Symbol("a"), Symbol("b"), Symbol("C:\\dir\\"))]


@pytest.mark.parametrize("name", ["t.nt", "t.tsv", "t.jsonl", "t.csv", "t.nt.gz", "t.csv.gz"])
def test_a_mark_of_byte_order_is_no_part_of_a_term(tmp_path: Path, name: str) -> None:
    line = {
        "nt": "<a:s> <a:p> <a:o> .",
        "tsv": "<a:s>\t<a:p>\t<a:o>",
        "csv": "<a:s>,<a:p>,<a:o>",
        "jsonl": '["<a:s>","<a:p>","<a:o>"]',
    }

    path = write(tmp_path / name, b"\xef\xbb\xbf" + line[name.split(".")[1]].encode() + b"\n")

    assert rows(path) == [(IRI("a:s"), IRI("a:p"), IRI("a:o"))]


def parts(folder: Path, **columns: list[object]) -> Path:
    """A part of Parquet as Spark leaves it, in a folder with marks and a job that failed."""
    (folder / "_temporary" / "0").mkdir(parents=True)
    for name in ("_SUCCESS", "._SUCCESS.crc", ".part-0.snappy.parquet.crc", "_temporary/0/part-9.parquet"):
        (folder / name).write_bytes(b"no data")
    parquet.write_table(pyarrow.table(columns), folder / "part-0.snappy.parquet")
    return folder


def test_a_folder_of_parquet_as_spark_writes_it(tmp_path: Path) -> None:
    folder = parts(tmp_path / "whole", subject=["a", "b"], predicate=["p", "p"], object=["x", "y"])
    parquet.write_table(pyarrow.table({"s": ["c"], "p": ["p"], "o": ["z"]}), folder / "part-1.snappy.parquet")
    (folder / "notes.txt").touch()

    assert rows(folder) == [tuple(map(Symbol, row)) for row in (("a", "p", "x"), ("b", "p", "y"), ("c", "p", "z"))]
    assert read(folder).seen.ignored == ("notes.txt",)
    assert rows(tmp_path / "who*" / "part-1*") == rows(folder / "part-1.snappy.parquet") == [tuple(map(Symbol, ("c", "p", "z")))]


def test_a_column_that_spark_made_folders_of_is_a_column(tmp_path: Path) -> None:
    parts(tmp_path / "t" / "predicate=has%20a", subject=["a"], object=["x"])
    parts(tmp_path / "t" / "predicate=7", subject=["b"], object=["y"])
    (tmp_path / "t" / "predicate=q").mkdir()
    write(tmp_path / "t" / "predicate=q" / "part-0.json", '{"subject": "c", "object": 1}\n')
    (tmp_path / "t" / "predicate=r").mkdir()
    write(tmp_path / "t" / "predicate=r" / "part-0.csv", "subject,object\nd,z\n")

    assert rows(tmp_path / "t") == [
        (Symbol("b"), 7, Symbol("y")),
        (Symbol("a"), Symbol("has a"), Symbol("x")),
        (Symbol("c"), Symbol("q"), 1),
        (Symbol("d"), Symbol("r"), Symbol("z")),
    ]


@pytest.mark.parametrize(
    ("mark", "asked", "kind"),
    [
        ("_delta_log/00000000000000000000.json", "", "Delta Lake"),
        ("_delta_log/00000000000000000000.json", "part-0.snappy.parquet", "Delta Lake"),
        ("_delta_log/00000000000000000000.json", "*.parquet", "Delta Lake"),
        ("../_delta_log/00000000000000000000.json", "", "Delta Lake"),
        ("../../_delta_log/00000000000000000000.json", "../..", "Delta Lake"),
        ("metadata/v1.metadata.json", "", "Iceberg"),
        (".hoodie/hoodie.properties", "", "Hudi"),
    ],
)
def test_a_table_whose_files_are_not_simply_its_own_is_refused_by_name(tmp_path: Path, mark: str, asked: str, kind: str) -> None:
    folder = parts(tmp_path / "lake" / "day=7", subject=["a"], predicate=["p"], object=["x"])
    (folder / mark).parent.mkdir(parents=True)
    (folder / mark).touch()

    with pytest.raises(
        BadWorkload, match=rf"is a table of {kind}, whose files also hold rows .* write out what it holds now, as with spark"
    ):
        read(folder / asked)


def test_a_document_beside_parts_is_no_part(tmp_path: Path) -> None:
    write(tmp_path / "part-0.json", '{"s": "a", "p": "b", "o": "c"}\n')
    write(tmp_path / "settings.json", "{}\n")

    assert len(rows(tmp_path)) == 1
    assert read(tmp_path).seen.ignored == ("settings.json",)


def test_parquet_without_the_columns_is_one_clear_line(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "t.parquet")

    with pytest.raises(BadWorkload, match=r"its columns are a; expected tuple, or subject, predicate, object"):
        read(tmp_path / "t.parquet")


def test_parquet_whose_text_is_none_is_one_clear_line(tmp_path: Path) -> None:
    invalid = pyarrow.Array.from_buffers(pyarrow.string(), 2, pyarrow.array([b"a", b"\xff"]).buffers())
    table = pyarrow.table({"subject": invalid, "predicate": ["p", "p"], "object": ["b", "c"]})
    parquet.write_table(table, tmp_path / "t.parquet")

    with pytest.raises(
        BadWorkload, match=r"^cannot read .*t\.parquet: In column 0: Invalid: Invalid UTF8 sequence at string index 1$"
    ):
        read(tmp_path / "t.parquet")


def test_keys_and_facts_are_those_of_peers(tmp_path: Path) -> None:
    reading = read(write(tmp_path / "t.tsv", "a\tp\tb\na\tp\tc\n"))

    subjects, predicates, objects = reading.recorded.constants
    assert subjects.keys.tolist() == prefixes_of([key(3, 0, Symbol("a"))]).tolist()
    assert objects.keys.tolist() == prefixes_of([key(3, 2, Symbol("b")), key(3, 2, Symbol("c"))]).tolist()
    assert (subjects.facts.tolist(), predicates.facts.tolist(), objects.facts.tolist()) == ([2], [2], [1, 1])


def test_subscriptions_to_a_file_are_answered_by_it(tmp_path: Path) -> None:
    recorded = read(write(tmp_path / "t.tsv", "".join(f"s{n % 7}\tp{n % 3}\to{n}\n" for n in range(40)))).recorded

    subscriptions = recorded.subscriptions(60, COMMON_MIX, 1)

    _, answered = matching(recorded.chunk(0, 40), subscriptions, recorded)
    assert set(answered.tolist()) == set(range(60))


@pytest.mark.skipif(not FILMS.exists(), reason="the shared data is not there")
def test_the_film_data_is_read_whole() -> None:
    reading = read(FILMS)

    assert (reading.recorded.tuples, reading.seen.malformed) == (146_570, 0)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ('a,b,"c"@en\nd,e,f\n', ["t.csv line 1: ',' expected after '\"'"]),
        ('d,e,f\na,b,"open\ng,h,i\n', ["t.csv line 3: a quote is not closed"]),
        ('s,p,o\na,b,"c"@en\nd,e,f\n', ["t.csv line 2: ',' expected after '\"'"]),
    ],
    ids=["behind-a-quote", "not-closed", "named"],
)
def test_what_is_wrong_with_quotes_is_told_and_changes_no_term(tmp_path: Path, text: str, problems: list[str]) -> None:
    path = write(tmp_path / "t.csv", text)

    assert rows(path) == [(Symbol("d"), Symbol("e"), Symbol("f"))]
    assert read(path).seen.examples == problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b,c\n".encode("utf-16-le"), "zero bytes, as UTF-16 has them; save it as UTF-8"),
        (b'a,b,"' + b"x\n" * 100_000, "a field of more than 131,072 characters, as where a quote is not closed"),
    ],
    ids=["utf-16", "long"],
)
def test_a_text_that_is_no_table_is_refused(tmp_path: Path, text: bytes, problem: str) -> None:
    with pytest.raises(BadWorkload, match=problem):
        read(write(tmp_path / "t.csv", text))


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ("MAX_READ_TUPLES", "has more than 3 tuples, and one process reads all of it here; take a part of it, or use load-balance"),
        ("MAX_READ_CONSTANTS", "has more than 3 distinct constants in the place of the object, and one process"),
    ],
)
def test_more_than_one_process_holds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, problem: str) -> None:
    path = write(tmp_path / "t.tsv", "".join(f"s\tp\to{n}\n" for n in range(4)))
    monkeypatch.setattr(files, limit, 3)

    with pytest.raises(BadWorkload, match=problem):
        read(path)


def test_a_text_in_another_format_is_told_in_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "t.nt", "<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o> <a:g> .\n")

    (told,) = read(path).seen.examples
    assert told.startswith("t.nt line 2: ")
    assert told.endswith(": this looks like N-Quads, and was to be N-Triples; name it .nq, or say --format nq")


def test_utf16_is_no_text_between_tabs(tmp_path: Path) -> None:
    with pytest.raises(BadWorkload, match=r"holds no tuples .*: zero bytes, as UTF-16 has them; save it as UTF-8"):
        read(write(tmp_path / "t.tsv", "a\tb\tc\n".encode("utf-16") * 3))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.nt", "<a:s> <a:p> <a:o> .\n"),
        ("t.tsv", "<a:s>\t<a:p>\t<a:o>\r\n"),
        ("t.jsonl", '["<a:s>", "<a:p>", "<a:o>"]\n'),
        ("t.ndjson.gz", '["<a:s>", "<a:p>", "<a:o>"]\n'),
    ],
)
def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path, name: str, text: str) -> None:
    reading = read(write(tmp_path / name, "\ufeff" + text * 2), keeps_terms=True)

    assert (len(reading.recorded.codes[0]), reading.seen.malformed) == (2, 0)
    assert list(reading.terms()[0]) == [IRI("a:s")]
