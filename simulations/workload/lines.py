"""What stands in a line of a file, or a row of Parquet: the fields of a tuple, and maybe when and whether it came or went.

    .jsonl, .ndjson   an object with ``tuple`` (an array) or subject, predicate and object, and ``time`` and ``sign``; or the array
    .parquet          columns of those names
    .tsv              a triple a line, between tabs
    .csv              columns of those names in its first line; a triple a line where that names none

All that read such files read them by this, whether they want all of it (replay) or the tuple alone (load-balance).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import msgspec

from gsg.languages.files.encoding import MARK_BYTES

from .workload import ARITY, POSITIONS

_NAMES = (POSITIONS, ("s", "p", "o"))
"""Fields that hold a triple, where there is no ``tuple``."""
NAMES: tuple[tuple[str, ...], ...] = (("tuple",), *_NAMES)
"""Columns that hold a tuple; the first of these counts where there are several."""
ZERO_BYTES = "zero bytes, as UTF-16 has them; save it as UTF-8"
TOO_DEEP = "brackets within brackets, too deep to be read"
"""What is wrong with a line where Python's own limit of calls is met, by the text or by what is made of it."""


class Fields(NamedTuple):
    """What stands in a line; None where it does not say."""

    items: Sequence[object]
    time: object = None
    sign: object = None
    are_terms: bool = False
    """Whether the items are terms; else terms are still to be made of them."""


def of_tabs(line: bytes) -> Fields:
    """A line of tab separated values. Raises ValueError where it holds no triple."""
    if b"\0" in line:
        raise ValueError(ZERO_BYTES)
    items = line.removeprefix(MARK_BYTES).decode().rstrip("\r\n").split("\t")
    if len(items) != ARITY:
        raise ValueError(f"{len(items)} fields between tabs; expected {ARITY}")
    return Fields(items)


def of_json(line: bytes, beside: Mapping[str, object] = MappingProxyType({})) -> Fields:
    """A line of JSON, and the columns that its folder says. Raises ValueError where it holds no tuple."""
    try:
        found: object = msgspec.json.decode(line.removeprefix(MARK_BYTES))
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if isinstance(found, list):
        return Fields(found)
    if not isinstance(found, dict):
        raise ValueError("neither an object nor an array")
    return of_names({**beside, **found})


_SPARKS_QUOTE = re.compile(rb'\\"[^",\r\n]')
"""A quote after a backslash within a field, as Spark writes it: elsewhere (RFC 4180) one that is not doubled ends its field."""
SNIFFED_BYTES = 1 << 20
"""The beginning of a file that says which of both it is."""


BadRow: TypeAlias = csv.Error
"""What is wrong with the quotes of a row of CSV, which is left out as others are that hold no tuple."""


def rows_of_csv(
    stream: io.BufferedReader[io.RawIOBase], beside: Mapping[str, object]
) -> Iterator[tuple[int, Mapping[str, object] | list[str] | BadRow]]:
    """Each row by the number of its last line: by the names of the first one, or as it stands where that names no tuple.

    ``beside`` are the columns that the folder says. The stream is closed at the end. Raises UnicodeDecodeError and csv.Error.
    """
    for line, names, row in named_rows_of_csv(stream, beside):
        yield line, by_name(names, row)


def named_rows_of_csv(
    stream: io.BufferedReader[io.RawIOBase], beside: Mapping[str, object]
) -> Iterator[tuple[int, list[str], list[str] | BadRow]]:
    """As :func:`rows_of_csv`, the names of the fields beside each row; none where the first row names no tuple."""
    begin = stream.peek(SNIFFED_BYTES)
    if b"\0" in begin:
        raise csv.Error(ZERO_BYTES)
    escape = "\\" if _SPARKS_QUOTE.search(begin) else None
    with io.TextIOWrapper(stream, newline="", encoding="utf-8") as text:
        # Strictly, as otherwise what stands behind a quote becomes part of the field, and all lines behind one that is not closed.
        reader = csv.reader(text, doublequote=True, escapechar=escape, strict=True)
        names: list[str] | None = None
        while True:
            row: list[str] | BadRow | None
            try:
                row = next(reader, None)
            except csv.Error as error:
                if str(error).startswith("field larger"):
                    raise csv.Error(
                        f"line {reader.line_num}: a field of more than {csv.field_size_limit():,} characters, as where a quote "
                        "is not closed"
                    ) from None
                row = BadRow("a quote is not closed" if str(error) == "unexpected end of data" else str(error))
            if row is None:
                return
            if names is None:
                names = [] if isinstance(row, BadRow) else [name.strip() for name in row]
                if names_of([*names, *beside]) is not None:
                    continue
                names = []
            if row:
                yield reader.line_num, names, row


def by_name(names: Sequence[str], row: list[str] | BadRow) -> Mapping[str, object] | list[str] | BadRow:
    """The fields of a row of CSV by name, where it has any; an empty one says nothing."""
    if isinstance(row, BadRow) or not names:
        return row
    return {name: field or None for name, field in zip(names, row, strict=False)}


def of_csv(row: Mapping[str, object] | list[str] | BadRow, beside: Mapping[str, object]) -> Fields:
    """A row of CSV, and the columns that its folder says. Raises ValueError where it holds no tuple."""
    if isinstance(row, BadRow):
        raise ValueError(str(row))
    if isinstance(row, list):
        if len(row) != ARITY:
            raise ValueError(f"{len(row)} fields between commas; expected {ARITY}, or a first line that names them")
        return Fields(row)
    fields = of_names({**beside, **row})
    return fields._replace(time=_number_of(fields.time))


def _number_of(text: object) -> object:
    try:
        return float(text) if isinstance(text, str) else text
    except ValueError:
        return text


def names_of(columns: Sequence[str]) -> Sequence[str] | None:
    """The columns among these that hold a tuple; None where there are none."""
    return next((names for names in NAMES if set(names) <= set(columns)), None)


def of_names(found: Mapping[str, object]) -> Fields:
    """An object of JSON, or a row of Parquet. Raises ValueError where it holds no tuple."""
    items = found.get("tuple")
    if items is None:
        names = next((names for names in _NAMES if all(name in found for name in names)), None)
        if names is None:
            raise ValueError(f"neither a field tuple nor the fields {', '.join(POSITIONS)}")
        items = [found[name] for name in names]
    if not isinstance(items, list):
        raise ValueError(f"a tuple that is no array but {items!r:.60}")
    return Fields(items, found.get("time"), found.get("sign"))


def columns_of(columns: Sequence[str]) -> list[str]:
    """Those columns of Parquet that :func:`of_names` looks at. Raises ValueError where they hold no tuple."""
    names = names_of(columns)
    if names is None:
        raise ValueError(f"its columns are {', '.join(columns)}; expected tuple, or {', '.join(POSITIONS)}")
    return [*names, *(name for name in ("time", "sign") if name in columns)]
