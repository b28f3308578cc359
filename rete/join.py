"""Joins, and the root that every chain of joins starts from.

A node receives tokens by :meth:`left` with a weight (+1 comes, -1 goes; more where wildcards make equal tokens) and passes longer
tokens on to its children. Facts come from the right: the network updates every index that the fact hits, then walks the
waiting buckets from the deepest level up. With L the tokens and R the facts of a join, that order gives dL x Rnew + Lold x dR,
each pair once, for both signs, even where one fact meets two conditions of the same query.

A node holds no output: its tokens can always be replayed from its parent, so memory is spent only on what joins look up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from typing import Any, Protocol

from .bag import items_of
from .chain import JoinSpec
from .index import Index, Token, enter, key_getter


class Receiver(Protocol):
    """Whatever stands below a node: a join, a negation, a production."""

    def left(self, token: Token, weight: int) -> None:
        """A token comes (positive weight) or goes (negative)."""


class Node(ABC):
    """What joins, negations and roots have in common: children, and a level for the order of activation."""

    __slots__ = ("children", "emit", "level", "shared")

    def __init__(self, level: int) -> None:
        self.level = level
        """Greater than the level of everything that feeds this node."""
        self.children: list[Receiver] = []
        self.shared: dict[Hashable, Node] = {}
        """Children that further queries may join by an equal spec, or by an operator's key."""
        self.emit: Any = self._emit_to_all  # Any: one child's bound method stands here, which saves a call per token

    def add_child(self, child: Receiver) -> None:
        """From now on ``child`` receives what this node emits."""
        self.children.append(child)
        self._choose_emit()

    def remove_child(self, child: Receiver) -> None:
        """``child`` receives nothing any more."""
        self.children.remove(child)
        self._choose_emit()

    def _choose_emit(self) -> None:
        self.emit = self.children[0].left if len(self.children) == 1 else self._emit_to_all

    def _emit_to_all(self, token: Token, weight: int) -> None:
        for child in self.children:
            child.left(token, weight)

    @abstractmethod
    def replay(self) -> Iterator[tuple[Token, int]]:
        """Every token that the node has emitted and not taken back, with its weight."""


class Root(Node):
    """The top of every query: one empty token, always there."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(level=0)

    def replay(self) -> Iterator[tuple[Token, int]]:
        yield (), 1


class Join(Node):
    """Extend each token by the facts of an alpha memory that agree with it."""

    __slots__ = ("_key_of", "_me", "_waiting", "index", "parent", "spec")

    def __init__(self, parent: Node, spec: JoinSpec, index: Index) -> None:
        super().__init__(parent.level + 1)
        self.parent = parent
        self.spec = spec
        self.index = index
        self._key_of = key_getter(spec.token_key)
        self._waiting = index.join_level(self.level)
        self._me = (self,)

    def left(self, token: Token, weight: int) -> None:
        key = self._key_of(token)
        waiting = self._waiting
        if weight == 1 and key not in waiting:
            waiting[key] = self._me + token
        else:
            enter(waiting, key, self._me + token, weight)
        index = self.index
        facts = index.rows.get(key)
        if facts is None:
            return
        if isinstance(facts, tuple):
            self.emit(token + index.extension_of(facts), weight)
            return
        emit, extension_of = self.emit, index.extension_of
        if isinstance(facts, list):
            for fact in facts:
                emit(token + extension_of(fact), weight)
        else:
            for fact, count in facts.items():
                emit(token + extension_of(fact), count * weight)

    def replay(self) -> Iterator[tuple[Token, int]]:
        index = self.index
        for token, weight in self.parent.replay():
            for fact, count in items_of(index.rows.get(self._key_of(token))):
                yield token + index.extension_of(fact), count * weight

    def forget(self) -> None:
        """Take the node's tokens out of the shared buckets, before it goes."""
        for token, weight in self.parent.replay():
            key = self._key_of(token)
            enter(self._waiting, key, self._me + token, -weight)
        self.index.leave_level(self.level)
