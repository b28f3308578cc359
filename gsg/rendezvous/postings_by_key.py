"""What is posted at one peer, by key, and in which positions of tuples to look for it.

A rendezvous has two of these: what it feeds as the primary of its keys, and what stands by for when a primary dies
(:mod:`gsg.feeds.standbys`). They are apart so that facts, hand-over and figures never meet what only stands by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

from ..tuples.features import Interval, Key, short_key
from ..tuples.long_constants import Hashed
from ..tuples.ordered_attributes import OrderedAttributes
from ..tuples.terms import Tuple
from ..wire.messages import encode
from .feed import AnyFeed, Posting, Subscriber
from .postings import KeyPostings


class PostingsByKey:
    """Postings, and how many feeds each subscriber has of them or of what is posted everywhere."""

    def __init__(self, ordered: OrderedAttributes) -> None:
        self._ordered = ordered
        self._by_key: dict[Key, KeyPostings] = {}
        self._hashes = 0
        """How many of the keys have the hash of a long constant: mostly none, and no tuple is looked at for those."""
        self.intervals = 0
        """How many of the keys are of intervals: likewise."""
        self._feeds: Counter[Subscriber] = Counter()
        self.templates_bytes: Counter[Subscriber] = Counter()
        """What the templates of these take, as encoded, with their tests. Limit of another peer: its quota."""
        self.in_use: dict[int, dict[int, int]] = {}
        """Arity -> position -> how many keys there have something posted: events look no further."""

    def __len__(self) -> int:
        """How many keys have something posted."""
        return len(self._by_key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._by_key)

    def __contains__(self, key: Key) -> bool:
        return self.find(key) is not None

    def get(self, key: Key) -> KeyPostings | None:
        """What is posted under a key."""
        return self._by_key.get(key)

    def find(self, key: Key) -> KeyPostings | None:
        """The same, where the key may have a long constant itself."""
        return self._by_key.get(short_key(key) if self._hashes else key)

    def postings_of_interval(self, key: Key) -> KeyPostings | None:
        """What is posted under the interval of a key's constant."""
        if not self.intervals:
            return None
        interval = self._ordered.interval_key(short_key(key))
        return None if interval is None else self._by_key.get(interval)

    def open_key(self, key: Key) -> KeyPostings:
        """Where something is about to be posted under a key under which nothing is yet."""
        postings = self._by_key[key] = KeyPostings(key)
        self._hashes += type(key[2]) is Hashed
        self.intervals += type(key[2]) is Interval
        in_use = self.in_use.setdefault(key[0], {})
        in_use[key[1]] = in_use.get(key[1], 0) + 1
        return postings

    def remove(self, key: Key, posting: Posting) -> None:
        """Take away what was posted under a key."""
        postings = self._by_key[key]
        postings.remove(posting)
        if postings.size:
            return
        del self._by_key[key]
        self._hashes -= type(key[2]) is Hashed
        self.intervals -= type(key[2]) is Interval
        in_use = self.in_use[key[0]]
        in_use[key[1]] -= 1
        if not in_use[key[1]]:
            del in_use[key[1]]
            if not in_use:
                del self.in_use[key[0]]

    def count_feed(self, feed: AnyFeed, more: int) -> None:
        """A feed has come (1), or ended (-1)."""
        subscriber, posting = feed.subscriber, feed.posting
        self._feeds[subscriber] += more
        self.templates_bytes[subscriber] += more * len(encode((posting.template.pattern, posting.test)))
        if not self._feeds[subscriber]:
            del self._feeds[subscriber], self.templates_bytes[subscriber]

    def feeds(self, subscriber: Subscriber | None = None) -> int:
        """The feeds to all subscribers, or to one."""
        return self._feeds.total() if subscriber is None else self._feeds[subscriber]

    def candidates(self, items: Tuple, positions: Container[int] | None) -> list[Posting]:
        """What is posted that an event may pass, under these of its positions, or all of them."""
        arity = len(items)
        candidates: list[Posting] = []
        for position in self.in_use.get(arity, ()):
            if positions is None or position in positions:
                # A variable is no key's constant.
                key = (arity, position, items[position])
                for postings in (self.find(key), self.postings_of_interval(key)):
                    if postings is not None:
                        candidates.extend(postings.candidates(items))
        return candidates

    def templates(self) -> int:
        """How many templates are posted; those of several subscribers count once."""
        return sum(postings.size for postings in self._by_key.values())
