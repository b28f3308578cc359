"""The way of most events: a condition of a query that is its last, and then its rows.

What :meth:`rete.Network.flash` does in general, entering an event everywhere and taking it back, is here done without a trace where
nothing would keep any.
"""

from __future__ import annotations

from collections.abc import Iterable

from .alpha import AlphaMemory
from .index import Fact
from .production import Production, Row
from .waiting_tokens import WaitingTokens


def rows_of_last_conditions(memories: Iterable[AlphaMemory], event: Fact) -> list[tuple[Production, list[tuple[Row, int]]]] | None:
    """The rows of an event that only last conditions of queries meet, each with a tuple that was there before it.

    Nothing keeps what those pass on, so it has not to be taken back. None where anything else is concerned.
    """
    found: list[tuple[Production, list[tuple[Row, int]]]] = []
    for memory in memories:
        for index in memory.indexes.values():
            for _, buckets, alone in index.waiting:
                bucket = buckets.get(index.key_of(event))
                if bucket is None or (type(bucket) is WaitingTokens and not bucket.partners(index.extension_of(event))):
                    continue
                # Several tokens, or several conditions, may give a query the same row twice: that is added up elsewhere.
                if found or type(bucket) is not tuple:
                    return None
                join = alone or bucket[0]
                if not join.ends:
                    return None
                token = (bucket if alone else bucket[1:]) + index.extension_of(event)
                for end in join.ends:
                    if end.count >= end.limit:
                        return None
                    found.append((end, [(end.row_of(token), 1)]))
    return found
