"""What the operators of the algebra have in common: who feeds them, and columns of tokens by place.

The rule that keeps them simple: an operator's output is at every moment a function of what its inputs have told it so far. A
change of one input is entered in that input's memory at once and met with the other's memory as it is at that moment. So of a fact
that reaches both inputs, one after the other in any order, the outputs add up to dL x Rnew + Lold x dR (or the mirror image), each
pair once; and no output is ever taken back that was not given. Only joins with alpha memories (:mod:`rete.operators.join`), whose
right side changes for all of them at once, need the order of levels; operators have levels because such joins may stand below
them.

A new operator is a class of the algebra (rete/algebra.py), its node in a file of this room, and the branch that makes the one from
the other (rete/compile/build.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from ..index import Token, tuple_getter
from .join import Node, Receiver

Places: TypeAlias = tuple[int | None, ...]
"""Places in a token; None stands for a name that is never bound there."""


def columns(places: Places) -> Callable[[Token], Token]:
    """The tuple of the values at ``places``."""
    known = tuple(place for place in places if place is not None)
    if len(known) == len(places):
        return tuple_getter(known)
    return lambda token: tuple(None if place is None else token[place] for place in places)


def places_of(names: Sequence[str], layout: Sequence[str]) -> Places:
    """Where the names stand in tokens of this layout."""
    return tuple(layout.index(name) if name in layout else None for name in names)


class Operator(Node):
    """A node made from an operator of the algebra; ``feeds`` are the nodes above it, each with the receiver that stands below
    it."""

    __slots__ = ("feeds", "key", "made_with", "owner")

    def __init__(self, *parents: Node) -> None:
        super().__init__(1 + max(parent.level for parent in parents), parents[0].caps)
        self.owner = parents[0]
        """Where it is shared, by its key."""
        self.key: Hashable = None
        """Its kind and what it was made with, but for its owner; None where it is not shared."""
        self.made_with: tuple[object, ...] = ()
        """With what it was made, but for its owner: for whoever shows it."""
        self.feeds: list[tuple[Node, Receiver]] = []

    def connect(self, *feeds: tuple[Node, Receiver]) -> None:
        """Hear what is there already, and from now on what changes. It has no child yet, so nothing is emitted."""
        self.feeds += feeds
        for parent, receiver in feeds:
            if self.remembers:
                # One that keeps nothing replays from above.
                self.caps.replay_into(receiver.left, parent)
            parent.add_child(receiver)

    def parents(self) -> list[Node]:
        return [parent for parent, _ in self.feeds]

    @abstractmethod
    def left(self, token: Token, weight: int) -> None:
        """A token comes or goes at the (first) input."""


class RightPort:
    """The second input of an operator."""

    __slots__ = ("left", "node")

    def __init__(self, node: Node, receive: Callable[[Token, int], None]) -> None:
        self.node = node
        self.left = receive


def add_weight(counts: dict[Token, int], token: Token, weight: int) -> int:
    """Count tokens in or out of a bag that keeps no zeros; returns the new count."""
    count = counts.get(token, 0) + weight
    if count:
        counts[token] = count
    else:
        del counts[token]
    return count


def entries(after: int, weight: int) -> int:
    """How many entries more a bag has, where adding ``weight`` has given the count ``after``."""
    return (after != 0) - (after != weight)
