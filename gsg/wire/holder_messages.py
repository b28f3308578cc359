"""What holders of the same keys say to each other: frozen structs, which messages.py lists with the others."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..tuples.audiences import Audience, restricted_each
from ..tuples.features import Key
from ..tuples.long_constants import Remains
from ..tuples.terms import Tuple


class _Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    pass


class Replicate(_Message, tag=18, frozen=True):
    """You hold these facts' keys too: they came (sign 1), or went (-1), at their stamps.

    Where your side knows better, by a later stamp, it stays so.
    """

    request: int
    signs: list[int]
    facts: list[Tuple]
    places: list[bytes]
    stamps: list[int]
    audiences: list[Audience | None] = []
    """Who may read each of the facts; nothing where all are for everybody."""

    @property
    def entries(self) -> Sequence[Tuple]:
        """As in Publish."""
        return restricted_each(self.facts, self.audiences)


class Buried(_Message, tag=35, frozen=True):
    """You hold the keys of facts that went, too: this is what remains of them (gsg/tuples/long_constants.py), with when they went.

    A Replicate of what the sender has just been told has the facts; this one is of what it knows from before.
    """

    request: int
    facts: list[Remains]
    places: list[bytes]
    stamps: list[int]
    audiences: list[Audience | None] = []
    """Both as in Replicate."""

    @property
    def signs(self) -> list[int]:
        """As in Replicate."""
        return [-1] * len(self.facts)

    @property
    def entries(self) -> Sequence[Remains]:
        """As in Publish."""
        return restricted_each(self.facts, self.audiences)  # type: ignore[arg-type]  # as Remains say, hashes stand for terms


class AskRanges(_Message, tag=22, frozen=True):
    """Of the keys that we both hold: do you have the same? One digest for each range of keys (:mod:`gsg.replication.anti_entropy`).

    ``since``: tombstones count from this period of their stamps on.
    """

    request: int
    digests: list[int]
    since: int = 0


class AskKeys(_Message, tag=23, frozen=True):
    """Do you have the same under these keys? ``until``: as it was before this stamp; 0 for keys that stand still, as it is."""

    request: int
    keys: list[Key]
    digests: list[int]
    until: int = 0
    since: int = 0


class AskFacts(_Message, tag=28, frozen=True):
    """Send me what you know of these keys, which we both hold, where it is not the same. Answered by Done, after that."""

    request: int
    keys: list[Key]
    digests: list[int]


class Differ(_Message, tag=24, frozen=True):
    """These ranges, or keys, are not the same here. Where ``since`` is later than the asker's, nothing was compared yet."""

    request: int
    numbers: list[int]
    since: int = 0
