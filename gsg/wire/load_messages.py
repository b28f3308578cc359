"""What a rendezvous is asked of its keys, as a part of :mod:`gsg.wire.messages`: what lies there, and who waits for what."""

from __future__ import annotations

import msgspec

from ..errors import Refused
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
    """The load at each position asked about, and whom the fact would reach by them; ``is_partial`` where not all are named."""

    request: int
    loads: list[Load]
    reached: list[TemplatesOf] | None = None
    """Peers of earlier versions do not say it."""
    is_partial: bool = False


def check_positions(asked: AskLoads) -> None:
    """Raises Refused unless each of the positions is one of the template and of the fact, once: what is answered costs for each."""
    arity, positions = len(asked.template.pattern), asked.positions
    if len(positions) > arity or len(set(positions)) < len(positions) or not all(0 <= each < arity for each in positions):
        raise Refused(f"{len(positions)} positions of a template of {arity} terms; expected each of its own once")
    if asked.fact is not None and len(asked.fact) != arity:
        raise Refused(f"a fact of {len(asked.fact)} terms for a template of {arity}; expected as many")
