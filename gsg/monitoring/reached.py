"""Whom a fact would reach by its keys, for who asks how tuples travel. Nothing is sent, and nothing counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice

from ..rendezvous.feed import AnyFeed, Posting
from ..rendezvous.rendezvous import Rendezvous
from ..tuples.features import HOME, keys_at
from ..tuples.terms import Tuple
from ..wire.exchange import PeerLink, show
from ..wire.load_messages import TemplatesOf

MAX_LOOKED_AT = 1_000
"""Templates whose tests are made for one question, and subscribers that are counted; the answer says where there are more."""
MAX_SUBSCRIBERS = 100
"""Subscribers that are named; the answer says where there are more."""


def reached_by(rendezvous: Rendezvous, positions: Sequence[int], fact: Tuple | None) -> tuple[list[TemplatesOf], bool]:
    """Who would hear of a fact by its keys at these positions, those with the most templates first, and whether there are more than
    are named. Nobody without a fact."""
    if fact is None:
        return [], False
    found: Counter[tuple[bytes, str]] = Counter()
    candidates = list(islice(_candidates(rendezvous, positions, fact), MAX_LOOKED_AT + 1))
    passes = rendezvous.conditions.tests.passes
    met = [each for each in candidates[:MAX_LOOKED_AT] if each.test is None or passes(each, fact, None)]
    feeds = list(islice(chain.from_iterable(map(partial(_feeds_of, rendezvous), met)), MAX_LOOKED_AT + 1))
    for feed in feeds[:MAX_LOOKED_AT]:
        if isinstance(feed.subscriber, PeerLink):
            contact = feed.subscriber.contact
            found[contact.id, show(contact)] += 1
    named = [TemplatesOf(peer, address, count) for (peer, address), count in found.most_common(MAX_SUBSCRIBERS)]
    return named, max(len(candidates), len(feeds)) > MAX_LOOKED_AT or len(found) > MAX_SUBSCRIBERS


def _feeds_of(rendezvous: Rendezvous, posting: Posting) -> Iterator[AnyFeed]:
    fan_out = rendezvous.fan_outs.fanned.get(posting)
    return chain(posting.feeds, () if fan_out is None else fan_out.feeds())


def _candidates(rendezvous: Rendezvous, positions: Sequence[int], fact: Tuple) -> Iterator[Posting]:
    """What is posted whose template the fact matches by these of its keys (:meth:`Rendezvous.publish`), tests aside."""
    conditions = rendezvous.conditions
    for key in keys_at(fact, bytes(positions)):
        everywhere = conditions.everywhere if key[1] == HOME else None
        for under in (conditions.by_key.get(key), everywhere, conditions.by_key.postings_of_interval(key)):
            if under is not None:
                for postings in under.table.matching(fact):
                    yield from postings.candidates(fact)
