"""What a rendezvous is asked of its keys, as a part of :mod:`gsg.wire.messages`: what lies there, and who waits for what."""

from __future__ import annotations

import msgspec

from ..tuples.features import Load, Template
from ..tuples.terms import Tuple


class _Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    pass


class TemplatesOf(_Message, frozen=True):
    """How many templates of a subscriber a fact meets."""

    peer: bytes
    address: str
    templates: int


class AskLoads(_Message, tag=5, frozen=True):
    """A template may be posted with you at any of these positions: what load do their keys have, and whom would this fact reach?"""

    request: int
    template: Template
    positions: list[int]
    fact: Tuple | None = None


class Loads(_Message, tag=6, frozen=True):
    """The load at each position asked about, and whom the fact would reach by them; ``is_cut`` where not all are named."""

    request: int
    loads: list[Load]
    reached: list[TemplatesOf] = []
    is_cut: bool = False
