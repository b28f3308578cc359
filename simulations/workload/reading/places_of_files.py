"""Which files Spark is to read: those of a path of this machine, or of a URI that Spark lists, in the order of their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from gsg.languages.files.locations import path_of, scheme_of

from ...errors import BadWorkload
from ..pieces import failing
from ..sources import DELTA_LOG, OF_TUPLES, format_in_folder, format_of, is_delta, known, sources_of
from .columns import DOCUMENTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_FILES = 100_000
"""Files that are read at most: the driver holds their names, and those of their parts."""
MAX_DOCUMENT_BYTES = 128 << 20
"""The longest file of Turtle or TriG: one task holds all of it. N-Triples and N-Quads are read line by line, however long."""
DELTA = "delta"
"""The format of a table of Delta Lake."""

_SYSTEM = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?://[^/]*)?")
_MAGIC = frozenset("{}[]*?\\")
"""What stands for something else in a path of Hadoop's."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file: what it is called where it is read, its format and how long it is."""

    path: str
    """Without escapes, and with the scheme of its file system."""
    format: str
    size_bytes: int

    @property
    def within(self) -> str:
        """Its path within its file system."""
        return _SYSTEM.sub("", self.path, count=1)

    @property
    def literally(self) -> str:
        """As Spark is told it, which would take some signs for patterns."""
        return "".join(f"\\{sign}" if sign in _MAGIC else sign for sign in self.path)


@dataclass(frozen=True, slots=True)
class Found:
    """Files in the order in which they are read, or one table, and what else there was."""

    sources: tuple[Source, ...]
    ignored: tuple[str, ...] = ()


def find(spark: SparkSession, asked: str, format: str | None) -> Found:
    """The files of a path, a folder, a pattern or a URI. Raises BadWorkload where there are none, or they cannot be read."""
    if scheme_of(asked) is None:
        found = _of_this_machine(path_of(asked), format)
    elif format == DELTA or (format is None and _listed(spark, f"{asked.rstrip('/')}/{DELTA_LOG}/*.json", 1)):
        return Found((Source(asked, DELTA, 0),))
    else:
        found = among(_listed(spark, asked, MAX_FILES + 1), asked, format)
    if len(found.sources) > MAX_FILES:
        raise BadWorkload(f"{asked} has more than {MAX_FILES:,} files; expected fewer, as after spark.read... .coalesce(N).write")
    for source in found.sources:
        if source.format in DOCUMENTS and source.size_bytes > MAX_DOCUMENT_BYTES:
            raise BadWorkload(
                f"{source.path} has {source.size_bytes:,} bytes, and {source.format} is read as a whole, {MAX_DOCUMENT_BYTES:,} at "
                "most; convert it to N-Triples or N-Quads, which are read line by line"
            )
    return found


def check_here(asked: str) -> None:
    """Raises BadWorkload for a path of this machine without files of tuples, before Spark starts; URIs are for Spark to look at."""
    if scheme_of(asked) is None:
        _of_this_machine(path_of(asked), None)


def _of_this_machine(path: Path, format: str | None) -> Found:
    if format == DELTA or (format is None and is_delta(path)):
        return Found((Source(f"file:{path.absolute()}", DELTA, 0),))
    with failing(path):
        found = sources_of(path, holding="tuples", format=format, formats=OF_TUPLES)
    sources = []
    for file, kind in found.files:
        with failing(file):
            sources.append(Source(f"file:{file.absolute()}", kind, file.stat().st_size))
    return Found(tuple(sources), tuple(found.ignored))


def among(files: Sequence[tuple[str, int]], asked: str, format: str | None) -> Found:
    """The files of tuples among those that are at a URI, with their sizes, as sources.sources_of chooses them of a folder.

    Raises BadWorkload where there are none.
    """
    named = [name for name, _ in files] == [asked]
    sources, ignored = [], []
    for name, size in sorted(files, key=_in_order):
        file = PurePosixPath(name).name
        kind = format or (format_of(file, OF_TUPLES) if named else format_in_folder(file, OF_TUPLES))
        if kind is None and named:
            raise BadWorkload(f"{file!r} has no known suffix; expected {known(OF_TUPLES)}")
        if kind is None:
            ignored.append(name.removeprefix(f"{asked.rstrip('/')}/"))
        else:
            sources.append(Source(name, kind, size))
    if not sources:
        raise BadWorkload(f"{asked} has no files of tuples; expected names that end with {known(OF_TUPLES)}")
    return Found(tuple(sources), tuple(ignored))


def _in_order(found: tuple[str, int]) -> list[tuple[bool, str]]:
    """A folder's own files come before those of the folders in it, each in the order of their names."""
    *folders, file = found[0].split("/")
    return [*((True, folder) for folder in folders), (False, file)]


def _listed(spark: SparkSession, uri: str, most: int) -> list[tuple[str, int]]:
    """The files at a URI or in a folder there, hidden ones left out, so many at most; none where there is no such place."""
    from pyspark.errors import AnalysisException

    try:
        # Of a file that is not read Spark tells the name alone.
        files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(uri).select("path", "length")
        return [(row[0], row[1]) for row in files.limit(most).collect()]
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return []
        raise
