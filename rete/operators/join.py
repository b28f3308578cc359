"""Joins, and the root that every chain of joins starts from.

A node receives tokens by :meth:`left` with a weight (+1 comes, -1 goes; more where wildcards make equal tokens) and passes longer
tokens on to its children. Facts come from the right: the network updates every index that the fact hits, then walks the
waiting buckets from the deepest level up. With L the tokens and R the facts of a join, that order gives dL x Rnew + Lold x dR,
each pair once, for both signs, even where one fact meets two conditions of the same query.

A node holds no output: its tokens can always be replayed from its parent, so memory is spent only on what joins look up.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any, ClassVar, Protocol

from ..bag import Bag, bag_of, items_of
from ..chain import JoinSpec
from ..errors import TooManySteps
from ..index import Fact, Index, Token, enter, key_getter
from ..predicates import FEW, Required, TestIndex
from ..waiting_tokens import enter_waiting, required_by

UNLIMITED = sys.maxsize
MUTED = -1
"""The limit of a node that passes nothing on: all that it serves have ended (:mod:`rete.token_cap`)."""


class Stopped(Exception):  # no error: nobody but this package sees it
    """All that a node serves has ended: what is under way for it is left as it is, up to a node that serves others too. What it had
    told those below it stands nowhere but in nodes that are about to be taken away with it."""


class Receiver(Protocol):
    """Whatever stands below a node: a join, a negation, a production."""

    def left(self, token: Token, weight: int) -> None:
        """A token comes (positive weight) or goes (negative)."""


class Reading(Protocol):
    """What somebody who replays nodes has found so far (:class:`rete.effort.Reading`)."""

    rows: int
    problem: TooManySteps | None


class Effort(Protocol):
    """What is asked of those who count the steps of a network (:class:`rete.effort.Effort`)."""

    @property
    def reading(self) -> Reading:
        """Whoever replays nodes now."""

    def count_steps(self, node: Node, steps: int) -> None:
        """A change makes a node look at so many tokens or facts. Raises Stopped where that ends all that it serves."""

    def count_looks(self, node: Node, steps: int) -> None:
        """Replaying makes a node look at so many. Raises Stopped where that is too much for whoever reads."""

    def of_reading(self, max_tokens: int) -> AbstractContextManager[Reading]:
        """While nodes are replayed for a query that may hold so many tokens."""


class Limited(Protocol):
    """Who counts what it holds: a node its tokens, a collector of rows these."""

    limit: int


class Owing(Protocol):
    """Groups that tell their rows at the end of a transaction (:mod:`rete.operators.aggregate`)."""

    level: int
    owed: dict[Token, None]

    def tell_rows(self) -> None:
        """Tell what the rows of changed groups are now."""


class Caps(Protocol):
    """What is asked of the caps of a network (:class:`rete.token_cap.TokenCaps`)."""

    entering: int
    new: list[Node] | None

    @property
    def effort(self) -> Effort:
        """Who counts steps."""

    def judge_holder(self, holder: Limited) -> None:
        """Somebody holds more than its limit. Raises Stopped where that ends all that it serves."""

    def replay_into(self, receive: Callable[[Token, int], None], parent: Node) -> None:
        """Tell a node that is made what is there above."""

    def load_index(self, index: Index, facts: Iterable[Fact]) -> None:
        """Enter the facts of a memory in an index that is made."""

    def owe_rows(self, groups: Owing) -> None:
        """Groups have changed of which nobody was told."""

    def tell_groups(self) -> None:
        """Let all groups tell their rows."""


class TestedChildren:
    """The children of a node, many of them tests of its tokens (:mod:`rete.operators.filter`): the tests that a token may pass are
    looked up."""

    __slots__ = ("_others", "_tests")

    def __init__(self, children: Iterable[Receiver]) -> None:
        self._tests: TestIndex[int, Any] = TestIndex(_required)  # Any: receivers with what is_test asks for
        """Limit: that of the queries that the node serves, as for its children."""
        self._others: list[Receiver] = []
        """Limit: as above."""
        for child in children:
            self.add(child)

    def add(self, child: Receiver) -> None:
        """One more."""
        if is_test(child):
            self._tests.insert(child)
        else:
            self._others.append(child)

    def remove(self, child: Receiver) -> None:
        """One less."""
        if is_test(child):
            self._tests.remove(child)
        else:
            self._others.remove(child)

    def usual(self) -> list[Receiver]:
        """Those that every token reaches, and one of those that are looked up."""
        one = next((next(iter(waiting.things()), None) for waiting in self._tests.by_place.values()), None)
        return [*self._others, *self._tests.tried, *([] if one is None else [one])]

    def concerned(self, token: Token) -> list[Receiver]:
        """Those that may make something of a token."""
        tests = self._tests
        found = [*self._others, *tests.tried]
        for place, waiting in tests.by_place.items():
            found += waiting.candidates(token[place])
        return found


def is_test(child: Receiver) -> bool:
    """Whether a receiver says by a method ``required`` what it requires of a token."""
    return hasattr(child, "required")


def _required(child: Any) -> Iterable[Required[int]]:  # Any: as above
    found: Iterable[Required[int]] = child.required()
    return found


class Node:
    """What joins, negations and roots have in common: children, and a level for the order of activation."""

    __slots__ = ("_tested", "caps", "children", "emit", "ends", "held", "level", "limit", "shared")

    remembers: ClassVar[bool] = True
    """Whether it keeps what it is told."""
    keeps_columns: ClassVar[bool] = False
    """Whether each token that it emits begins with all columns of a token of its first input."""

    def __init__(self, level: int, caps: Caps) -> None:
        self.level = level
        """Greater than the level of everything that feeds this node."""
        self.caps = caps
        self.held = 0
        """How many tokens it keeps."""
        self.limit = caps.entering
        """How many it may keep before the caps are asked."""
        self.children: list[Receiver] = []
        self._tested: TestedChildren | None = None
        """Those children, where many of them are tests."""
        self.shared: dict[Hashable, Node] = {}
        """Children that further queries may join by an equal spec, or by an operator's key."""
        self.ends: tuple[Any, ...] = ()  # Any: ends of queries (rete/production.py), which know this module
        """Its children, where all of them are ends of queries: what it emits goes no further."""
        if caps.new is not None:
            caps.new.append(self)
        self.emit: Any = self._emit_to_all  # Any: one child's bound method stands here, which saves a call per token

    def usual_children(self) -> list[Receiver]:
        """The children that a token is told, as far as that is always so, and one of those that it may concern."""
        return self.children if self._tested is None else self._tested.usual()

    @property
    def pair_steps(self) -> int:
        """How many steps it is to look at one token or fact for another (:mod:`rete.effort`)."""
        return 1

    @property
    def extra_steps(self) -> int:
        """How many steps more a token is that is told to it, as something is computed of it."""
        return 0

    def add_child(self, child: Receiver) -> None:
        """From now on ``child`` receives what this node emits."""
        self.children.append(child)
        if self._tested is not None:
            self._tested.add(child)
        elif is_test(child):
            self._look_up_tests()
        self._choose_emit()

    def _look_up_tests(self) -> None:
        self._tested = TestedChildren(self.children) if sum(map(is_test, self.children)) > FEW else None

    def remove_child(self, child: Receiver) -> None:
        """``child`` receives nothing any more, if it did."""
        with suppress(ValueError):
            self.children.remove(child)
            if self._tested is not None:
                self._tested.remove(child)
        self._choose_emit()

    def keep_children(self, kept: list[Receiver]) -> None:
        """Only these receive what this node emits; whoever is emitting just now goes on with the list of before."""
        self.children = kept
        self._look_up_tests()
        self._choose_emit()

    def _choose_emit(self) -> None:
        if len(self.children) == 1:
            self.emit = self.children[0].left
        else:
            self.emit = self._emit_to_all if self._tested is None else self._emit_to_concerned
        self.ends = tuple(self.children) if all(getattr(child, "is_end", False) for child in self.children) else ()

    def _emit_to_all(self, token: Token, weight: int) -> None:
        for child in self.children:
            try:
                child.left(token, weight)
            except Stopped:
                if self.limit == MUTED:
                    raise

    def _emit_to_concerned(self, token: Token, weight: int) -> None:
        # Whoever is emitting goes on with this way of it, also where the tests have become few meanwhile.
        for child in self.children if self._tested is None else self._tested.concerned(token):
            try:
                child.left(token, weight)
            except Stopped:
                if self.limit == MUTED:
                    raise

    def count_steps(self, steps: int) -> None:
        """It is about to look at so many tokens or facts for one other. Raises Stopped where that ends all that it serves."""
        self.caps.effort.count_steps(self, steps)

    def count_tokens(self, change: int) -> None:
        """Count tokens that it keeps from now on, or no longer."""
        self.held += change
        if self.held > self.limit:
            self.caps.judge_holder(self)

    def mute(self) -> None:
        """Pass nothing on any more: it is about to be taken away."""
        self.limit = MUTED
        self.emit = _nobody
        self._tested = None
        self.ends = ()

    def parents(self) -> list[Node]:
        """The nodes that feed it."""
        return []

    def asks(self) -> list[Node]:
        """The tops of networks that it asks about the values of its tokens, as NOT does."""
        return []

    @abstractmethod  # for the type checker: a class of ABC does not compile well (hatch_build.py)
    def replay(self) -> Iterator[tuple[Token, int]]:
        """Every token that the node has emitted and not taken back, with its weight."""


def _nobody(token: Token, weight: int) -> None:
    """Who hears of a muted node."""


class Root(Node):
    """The top of every query: one empty token, always there."""

    __slots__ = ()

    def __init__(self, caps: Caps) -> None:
        super().__init__(0, caps)

    def replay(self) -> Iterator[tuple[Token, int]]:
        yield (), 1


class Join(Node):
    """Extend each token by the facts of an alpha memory that agree with it."""

    __slots__ = ("_enter", "_key_of", "_me", "_rows", "_waiting", "index", "parent", "spec")

    keeps_columns: ClassVar[bool] = True

    def __init__(self, parent: Node, spec: JoinSpec, index: Index, *, for_many: bool = False) -> None:
        """``for_many`` says that many queries share it from the beginning."""
        super().__init__(parent.level + 1, parent.caps)
        self.parent = parent
        self.spec = spec
        self.index = index
        self._rows = index.rows
        self._key_of = key_getter(spec.token_key)
        self._me: tuple[Join, ...] = ()
        """What stands before its tokens where they wait with those of others."""
        self._waiting, self._enter = self._buckets(for_many=for_many)

    def _buckets(
        self, *, for_many: bool
    ) -> tuple[dict[Any, Bag], Callable[[dict[Any, Bag], Any, Token, int], None]]:  # Any: keys of any kind
        """Where its tokens wait, and how one comes in or goes."""
        buckets, is_alone = self.index.wait_at_level(self.level, self, for_many=for_many)
        if not is_alone:
            self._me = (self,)
        return buckets, enter

    def wait(self, token: Token, weight: int) -> None:
        """Like :meth:`left`, while there is nobody who would hear."""
        self._enter(self._waiting, self._key_of(token), self._me + token, weight)
        self.count_tokens(weight)

    def left(self, token: Token, weight: int) -> None:
        key = self._key_of(token)
        waiting = self._waiting
        if weight == 1 and key not in waiting:
            waiting[key] = self._me + token
        else:
            self._enter(waiting, key, self._me + token, weight)
        self.held = held = self.held + weight
        if held > self.limit:
            self.caps.judge_holder(self)
        facts = self._rows.get(key)
        if facts is None:
            return
        extension_of = self.index.extension_of
        if isinstance(facts, tuple):
            self.emit(token + extension_of(facts), weight)
            return
        emit = self.emit
        if isinstance(facts, list):
            for fact in facts:
                emit(token + extension_of(fact), weight)
        else:
            self.count_steps(len(facts))
            for fact, count in facts.items():
                emit(token + extension_of(fact), count * weight)

    def replay(self) -> Iterator[tuple[Token, int]]:
        index = self.index
        look = self.caps.effort.count_looks
        for token, weight in self.parent.replay():
            facts = index.rows.get(self._key_of(token))
            if isinstance(facts, dict):
                look(self, len(facts))
            for fact, count in items_of(facts):
                yield token + index.extension_of(fact), count * weight

    def mute(self) -> None:
        super().mute()
        self._rows = {}

    def parents(self) -> list[Node]:
        return [self.parent]

    def forget(self) -> None:
        """Take the node's tokens out of the buckets, before it goes."""
        if not self._me:
            self.index.leave_alone(self._waiting)
        else:
            self._leave_shared()
        # A node refers to itself: what is large must not wait with it for the cyclic garbage collector.
        self._rows = {}
        self._waiting = {}

    def _leave_shared(self) -> None:
        if not self.index.is_last(self.level) and not (self.limit != MUTED and self._taken_back()):
            # What it has heard of is less than what the parent would replay, or what the parent replays is too much.
            for key, bag in list(self._waiting.items()):
                kept = {partner: count for partner, count in items_of(bag) if partner[0] is not self}
                if not kept:
                    del self._waiting[key]
                elif len(kept) < (1 if isinstance(bag, tuple) else len(bag)):
                    self._waiting[key] = bag_of(kept)
        self.index.leave_level(self.level)

    def _taken_back(self) -> bool:
        """Whether its tokens could be found by what its parent replays, and were taken out."""
        try:
            with self.caps.effort.of_reading(self.held):
                for token, weight in self.parent.replay():
                    enter(self._waiting, self._key_of(token), self._me + token, -weight)
        except Stopped:
            return False
        return True


class RequiringJoin(Join):
    """A join whose tokens wait by what the tests of ``spec.tests`` require, which read arguments of queries and are made below it
    (:mod:`rete.waiting_tokens`)."""

    __slots__ = ()

    def _buckets(
        self, *, for_many: bool
    ) -> tuple[dict[Any, Bag], Callable[[dict[Any, Bag], Any, Token, int], None]]:  # Any: keys of any kind
        return self.index.wait_alone(self.level, self), partial(enter_waiting, requires=partial(required_by, self.spec.tests))
