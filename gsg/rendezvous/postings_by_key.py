"""The stands of one peer: by key, what is posted there, and in which positions to look for it.

A rendezvous has two of these: what it feeds as the primary of its keys, and what stands by for when a primary dies
(:mod:`gsg.feeds.standbys`). They are apart so that facts, hand-over and figures never meet what only stands by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence

from ..tuples.features import HOME, Key, short_key
from ..tuples.long_constants import Hashed
from ..tuples.terms import Tuple
from ..wire.messages import InsertCondition, encode
from .broken_links import Interrupted
from .demands import Demand
from .postings import Posted, Stand, Subscriber

EVERYWHERE = (0, HOME, None)
"""Stands for a key where what has none is told of."""


class Stands:
    """Stands by key."""

    __slots__ = ("_by_key", "_feeds", "_hashes", "in_use", "templates_bytes")

    def __init__(self) -> None:
        self._by_key: dict[Key, Stand] = {}
        self._hashes = 0
        """How many of the keys have the hash of a long constant: mostly none, and no tuple is looked at for those."""
        self._feeds: Counter[Subscriber] = Counter()
        """How many feeds each subscriber has here, or of what is posted everywhere."""
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

    def get(self, key: Key) -> Stand | None:
        """The stand of a key, where something is posted."""
        return self._by_key.get(key)

    def find(self, key: Key) -> Stand | None:
        """The same, where the key may have a long constant itself."""
        return self._by_key.get(short_key(key) if self._hashes else key)

    def posted(self, key: Key, asked: InsertCondition, demands: Sequence[Demand]) -> Posted | None:
        """What is posted under a key with exactly the template and the test of a condition."""
        stand = self._by_key.get(key)
        return None if stand is None else stand.get(asked.template, asked.test, demands)

    def make(self, key: Key) -> Stand:
        """The stand of a key where nothing is posted yet, for something to be posted there."""
        stand = self._by_key[key] = Stand(key)
        self._hashes += type(key[2]) is Hashed
        in_use = self.in_use.setdefault(key[0], {})
        in_use[key[1]] = in_use.get(key[1], 0) + 1
        return stand

    def remove(self, key: Key, posted: Posted) -> None:
        """Take away what was posted under a key, and with the last of it the stand."""
        stand = self._by_key[key]
        stand.remove(posted)
        if stand.size:
            return
        del self._by_key[key]
        self._hashes -= type(key[2]) is Hashed
        in_use = self.in_use[key[0]]
        in_use[key[1]] -= 1
        if not in_use[key[1]]:
            del in_use[key[1]]
            if not in_use:
                del self.in_use[key[0]]

    def fed(self, subscriber: Subscriber, posted: Posted, more: int) -> None:
        """A subscriber has a feed more (1) of what is posted, or fewer (-1)."""
        self._feeds[subscriber] += more
        self.templates_bytes[subscriber] += more * len(encode((posted.template.pattern, posted.test)))
        if not self._feeds[subscriber]:
            del self._feeds[subscriber], self.templates_bytes[subscriber]

    def feeds(self, subscriber: Subscriber | None = None) -> int:
        """The feeds to all subscribers, or to one."""
        return self._feeds.total() if subscriber is None else self._feeds[subscriber]

    def met(self, items: Tuple, positions: Container[int] | None) -> list[Posted]:
        """What is posted that a tuple may pass, under these of its positions, or all of them."""
        arity = len(items)
        meeting: list[Posted] = []
        for position in self.in_use.get(arity, ()):
            if positions is None or position in positions:
                # A variable is no key's constant.
                stand = self.find((arity, position, items[position]))
                if stand is not None:
                    meeting.extend(stand.meeting(items))
        return meeting

    def size(self) -> int:
        """How many templates are posted; those of several subscribers count once."""
        return sum(stand.size for stand in self._by_key.values())


def is_taken(posted: Iterable[Posted | None], subscriber: Subscriber, instead: int) -> bool:
    """Whether anybody has a feed of these, other than the one of the subscriber that is to be replaced.

    Who has lost its link has none any more.
    """
    feeds = (feed for one in posted if one is not None for feed in one.feeds if type(feed.subscriber) is not Interrupted)
    return any(feed.subscriber is not subscriber or feed.number != instead for feed in feeds)
