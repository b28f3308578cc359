"""Relations in the memory of this process: small histories, and the yardstick of those on Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import rete
from gsg.languages.query import Query
from gsg.tuples.terms import Term, Tuple
from rete.algebra import Test
from rete.chain import JoinSpec
from rete.operators.operator import Places
from rete.operators.pair_join import Pairing

from ..errors import BadParameter
from .history import Change, Sieve
from .intervals import FOREVER, Interval, Stay, copies, gaps, merged, truth_of
from .relations import alphas, relation_of

MAX_CHANGES = 2_000_000
"""Changes of facts that a query asks about which are kept in memory, some hundreds of bytes each; more are refused."""

Token: TypeAlias = tuple[Term, ...]
Held: TypeAlias = tuple[Token, float, float]
"""A token with its interval."""
Tokens: TypeAlias = list[Held]


class InMemory:
    """The engine; ``facts`` are those of each alpha memory, with their intervals."""

    def __init__(self, facts: dict[rete.AlphaSpec, Tokens]) -> None:
        self._facts = facts

    def always(self) -> Tokens:
        return [((), -FOREVER, FOREVER)]

    def joined(self, left: Tokens, spec: JoinSpec) -> Tokens:
        return _overlaps(left, spec.token_key, self._facts.get(spec.alpha, []), spec.fact_key, spec.new)

    def paired(self, left: Tokens, right: Tokens, pairing: Pairing) -> Tokens:
        mine, theirs = tuple(one for one, _ in pairing.key), tuple(other for _, other in pairing.key)
        return _overlaps(left, mine, right, theirs, pairing.new)

    def passed(self, relation: Tokens, test: Test, places: Places) -> Tokens:
        return [held for held in relation if test(_values(held[0], places))]

    def columns(self, relation: Tokens, places: Places) -> Tokens:
        return [(_values(token, places), came, went) for token, came, went in relation]

    def merged(self, relation: Tokens) -> Tokens:
        return [(token, *interval) for token, intervals in _by_token(relation) for interval in merged(intervals)]

    def asked(self, relation: Tokens, places: Places) -> Tokens:
        return [(token, -FOREVER, FOREVER) for token in dict.fromkeys(_values(token, places) for token, _, _ in relation)]

    def gaps(self, relation: Tokens, asked: Tokens) -> Tokens:
        known = dict(_by_token(relation))
        return [(token, *gap) for token, _, _ in asked for gap in gaps(merged(known.get(token, ())))]

    def kept(self, relation: Tokens) -> Tokens:
        return relation


def _values(token: Token, places: Places) -> Token:
    # A name that is never bound has no place; a test reads None there.
    return tuple([None if place is None else token[place] for place in places])  # type: ignore[misc]  # as just said


def _overlaps(
    left: Tokens, token_key: Sequence[int], right: Iterable[Held], right_key: Sequence[int], new: Sequence[int]
) -> Tokens:
    by_key: dict[Token, Tokens] = defaultdict(list)
    for held in right:
        by_key[tuple([held[0][place] for place in right_key])].append(held)
    found = []
    for token, came, went in left:
        for other, begins, ends in by_key.get(tuple([token[place] for place in token_key]), ()):
            begin, end = max(came, begins), min(went, ends)
            if begin < end:
                found.append((token + tuple([other[place] for place in new]), begin, end))
    return found


def _by_token(relation: Tokens) -> Iterable[tuple[Token, list[Interval]]]:
    found: dict[Token, list[Interval]] = defaultdict(list)
    for token, came, went in relation:
        found[token].append((came, went))
    return found.items()


def replay(query: Query, changes: Iterable[Change]) -> Iterator[Stay]:
    """The rows of a query, in no order. Raises BadParameter for a query that replay does not answer."""
    memories = alphas(query)
    facts = facts_of(memories, changes)
    relation = relation_of(query, InMemory(facts), lambda alpha: len(facts.get(alpha, ())))
    for row, intervals in _by_token(relation):
        for came, went in copies(intervals):
            yield Stay(row, came, went)


def facts_of(memories: Sequence[rete.AlphaSpec], changes: Iterable[Change]) -> dict[rete.AlphaSpec, Tokens]:
    """What is in each alpha memory, and when. Raises BadParameter for too much of it."""
    sieve = Sieve(memories)
    admitted: dict[Tuple, list[int]] = {}
    by_fact: dict[Tuple, list[tuple[float, int, int]]] = defaultdict(list)
    count = 0
    for order, time, sign, fact in changes:
        numbers = admitted.get(fact)
        if numbers is None:
            numbers = sieve(fact)
            if not numbers:
                continue
            admitted[fact] = numbers
        count += 1
        if count > MAX_CHANGES:
            raise BadParameter(f"more than {MAX_CHANGES:,} changes concern the query, too many for one process; use --engine spark")
        by_fact[fact].append((time, order, sign))
    facts: dict[rete.AlphaSpec, Tokens] = defaultdict(list)
    for fact, known in by_fact.items():
        known.sort()
        intervals = list(truth_of((time, sign) for time, _, sign in known))
        for number in admitted[fact]:
            facts[memories[number]] += [(fact, came, went) for came, went in intervals]
    return facts
