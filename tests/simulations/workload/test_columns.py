"""Lines and rows that are read together are what each is by itself."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.errors import GsgError
from gsg.tuples.features import key
from gsg.tuples.terms import Term
from simulations.engine.ownership import prefixes_of
from simulations.workload.lines import Fields, of_json, of_tabs
from simulations.workload.pieces import Terms
from simulations.workload.reading.columns import ROWS_OF_LINES, Rows, rows_of_csv, rows_of_table
from simulations.workload.reading.encoding import encode, new_dictionaries, ranked, summed
from simulations.workload.term_texts import parsed_lines

Told = tuple[list[tuple[int, ...]], list[int]]
"""The keys of each tuple, and the first lines that are none."""


def together(*batches: Rows) -> Told:
    """What batches of rows are, by the keys of their terms."""
    known = new_dictionaries()
    encoded = [encode(known, rows) for rows in batches]
    keys = [np.concatenate([each.keys[batch.columns[at].places] for batch in encoded]) for at, each in enumerate(known)]
    return list(zip(*(column.tolist() for column in keys), strict=True)), [line for batch in encoded for line, _ in batch.examples][
        :5
    ]


def one_by_one(lines: Sequence[bytes], format: str, base: str) -> Told:
    """The same, each line by itself."""
    found: list[tuple[int, ...]] = []
    wrong: list[int] = []
    for number, line in enumerate(lines, 1):
        try:
            rows = _terms_of(line, format, base)
        except (ValueError, GsgError):
            wrong.append(number)
            continue
        found += [tuple(prefixes_of([key(3, at, term) for at, term in enumerate(row[:3])]).tolist()) for row in rows]
    return found, wrong[:5]


def _terms_of(line: bytes, format: str, base: str) -> list[tuple[Term, ...]]:
    if format in ("nt", "nq"):
        rows, mistake = parsed_lines([line + b"\n"], format, base=base or None)
        if mistake is not None:
            raise ValueError(mistake)
        return rows
    if not line.strip():
        return []
    fields: Fields = of_tabs(line) if format == "tsv" else of_json(line)
    if len(fields.items) != 3:
        raise ValueError("another length")
    return [Terms().of(fields)]


FIELD = st.one_of(
    st.sampled_from(
        ["a", "b", "5", "<x:a>", "<x:b>", "<http://x.a/>", '"a"', '"a"@en', '"a\\"b"', "_:b", "_:b.1", "", "<open", "<a b>", "é"]
    ),
    st.text('ab<>"_:.@ \t\\\r#é\u2028\x00', max_size=5),
)
LINE = {
    "tsv": st.lists(FIELD, min_size=2, max_size=4).map("\t".join),
    "nt": st.lists(FIELD, min_size=2, max_size=4).flatmap(
        lambda fields: st.sampled_from(
            [" ".join(fields) + " .", "\t".join(fields) + ".", " ".join(fields) + " . # so", " ".join(fields)]
        )
    ),
    "nq": st.lists(FIELD, min_size=2, max_size=5).flatmap(
        lambda fields: st.sampled_from([" ".join(fields) + " .", "\t".join(fields) + ".", " ".join(fields) + " . # so"])
    ),
    "jsonl": st.sampled_from(
        [
            *('["a","b","c"]', '["a","b",1]', '["a","b",1.0]', '["a","b",true]', '["a","b",{}]', '["a","b",[1]]', '["a","b",null]'),
            *('{"s":"a","p":"b","o":-0.0}', '{"s":"a","p":"b","o":0.0}', '{"tuple":["a","b"]}', '{"tuple":7}', '["a","b",1e400]'),
            *("[1", "7", "", " "),
        ]
    ),
}


@pytest.mark.parametrize("format", LINE)
@given(data=st.data())
def test_lines_together_are_what_each_is_by_itself(format: str, data: st.DataObject) -> None:
    texts = data.draw(st.lists(LINE[format], max_size=6))
    lines = [line for text in texts for line in text.encode().split(b"\n")]
    base = data.draw(st.sampled_from(["", "file:///t"]))

    assert together(ROWS_OF_LINES[format](lines, 1, {}, base)) == one_by_one(lines, format, base)


@pytest.mark.parametrize("format", ROWS_OF_LINES)
def test_what_is_no_utf8_costs_its_own_line(format: str) -> None:
    whole = {"tsv": b"a\tb\tc", "jsonl": b'["a","b","c"]', "nt": b"<a:s> <a:p> <a:o> .", "nq": b"<a:s> <a:p> <a:o> <a:g> ."}[format]

    rows = ROWS_OF_LINES[format]([whole, b"\xff" + whole, whole], 11, {}, "")

    tuples, wrong = together(rows)
    assert (len(tuples), len(set(tuples)), wrong) == (2, 1, [12])


def test_quads_lose_their_graphs_and_are_counted() -> None:
    lines = [b"<a:s> <a:p> <a:o> <a:g> .", b"<a:s> <a:p> <a:o> .", b'<a:s> <a:p> "<a:o> " _:g .', b"<a:s>  <a:p> <a:o>\t<a:g> ."]

    rows = ROWS_OF_LINES["nq"](lines, 1, {}, "")

    assert (len(rows.lines), rows.graphs, rows.complaints) == (4, 3, [])


def test_a_graph_that_is_no_term_makes_its_line_none() -> None:
    rows = ROWS_OF_LINES["nq"]([b"<a:s> <a:p> <a:o> <a:%zz> ."], 1, {}, "")

    assert (len(rows.lines), [line for line, _ in rows.complaints]) == (0, [1])


def test_columns_of_comma_separated_values() -> None:
    text = 'id,o,subject,predicate,object\n1,x,a,b,c\n2,x,a,b\n3,x,a,,c\n4,x,"a,\n""b""",b,c,more\n'

    (rows,) = rows_of_csv(io.BufferedReader(io.BytesIO(text.encode())), {})  # type: ignore[arg-type]  # it reads

    assert rows.columns == (["a", "a", 'a,\n"b"'], ["b", None, "b"], ["c", "c", "c"])
    assert rows.lines.tolist() == [2, 4, 6]
    assert rows.complaints == [(3, "neither a field tuple nor the fields subject, predicate, object")]


TABLE_COLUMNS = st.sampled_from(
    [["a", "b", "a", None], [1, 2, 1, None], [0.0, -0.0, 1.5, None], [True, False, True, None], [b"a", b"b", None, b"a"]]
)


@given(column=TABLE_COLUMNS, dictionary=st.booleans())
def test_columns_of_tables_are_what_each_value_is(column: list[object], dictionary: bool) -> None:
    array = pyarrow.array(column)
    if dictionary:
        array = array.dictionary_encode()
    batch = pyarrow.RecordBatch.from_arrays([pyarrow.array(["s"] * 4), array], names=["subject", "object"])

    tuples, wrong = together(rows_of_table(batch, 1, {"predicate": 7}))

    terms = Terms()
    expected = [terms.of(Fields(["s", 7, value])) for value in column if value is not None]
    assert tuples == [tuple(prefixes_of([key(3, at, term) for at, term in enumerate(row)]).tolist()) for row in expected]
    assert wrong == [column.index(None) + 1]


def test_keys_are_ranked_and_summed() -> None:
    keys = np.array([9, 3, 9, 7], dtype=np.uint64)

    order, codes = ranked(keys)
    distinct, counts = summed(keys, np.array([1, 2, 3, 4]))

    assert (order.tolist(), codes.tolist()) == ([3, 7, 9], [2, 0, 2, 1])
    assert (distinct.tolist(), counts.tolist()) == ([3, 7, 9], [2, 4, 4])
    assert [len(column) for column in summed(keys[:0], np.zeros(0, dtype=np.int64))] == [0, 0]
