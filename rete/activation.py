"""The right activation of joins: from a fact and its alpha memories to the tokens that wait for it.

All indexes are updated first, then buckets of tokens are walked from the deepest level up (:mod:`rete.operators.join` says why).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any

from .alpha import AlphaMemory
from .bag import Bag
from .index import Fact, Token, enter
from .operators.join import MUTED, Join, Stopped

MANY_WAIT = 256
"""Tokens that wait for one fact from which on they are counted as steps, each of its join. To count fewer takes longer than they
are worth, and are bounded by this for each fact."""


def activate(memories: Sequence[AlphaMemory], fact: Fact, sign: int) -> None:
    """A fact comes (+1) or goes (-1): its indexes change, then the joins that wait for its key hear of it, deepest level first."""
    hits: list[tuple[int, Any, Token, Join | None]] = []  # Any: a bag, or rete.waiting_tokens.WaitingTokens
    for memory in memories:
        for index in memory.indexes.values():
            key = index.key_of(fact)
            rows = index.rows
            if sign > 0 and key not in rows:
                rows[key] = fact
            else:
                enter(rows, key, fact, sign)
            for level, buckets, join in index.waiting:
                bucket = buckets.get(key)
                if bucket is not None:
                    hits.append((level, bucket, index.extension_of(fact), join))
    if len(hits) > 1:
        hits.sort(key=_level, reverse=True)
    for _, bucket, extension, join in hits:
        # Emitting reaches deeper levels only, so this bucket does not change under the loop.
        if join is None:
            _activate_shared(bucket, extension, sign)
            continue
        try:
            if isinstance(bucket, tuple):
                join.emit(bucket + extension, sign)
            elif isinstance(bucket, list):
                emit = join.emit
                for token in bucket:
                    emit(token + extension, sign)
            else:
                if type(bucket) is not dict:
                    bucket = bucket.partners(extension)
                if len(bucket) >= MANY_WAIT:
                    join.count_steps(len(bucket))
                emit = join.emit
                for token, weight in bucket.items():
                    emit(token + extension, weight * sign)
        except Stopped:
            # All that this join serves has ended.
            continue


def _activate_shared(bucket: Bag, extension: Token, sign: int) -> None:
    """The same for a bucket that joins of a level share, where each token has its join before it, and where one may end while
    others go on."""
    if isinstance(bucket, tuple):
        with suppress(Stopped):
            bucket[0].emit(bucket[1:] + extension, sign)
    elif isinstance(bucket, list):
        rest = iter(bucket)
        try:
            for partner in rest:
                partner[0].emit(partner[1:] + extension, sign)
        except Stopped:
            _emit_rest(((partner, 1) for partner in rest), extension, sign)
    else:
        counted = iter(bucket.items())
        try:
            if len(bucket) >= MANY_WAIT:
                _count_steps(bucket)
            for partner, weight in counted:
                partner[0].emit(partner[1:] + extension, weight * sign)
        except Stopped:
            _emit_rest(counted, extension, sign)


def _emit_rest(rest: Iterator[tuple[Token, int]], extension: Token, sign: int) -> None:
    """The partners of a fact behind one whose query has ended: those of others go on."""
    for partner, weight in rest:
        if partner[0].limit != MUTED:
            with suppress(Stopped):
                partner[0].emit(partner[1:] + extension, weight * sign)


def _count_steps(bucket: dict[Token, int]) -> None:
    """Each join looks at those of its tokens that are in a bucket. Raises Stopped, when all are counted, where a query ends."""
    ended = None
    for join, steps in Counter(map(_join_of, bucket)).items():
        try:
            join.count_steps(steps)
        except Stopped as stopped:
            ended = stopped
    if ended is not None:
        raise ended


_join_of = itemgetter(0)


def _level(hit: tuple[int, Any, Token, Join | None]) -> int:  # Any: as above
    return hit[0]
