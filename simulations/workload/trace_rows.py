"""The rows of publishers of a trace (:mod:`gsg.monitoring.trace`), which are what clients published and asked for, in order.

The driver reads them all, part by part, and holds them; of the rows in other roles it sees that they are there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gsg.monitoring import trace
from gsg.monitoring.trace import Role, What

from ..errors import BadWorkload
from .runs import Runs

if TYPE_CHECKING:
    import pyarrow

MAX_ROWS = 2_000_000
"""Rows of publishers: some 1,700 bytes of each are held once it is a tuple, 3.4 GB."""
MAX_BYTES = 1 << 30
"""Of their columns, as Arrow has them."""

_ALWAYS = ("peer", "run_us", "row", "at_us", "what")
"""Columns in which each row has a value."""
_ID = re.compile("(?:[0-9a-f]{2})+")


def rows_of_publishers(folder: Path, columns: Sequence[str]) -> tuple[Iterator[dict[str, object]], Runs]:
    """Those columns of the rows of publishers, in order, and the runs of all peers. Raises BadWorkload.

    Those of _ALWAYS and ``role`` are among the columns.
    """
    import pyarrow
    from pyarrow import compute, parquet

    parts = sorted(folder.rglob(f"*{trace.PART}"))
    if not parts:
        raise BadWorkload(
            f"cannot read {folder}: no part of a trace ({trace.PART}) is in it; expected a folder of gsg peer --trace"
        )
    published: list[pyarrow.Table] = []
    runs = Runs()
    for part in parts:
        try:
            missing = sorted(set(columns) - set(parquet.read_schema(part).names))
            if missing:
                raise BadWorkload(f"cannot read {part}: it has no column {missing[0]!r}, which a trace of this version has")
            table = parquet.read_table(part, columns=list(columns), partitioning=None)
            # In full, because texts that are no UTF-8 pass until they are read.
            table.validate(full=True)
            table = table.cast(pyarrow.schema([trace.schema().field(name) for name in columns]))
        except (OSError, pyarrow.ArrowException) as error:
            raise BadWorkload(f"cannot read {part}: {str(error).splitlines()[0].rstrip('.')}") from None
        if empty := [name for name in _ALWAYS if table.column(name).null_count]:
            raise BadWorkload(f"cannot read {part}: {empty[0]!r} is empty in some rows, and a trace has it in all")
        for group in table.group_by(["peer", "run_us"]).aggregate([("row", "max"), ("row", "count")]).to_pylist():
            if _ID.fullmatch(group["peer"]) is None:
                raise BadWorkload(f"cannot read {part}: {group['peer']!r:.60} is no id of a peer; expected hexadecimal digits")
            runs.count_rows((group["peer"], group["run_us"]), group["row_max"], group["row_count"])
        for stop in table.filter(compute.equal(table["what"], What.STOP.value)).to_pylist():
            runs.end_run((stop["peer"], stop["run_us"]))
        published.append(table.filter(compute.equal(table["role"], Role.PUBLISHER.value)))
        _check_size(folder, published)
    if not runs.peers():
        raise BadWorkload(f"cannot read {folder}: no row is in its parts; expected a folder of gsg peer --trace")
    whole = pyarrow.concat_tables(published).sort_by([(name, "ascending") for name in ("at_us", "peer", "run_us", "row")])
    return (row for batch in whole.to_batches(max_chunksize=10_000) for row in batch.to_pylist()), runs


def unfinished_parts(folder: Path) -> int:
    """Parts that a peer still writes, or wrote when it was killed."""
    return sum(1 for _ in folder.rglob(f"*{trace.OPEN}"))


def _check_size(folder: Path, published: Sequence[pyarrow.Table]) -> None:
    """Raises BadWorkload for more than the driver holds."""
    rows, size = sum(map(len, published)), sum(table.nbytes for table in published)
    if rows > MAX_ROWS or size > MAX_BYTES:
        raise BadWorkload(
            f"{folder} has more than {MAX_ROWS:,} rows of publishers, or {MAX_BYTES:,} bytes of them, and one process reads all of "
            "it here; name a folder with the parts of a shorter time"
        )
