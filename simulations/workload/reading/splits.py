"""The splits of files in the order of files and lines, however Spark cut and packed them: where their tuples begin among all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ...errors import BadWorkload
from .blocks import SplitSeen
from .seen import Seen
from .split_reader import path_of_uri

Begins: TypeAlias = Mapping[tuple[str, int], int]
"""The number of the first tuple of each split, by its file and where it begins there."""


class Ordered(NamedTuple):
    """All splits."""

    begins: Begins
    tuples: int
    seen: Seen


def in_order(splits: Iterable[SplitSeen], files: Sequence[str], ignored: Sequence[str] = ()) -> Ordered:
    """Put splits in the order of ``files``, paths within their file system. Raises BadWorkload for one that could not be read."""
    ranks = {file: rank for rank, file in enumerate(files)}
    # A table has no files that anybody named.
    ordered = sorted(splits, key=lambda split: (ranks.get(str(path_of_uri(split.file)), -1), split.file, split.start))
    begins: dict[tuple[str, int], int] = {}
    seen, tuples, lines, file = Seen(ignored=ignored), 0, 0, ""
    for split in ordered:
        if split.failure:
            raise BadWorkload(split.failure)
        if split.file != file:
            file, lines = split.file, 0
        begins[split.file, split.start] = tuples
        examples = [(line + lines if line else 0, problem) for line, problem in split.examples]
        seen.count(path_of_uri(file).name, split.malformed, examples, split.graphs)
        tuples += split.tuples
        lines += split.lines
    return Ordered(begins, tuples, seen)
