"""Lines of a file, rows of a table or the statements of a document as columns of fields: the same meaning as lines.py gives them.

Whoever reads gets batches of :class:`Rows`. Lines are read in bulk where they are as most are; one that is not is looked at by
itself, so that a mistake costs no other line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gsg.errors import BadText, GsgError
from gsg.languages.files.blank_nodes import BlankNodes
from gsg.languages.files.encoding import MARK_BYTES
from gsg.tuples.terms import Literal, Term

from ...errors import BadWorkload
from ..lines import TOO_DEEP, by_name, columns_of, named_rows_of_csv, names_of, of_csv, of_json, of_tabs
from ..term_texts import PLAIN_BLANK, parsed_lines, term_of_text
from ..workload import ARITY, POSITIONS
from .dictionary import Column

if TYPE_CHECKING:
    import pyarrow

BATCH = 1 << 15
"""Lines or rows that are read together at most, and become one block: some 600 kB."""

Complaint: TypeAlias = tuple[int, str]
"""The number of a line, and what is wrong with it."""
Beside: TypeAlias = Mapping[str, object]
"""Columns that the folder of a file says (sources.partition_of)."""


class Rows(NamedTuple):
    """Tuples of a batch by columns, the number of the line of each, and what is wrong with other lines."""

    columns: tuple[Column, ...]
    lines: NDArray[np.int64]
    complaints: list[Complaint]
    graphs: int = 0
    """Quads that were taken without the names of their graphs."""


class _Made:
    """Tuples that are put together one by one: column by column, so that Python's collector has no rows to walk through."""

    def __init__(self) -> None:
        self.columns: tuple[list[object], ...] = tuple([] for _ in range(ARITY))
        self.lines: list[int] = []
        self.complaints: list[Complaint] = []
        self.graphs = 0
        self._add_subject, self._add_predicate, self._add_object = (column.append for column in self.columns)

    def take(self, line: int, items: Sequence[object]) -> None:
        """One tuple more, or a complaint where it is one of another length."""
        if len(items) == ARITY:
            self.take_fields(line, items)
        else:
            self.complain(line, wrong_length(len(items)))

    def take_fields(self, line: int, fields: Sequence[object]) -> None:
        """One tuple more, of the right length."""
        subject, predicate, thing = fields
        self._add_subject(subject)
        self._add_predicate(predicate)
        self._add_object(thing)
        self.lines.append(line)

    def complain(self, line: int, problem: str) -> None:
        """A line that holds nothing."""
        self.complaints.append((line, problem))

    def take_terms(self, line: int, items: Sequence[Term]) -> None:
        """A tuple of terms, of a graph if there is a fourth."""
        # A text would be read as one of a file, and a literal without a datatype is that text as a term.
        self.take_fields(line, [Literal(item) if isinstance(item, str) else item for item in items[:ARITY]])
        self.graphs += len(items) > ARITY

    def parse(self, line: int, text: bytes, format: str, base: str) -> None:
        """Whatever stands in a line of N-Triples or N-Quads, which may be several where they end as on old systems."""
        rows, mistake = parsed_lines([text + b"\n"], format, base=base or None)
        if mistake is not None:
            self.complain(line, mistake)
            return
        for row in rows:
            self.take_terms(line, row)

    def rows(self) -> Rows:
        """All of them."""
        return Rows(self.columns, np.array(self.lines, dtype=np.int64), self.complaints, self.graphs)


def wrong_length(items: int) -> str:
    """What is wrong with a tuple of so many items."""
    return f"a tuple of {items}; expected {ARITY}, which alone are simulated"


def rows_of_tabs(lines: Sequence[bytes], first: int, _beside: Beside, _base: str) -> Rows:
    """Lines between whose fields there are tabs."""
    made = _Made()
    texts = _texts_of(lines)
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        fields = None if texts is None else texts[number - first].split("\t")
        try:
            made.take_fields(number, fields if fields and len(fields) == ARITY else of_tabs(line).items)
        except ValueError as error:
            made.complain(number, str(error))
    return made.rows()


def rows_of_json(lines: Sequence[bytes], first: int, beside: Beside, _base: str) -> Rows:
    """Lines of JSON."""
    made = _Made()
    for number, line in enumerate(lines, first):
        if line.strip():
            try:
                made.take(number, of_json(line, beside).items)
            except ValueError as error:
                made.complain(number, str(error))
            except RecursionError:
                made.complain(number, TOO_DEEP)
    return made.rows()


def rows_of_triples(lines: Sequence[bytes], first: int, _beside: Beside, base: str) -> Rows:
    """Lines of N-Triples. ``base`` is the IRI of their file, to which blank nodes belong."""
    made, suffix = _Made(), _suffix_of(base)
    for number, text in enumerate(_texts_of(lines) or [""] * len(lines), first):
        begin, end = text[:1], text[-2:]
        fields: Sequence[str] | None = text[:-2].split(" ", 2) if end == " ." and begin in _NODE_BEGINS else None
        if fields is not None and (len(fields) != ARITY or not _looks_like_terms(*fields)):
            fields = None
        elif fields is not None and (begin == "_" or fields[2][:1] == "_"):
            fields = _named(fields, suffix)
        if fields is not None:
            made.take_fields(number, fields)
        else:
            made.parse(number, lines[number - first], "nt", base)
    return made.rows()


def rows_of_quads(lines: Sequence[bytes], first: int, _beside: Beside, base: str) -> Rows:
    """Lines of N-Quads; a graph must be a term, and is left out. ``base`` is as for N-Triples."""
    made, suffix = _Made(), _suffix_of(base)
    graphs: dict[str, bool] = {}
    for number, text in enumerate(_texts_of(lines) or [""] * len(lines), first):
        found = _QUAD.fullmatch(text)
        graph = None if found is None else found[4]
        if graph is not None and graph not in graphs:
            graphs[graph] = _is_term(graph)
        fields = None if found is None or (graph is not None and not graphs[graph]) else _named(found.groups()[:ARITY], suffix)
        if fields is None:
            made.parse(number, lines[number - first], "nq", base)
        else:
            made.take_fields(number, fields)
            made.graphs += graph is not None
    return made.rows()


_NODE_BEGINS = frozenset("<_")
_QUAD = re.compile(
    r'(<[^<>\s]*>|_:[^\s<>"]+) (<[^<>\s]*>) (<[^<>\s]*>|_:[^\s<>"]+|"(?:[^"\\]|\\.)*"[^\s"]*)(?: (<[^<>\s]*>|_:[^\s<>"]+))? \.'
)
"""A line as most are written; whether its parts are terms is looked at once for each text, by the parser if need be."""


def _looks_like_terms(subject: str, predicate: str, thing: str) -> bool:
    # A text that looks so and is no term is told when its key is made. The parser reads the object in its place, so a comment
    # behind it does no harm.
    return (
        (subject[-1] == ">" if subject[0] == "<" else subject[:2] == "_:")
        and predicate[:1] == "<"
        and predicate[-1] == ">"
        and thing[:1] in _OBJECT_BEGINS
    )


_OBJECT_BEGINS = frozenset('<_"')


def _suffix_of(base: str) -> str:
    """What stands behind the labels of a file."""
    return BlankNodes(base).labelled("b").label.removeprefix("b")


def _named(fields: Sequence[str], suffix: str) -> Sequence[str] | None:
    """Fields whose blank nodes are those of their file; None where a label is to be looked at by the parser."""
    for field in fields:
        if field[:1] == "_" and PLAIN_BLANK.fullmatch(field) is None:
            return None
    return [field + suffix if field[:1] == "_" else field for field in fields]


def _is_term(text: str) -> bool:
    try:
        term_of_text(text)
    except ValueError:
        return False
    return True


def _texts_of(lines: Sequence[bytes]) -> list[str] | None:
    """The texts of lines; None where each is to be looked at alone, for what is no UTF-8 or no plain text."""
    joined = b"\n".join(lines)
    if not lines or b"\0" in joined or MARK_BYTES in joined:
        return None
    try:
        texts = joined.decode().split("\n")
    except UnicodeDecodeError:
        return None
    if b"\r" in joined:
        texts = [text.removesuffix("\r") for text in texts]
        # One within a line ends a line of N-Triples.
        texts = [text if "\r" not in text else "" for text in texts]
    return texts


def rows_of_csv(stream: io.BufferedReader[Any], beside: Beside) -> Iterator[Rows]:  # Any: what is buffered
    """A file of comma separated values, which is closed at the end. Raises UnicodeDecodeError and csv.Error."""
    made, places, first_names = _Made(), list[int](), list[str]()
    for line, names, row in named_rows_of_csv(stream, beside):
        if names is not first_names:
            first_names, places = names, _places_among(names)
        if places and isinstance(row, list) and len(row) == len(names):
            # An empty field says nothing.
            made.take_fields(line, [row[place] or None for place in places])
        else:
            try:
                made.take(line, of_csv(by_name(names, row), beside).items)
            except ValueError as error:
                made.complain(line, str(error))
        if len(made.lines) + len(made.complaints) == BATCH:
            yield made.rows()
            made = _Made()
    yield made.rows()


def _places_among(names: Sequence[str]) -> list[int]:
    """Where the fields of a tuple stand in a row; none where that is not told by these names alone, once each."""
    found = names_of(names)
    return [names.index(name) for name in found] if found and len(found) == ARITY and len(set(names)) == len(names) else []


def rows_of_table(batch: pyarrow.RecordBatch, first: int, beside: Beside) -> Rows:
    """Rows of Parquet, or of another table. Raises ValueError where its columns hold no tuple."""
    import pyarrow

    # In full, because texts that are no UTF-8 pass until they are read.
    batch.validate(full=True)
    names = [name for name in columns_of([*batch.schema.names, *beside]) if name not in ("time", "sign")]
    lines = np.arange(first, first + len(batch), dtype=np.int64)
    columns: list[pyarrow.Array] = [
        batch.column(name)
        if name in batch.schema.names
        else pyarrow.array([beside[name]]).take(_numbers(np.zeros(len(batch), dtype=np.int64)))
        for name in names
    ]
    return Rows(tuple(columns), lines, []) if len(columns) == ARITY else _rows_of_lists(columns[0], lines)


def _numbers(column: NDArray[Any]) -> pyarrow.Array:  # Any: whole numbers, or flags
    import pyarrow

    return pyarrow.array(column)


def _rows_of_lists(tuples: pyarrow.Array, lines: NDArray[np.int64]) -> Rows:
    """Rows with an array of three in one column."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_fixed_size_list(tuples.type):
        tuples = tuples.cast(pyarrow.list_(tuples.type.value_type))
    if not (types.is_list(tuples.type) or types.is_large_list(tuples.type)):
        wrong = [f"a tuple that is no array but {value!r:.60}" for value in tuples.to_pylist()]
        return Rows(([],) * ARITY, lines[:0], list(zip(lines.tolist(), wrong, strict=True)))
    lengths = compute.fill_null(compute.list_value_length(tuples), -1).to_numpy(zero_copy_only=False)
    complaints = [
        (
            int(lines[place]),
            wrong_length(int(lengths[place]))
            if lengths[place] >= 0
            else f"neither a field tuple nor the fields {', '.join(POSITIONS)}",
        )
        for place in np.flatnonzero(lengths != ARITY)
    ]
    whole = lengths == ARITY
    items = tuples.filter(_numbers(whole)).flatten()
    places = np.arange(0, len(items), ARITY, dtype=np.int64)
    columns = tuple(items.take(_numbers(places + position)) for position in range(ARITY))
    return Rows(columns, lines[whole], complaints)


def rows_of_document(stream: IO[bytes], format: str, *, name: str, base: str) -> Iterator[Rows]:
    """A text of Turtle or TriG, whose mistakes are left out as the parser has them. Raises BadWorkload where it cannot be read."""
    from gsg.languages.files import read_tuples

    mistakes: list[BadText] = []
    try:
        tuples = read_tuples(stream, format, name=name, base=base, lenient=mistakes.append)
        while True:
            made = _Made()
            for items in islice(tuples, BATCH):
                made.take_terms(0, items)
            made.complaints += [(mistake.line, mistake.problem) for mistake in mistakes]
            mistakes.clear()
            if not made.lines and not made.complaints:
                return
            yield made.rows()
    except GsgError as error:
        raise BadWorkload(str(error)) from None
    except ModuleNotFoundError as error:
        raise BadWorkload(f"cannot read {name}: it takes a parser of RDF, and a machine that reads has none ({error})") from None


ROWS_OF_LINES: Mapping[str, Callable[[Sequence[bytes], int, Beside, str], Rows]] = {
    "tsv": rows_of_tabs,
    "jsonl": rows_of_json,
    "nt": rows_of_triples,
    "nq": rows_of_quads,
}
"""Formats whose lines can be read by themselves, given the number of the first, what their folder says, and the IRI of their file;
they end at ``\\n`` alone."""
DOCUMENTS = ("ttl", "trig")
"""Formats of which only the whole says what a part means."""
