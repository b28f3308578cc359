"""Whom a fact would reach by its keys, for who asks how tuples travel. Nothing is sent, and nothing counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from ..rendezvous.feed import Posting
from ..rendezvous.rendezvous import Rendezvous
from ..tuples.features import HOME, keys_at
from ..tuples.terms import Tuple
from ..wire.exchange import PeerLink, show
from ..wire.load_messages import TemplatesOf

MAX_TEMPLATES = 1_000
"""Templates that are looked at for one question: each may have a test to be made. The answer says where there are more."""
MAX_SUBSCRIBERS = 100
"""Subscribers that are named; the answer says where there are more."""


def reached_by(rendezvous: Rendezvous, positions: Sequence[int], fact: Tuple | None) -> tuple[list[TemplatesOf], bool]:
    """Who would hear of a fact by its keys at these positions, those with the most templates first, and whether there are more than
    are named. Nobody without a fact, or for positions that it does not have."""
    if fact is None or not all(0 <= position < len(fact) for position in positions):
        return [], False
    found: Counter[tuple[bytes, str]] = Counter()
    looked = 0
    for posting in islice(_met(rendezvous, positions, fact), MAX_TEMPLATES + 1):
        looked += 1
        fan_out = rendezvous.fan_outs.fanned.get(posting)
        for feed in chain(posting.feeds, () if fan_out is None else fan_out.feeds()):
            if isinstance(feed.subscriber, PeerLink):
                contact = feed.subscriber.contact
                found[contact.id, show(contact)] += 1
    named = [TemplatesOf(peer, address, count) for (peer, address), count in found.most_common(MAX_SUBSCRIBERS)]
    return named, looked > MAX_TEMPLATES or len(found) > MAX_SUBSCRIBERS


def _met(rendezvous: Rendezvous, positions: Sequence[int], fact: Tuple) -> Iterator[Posting]:
    """What is posted that the fact meets by these of its keys (:meth:`Rendezvous.publish`)."""
    conditions = rendezvous.conditions
    for key in keys_at(fact, bytes(positions)):
        everywhere = conditions.everywhere if key[1] == HOME else None
        for under in (conditions.by_key.get(key), everywhere, conditions.by_key.postings_of_interval(key)):
            if under is not None:
                for postings in under.table.matching(fact):
                    for posting in postings.candidates(fact):
                        if posting.test is None or conditions.tests.passes(posting, fact, None):
                            yield posting
