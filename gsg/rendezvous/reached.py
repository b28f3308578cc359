"""Whom a tuple would reach by one of its keys, for who asks how tuples travel. Nothing is sent, and nothing counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from ..tuples.features import HOME, Key
from ..tuples.terms import Tuple
from ..wire.exchange import PeerLink, show
from ..wire.status_messages import Reached, TemplatesOf
from .feed import Posting
from .rendezvous import Rendezvous

MAX_TEMPLATES = 1_000
"""Templates that are looked at for one question: each may have a test to be made. The answer says where there are more."""
MAX_SUBSCRIBERS = 100
"""Subscribers that are named; the rest is counted."""


def reached_by(rendezvous: Rendezvous, request: int, key: Key, fact: Tuple | None) -> Reached:
    """What lies under a key here, and who would hear of a fact by it now, the busiest subscribers first. Without a fact nobody is
    named."""
    postings = rendezvous.conditions.by_key.get(key)
    templates = 0 if postings is None else postings.size
    found: Counter[tuple[bytes, str]] = Counter()
    looked = 0
    for posting in islice(_matching(rendezvous, key, fact), MAX_TEMPLATES + 1) if fact is not None else ():
        looked += 1
        fan_out = rendezvous.fan_outs.fanned.get(posting)
        for feed in chain(posting.feeds, () if fan_out is None else fan_out.feeds()):
            if isinstance(feed.subscriber, PeerLink):
                contact = feed.subscriber.contact
                found[contact.id, show(contact)] += 1
    named = [TemplatesOf(peer, address, count) for (peer, address), count in found.most_common(MAX_SUBSCRIBERS)]
    is_cut = looked > MAX_TEMPLATES or len(found) > MAX_SUBSCRIBERS
    return Reached(request, len(rendezvous.held.under(key)), templates, named, is_cut)


def _matching(rendezvous: Rendezvous, key: Key, fact: Tuple) -> Iterator[Posting]:
    """What is posted that the fact meets by this key (:meth:`Rendezvous.publish`)."""
    conditions = rendezvous.conditions
    everywhere = conditions.everywhere if key[1] == HOME else None
    for under in (conditions.by_key.get(key), everywhere, conditions.by_key.postings_of_interval(key)):
        if under is not None:
            for postings in under.table.matching(fact):
                for posting in postings.candidates(fact):
                    if posting.test is None or conditions.tests.passes(posting, fact, None):
                        yield posting
