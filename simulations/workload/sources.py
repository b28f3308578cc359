"""Which files hold tuples or changes: one file, all of a folder or of a pattern, as people and Spark leave them.

What Spark hides is hidden here too: names that begin with ``.`` or ``_``, as its marks of success and what a job that failed left.
A folder ``name=value`` of a partitioned table is a column of its rows. A table of Delta Lake, Iceberg or Hudi is refused: its files
hold rows that are no longer of it, and which those are is said elsewhere.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote

from ..errors import BadWorkload

FORMATS = {
    ".nt": "nt",
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
"""Suffix of a file name, and its format."""
OF_TUPLES = {**FORMATS, ".nq": "nq", ".ttl": "ttl", ".trig": "trig"}
"""The same for what has tuples and no history: N-Quads, Turtle and TriG too."""

_SPARKS_PART = "part-"
"""How Spark names a file: others that end with ``.json`` are documents of any kind, and looked at only where they are named."""
DELTA_LOG = "_delta_log"
"""The folder by which a table of Delta Lake is known."""
_TABLES = {DELTA_LOG: "Delta Lake", ".hoodie": "Hudi"}
"""Folders by which tables are known whose files are not simply theirs."""
_FORMATS_OF_SPARK = {"Delta Lake": "delta", "Iceberg": "iceberg", "Hudi": "hudi"}
_NULL = "__HIVE_DEFAULT_PARTITION__"
"""What a partition is called whose column is empty."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Files with their formats in the order of their names, and the files beside them that are none by name."""

    files: list[tuple[Path, str]]
    ignored: list[str]


def sources_of(
    name: str | Path, *, holding: str, format: str | None = None, formats: Mapping[str, str] = MappingProxyType(FORMATS)
) -> Sources:
    """The files of a path or pattern; a format that is named is that of all. Raises BadWorkload.

    ``holding`` is what they are to hold, such as tuples, and ``formats`` are those that are looked for, by suffix.
    """
    root = Path(name)
    if not root.exists() and glob.has_magic(str(name)):
        roots = [Path(found) for found in sorted(glob.glob(str(name), recursive=True))]
        if not roots:
            raise BadWorkload(f"no file is named as {str(name)!r} says; expected a pattern of files, such as 'folder/*.parquet'")
    else:
        roots = [root]
    files: list[tuple[Path, str]] = []
    ignored: list[str] = []
    for found in roots:
        if found.is_dir():
            for file in _walked(found):
                kind = format or format_in_folder(file.name, formats)
                if kind is None:
                    ignored.append(str(file.relative_to(found)))
                else:
                    files.append((file, kind))
        elif len(roots) == 1 or not _is_hidden(found.name):
            files.append((found, _format_of_file(found, format, formats)))
    if not files:
        raise BadWorkload(f"{name} has no files of {holding}; expected names that end with {known(formats)}")
    for folder in {file.parent for file, _ in files}:
        _refuse_tables(folder)
    return Sources(files, ignored)


def known(formats: Mapping[str, str]) -> str:
    """The suffixes of formats, as a message has them."""
    return f"{', '.join(formats)}, all but .parquet also with .gz"


def format_of(name: str, formats: Mapping[str, str] = MappingProxyType(FORMATS)) -> str | None:
    """The format that the name of a file says, in capitals too; None for none."""
    suffix = Path(name.removesuffix(".gz")).suffix.lower()
    return None if suffix == ".parquet" and name.endswith(".gz") else formats.get(suffix)


def format_in_folder(name: str, formats: Mapping[str, str]) -> str | None:
    """The same of a file that nobody named, but its folder."""
    is_document = Path(name.removesuffix(".gz")).suffix.lower() == ".json" and not name.startswith(_SPARKS_PART)
    return None if is_document else format_of(name, formats)


def is_delta(folder: Path) -> bool:
    """Whether this is a table of Delta Lake."""
    return (folder / DELTA_LOG).is_dir()


def partition_of(file: Path) -> dict[str, object]:
    """The columns that the folders of a file say, the nearest ones: of ``p=likes/day=7/part-0.parquet`` p and day.

    A value that is written as a whole number is one, as Spark has it.
    """
    found: dict[str, object] = {}
    for folder in file.parents:
        name, equals, value = folder.name.partition("=")
        if not equals or not name:
            break
        found.setdefault(unquote(name), _value_of(unquote(value)))
    return found


def _value_of(text: str) -> object:
    if text == _NULL:
        return None
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and str(int(text)) == text else text


def _format_of_file(file: Path, format: str | None, formats: Mapping[str, str]) -> str:
    found = format or format_of(file.name, formats)
    # A file that is not there is told of when it is opened.
    if found is None and file.exists():
        raise BadWorkload(f"{file.name!r} has no known suffix; expected {known(formats)}")
    return found or "jsonl"


def _walked(root: Path) -> Iterator[Path]:
    """All files of a folder and below that are not hidden."""
    for folder, folders, names in os.walk(root, onerror=_raised):
        _refuse_table(Path(folder), root)
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        for name in sorted(names):
            if not _is_hidden(name):
                yield Path(folder, name)


def _raised(error: OSError) -> None:
    raise error


def _is_hidden(name: str) -> bool:
    # A partition may be named after a column that begins so.
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _refuse_tables(folder: Path) -> None:
    """Raises BadWorkload for a folder of a table, or one of its partitions."""
    while True:
        _refuse_table(folder, folder)
        if "=" not in folder.name:
            return
        folder = folder.parent


def _refuse_table(folder: Path, root: Path) -> None:
    kind = next((kind for mark, kind in _TABLES.items() if (folder / mark).is_dir()), None)
    # Iceberg keeps files in a folder "data" beside its metadata.
    for place in (folder, folder.parent) if folder.name == "data" or folder == root else (folder,):
        if kind is None and next((place / "metadata").glob("*.metadata.json"), None) is not None:
            kind = "Iceberg"
    if kind is not None:
        raise BadWorkload(
            f"{folder} is a table of {kind}, whose files also hold rows that are no longer of it; write out what it holds now, as "
            f"with spark.read.format({_FORMATS_OF_SPARK[kind]!r}).load(TABLE).write.parquet(FOLDER), and name that folder"
        )
