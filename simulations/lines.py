"""What stands in a line of a file, or a row of Parquet: the fields of a tuple, and maybe when and whether it came or went.

    .jsonl, .ndjson   an object with ``tuple`` (an array) or subject, predicate and object, and ``time`` and ``sign``; or the array
    .parquet          columns of those names
    .tsv              a triple a line, between tabs

All that read such files read them by this, whether they want all of it (replay) or the tuple alone (load-balance).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from gsg.texts import MARK_BYTES

from .workload import ARITY, POSITIONS

_NAMES = (POSITIONS, ("s", "p", "o"))
"""Fields that hold a triple, where there is no ``tuple``."""
TOO_DEEP = "brackets within brackets, too deep to be read"
"""What is wrong with a line where Python's own limit of calls is met, by the text or by what is made of it."""
_MOMENT = ("time", "sign")


class Fields(NamedTuple):
    """What stands in a line; None where it does not say."""

    items: Sequence[object]
    time: object = None
    sign: object = None


def of_tabs(line: bytes) -> Fields:
    """A line of tab separated values. Raises ValueError where it holds no triple."""
    if b"\0" in line:
        raise ValueError("zero bytes, as UTF-16 has them; save it as UTF-8")
    items = line.removeprefix(MARK_BYTES).decode().rstrip("\r\n").split("\t")
    if len(items) != ARITY:
        raise ValueError(f"{len(items)} fields between tabs; expected {ARITY}")
    return Fields(items)


def of_json(line: bytes) -> Fields:
    """A line of JSON. Raises ValueError where it holds no tuple."""
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
    return of_names(found)


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
    return Fields(items, *map(found.get, _MOMENT))


def columns_of(columns: Sequence[str]) -> list[str]:
    """Those columns of Parquet that :func:`of_names` looks at. Raises ValueError where they hold no tuple."""
    names = next((names for names in (("tuple",), *_NAMES) if set(names) <= set(columns)), None)
    if names is None:
        raise ValueError(f"its columns are {', '.join(columns)}; expected tuple, or {', '.join(POSITIONS)}")
    return [*names, *(name for name in _MOMENT if name in columns)]
