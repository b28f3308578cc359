"""The answer of a query at a peer, as segments have rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa

from gsg.errors import GsgError, Overrun, Reconnected, Stale
from gsg.languages.query import MAX_TOKENS
from gsg.tuples.terms import Term

from ..errors import BadParameter
from .columns import ColumnMaker, moment
from .held_rows import add_up, difference, no_rows
from .row_schema import check_variables
from .source_options import SourceOptions

RECONNECT_S = 60.0
"""Where the peer is lost, others are tried for so long; then the task fails, and Spark tries it again."""


def answer_of(options: SourceOptions, columns: Sequence[tuple[str, str]], schema: pa.Schema) -> list[pa.RecordBatch]:
    """Ask a peer. Raises BadParameter, and what the peer says."""
    return asyncio.run(_ask(options, columns, schema))


async def _ask(options: SourceOptions, columns: Sequence[tuple[str, str]], schema: pa.Schema) -> list[pa.RecordBatch]:
    reader = _SnapshotReader(columns, options.term_format, schema)
    async with options.access.client_of_any(lambda *_: None, reconnect_s=RECONNECT_S) as client:
        await client.stream(options.query, reader, options.language, max_tokens=options.max_tokens or MAX_TOKENS)
        await reader.answered
    nothing = no_rows(schema)
    answer = add_up(nothing, [pa.Table.from_batches(reader.batches, schema)])
    batches: list[pa.RecordBatch] = difference(nothing, answer, moment(reader.at), schema).to_batches()
    return batches


class _SnapshotReader:
    """Waits for the first answer: a :class:`gsg.http.client.row_stream.RowReader`."""

    def __init__(self, columns: Sequence[tuple[str, str]], term_format: str, schema: pa.Schema) -> None:
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.batches: list[pa.RecordBatch] = []
        """Bounded by what the query may hold at its peer."""
        self.at = datetime.now(UTC)
        self._columns = columns
        self._maker = ColumnMaker(columns, term_format, schema)

    def begin(self, variables: tuple[str, ...], reconnected: Reconnected | None) -> None:
        """See RowReader. What another peer begins to tell while the client is closed changes no answer that is complete."""
        if self.answered.done():
            return
        try:
            check_variables(self._columns, variables)
        except BadParameter as error:
            self.answered.set_exception(error)
            return
        self._maker.set_variables(variables)
        self.batches = []

    def receive_rows(self, signs: list[int], values: list[tuple[Term | None, ...]]) -> None:
        """See RowReader."""
        if not self.answered.done():
            self.batches.append(self._maker.make_batch(signs, values, self.at))

    def complete(self) -> None:
        """See RowReader."""
        if not self.answered.done():
            self.answered.set_result(None)

    def tell_problem(self, problem: Overrun | Stale) -> None:
        """See RowReader. An answer that may be out of date is none."""
        if isinstance(problem, Stale) and not self.answered.done():
            self.answered.set_exception(problem)

    def end(self, error: GsgError | None) -> None:
        """See RowReader."""
        if error is not None and not self.answered.done():
            self.answered.set_exception(error)
