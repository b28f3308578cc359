"""What publishers and rendezvous say to each other of what is asked for (:mod:`gsg.publisher.quenching`): frozen structs, which
messages.py lists with the others."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..tuples.audiences import PeerId
from ..tuples.long_constants import ShortTerm

KeyTold: TypeAlias = tuple[int, int, ShortTerm | None]
"""Arity, position and constant; None for any constant, and arity 0 for any tuple."""


class _Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    pass


class AskInterest(_Message, tag=19, frozen=True):
    """Under which keys is something posted with you? Answered by Interest, and for a while Interested tells of more.

    ``standby``: keys may be changing hands as far as I know, so tell me of all that stands by with you as well, and whom you know.
    """

    standby: bool = False


class Interest(_Message, tag=20, frozen=True):
    """Something is posted here under these keys: arity, position and constant, or any constant there; arity 0 stands for any.

    ``anything``: keys are changing hands, so send whatever may concern me. ``knows`` are the ids of all peers that I know, myself
    included, where what stands by was asked for and is among the keys; else none.
    """

    anything: bool
    keys: list[KeyTold]
    knows: list[PeerId] = []


class Interested(_Message, tag=21, frozen=True):
    """You rely on my Interest: this is to be added. Answered by Done; until then the subscriber is not answered."""

    request: int
    anything: bool
    keys: list[KeyTold]
