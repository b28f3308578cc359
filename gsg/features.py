"""Features: what a tuple has and a condition requires, and the keys that name their rendezvous.

A feature is an arity, a position and the constant there. A template (a condition without its variables' names) is posted under ONE
feature that it requires, its anchor; a tuple looks up all of its own and so meets every template that could match it
(DESIGN section 1; the scheme of RDFPeers, Cai and Frank 2004, with position and arity hashed along with the constant).

A template without any constant has no anchor: it is posted at every peer, and the tuple meets it at its home, the rendezvous of
its position 0, and nowhere else.
"""

from __future__ import annotations

from hashlib import sha1

import msgspec

from .model import Term, Tuple, Variable

HOME = 0
"""The position whose rendezvous speaks for a tuple where only one may."""

_encode = msgspec.msgpack.Encoder().encode


class Template(msgspec.Struct, frozen=True, array_like=True, gc=False, cache_hash=True):
    """The constants that a condition requires: the alpha memory's definition.

    ``pattern`` has one entry per position, ``None`` where anything may stand. ``same`` lists pairs of positions that must hold the
    same term, each the first and a later place of a repeated variable.
    """

    pattern: tuple[Term | None, ...]
    same: tuple[tuple[int, int], ...] = ()

    def matches(self, items: Tuple) -> bool:
        """Whether a tuple of constants satisfies the template: the plain definition that indexes are tested against."""
        return (
            len(items) == len(self.pattern)
            and all(wanted is None or wanted == item for wanted, item in zip(self.pattern, items, strict=True))
            and all(items[first] == items[later] for first, later in self.same)
        )

    def anchors(self) -> tuple[int, ...]:
        """The positions that it can be anchored at."""
        return tuple(position for position, wanted in enumerate(self.pattern) if wanted is not None)


def positions(items: Tuple) -> tuple[int, ...]:
    """The positions of a tuple that hold a constant, hence its features."""
    return tuple(position for position, item in enumerate(items) if type(item) is not Variable)


def key(arity: int, position: int, constant: Term) -> bytes:
    """The 160-bit key of a feature, by which the overlay finds its rendezvous."""
    return sha1(_encode((arity, position, constant)), usedforsecurity=False).digest()
