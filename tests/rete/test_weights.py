"""Operators with memory are sums of what they are told: any weights, in any order, on either input, end where the bags end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rete.index
from rete.index import Token
from rete.operators.distinct import Once
from rete.operators.join import Node
from rete.operators.minus import Removal
from rete.operators.operator import Operator
from rete.operators.optional import Optional
from rete.operators.pair_join import Pairing, PairJoin
from rete.operators.slice import Sliced
from rete.token_cap import TokenCaps

IS_IN_C = rete.index.__file__.endswith(tuple(EXTENSION_SUFFIXES))
pytestmark = pytest.mark.skipif(IS_IN_C, reason="nodes in C take no subclass in Python")


class Source(Node):
    """Says what it is told to say."""

    def __init__(self) -> None:
        super().__init__(0, TokenCaps())
        self.bag: Counter[Token] = Counter()

    def say(self, token: Token, weight: int) -> None:
        self.bag[token] += weight
        self.emit(token, weight)

    def replay(self) -> Iterator[tuple[Token, int]]:
        return ((token, weight) for token, weight in self.bag.items() if weight)


class Sum:
    """Adds up what it hears."""

    def __init__(self) -> None:
        self.bag: Counter[Token] = Counter()

    def left(self, token: Token, weight: int) -> None:
        assert weight
        self.bag[token] += weight


ON_FIRST = Pairing(key=((0, 0),), maybe=(), new=(1,))
ON_BOTH = Pairing(key=((0, 0),), maybe=((1, 1),), new=())
Make = Callable[[Source, Source], Operator]

KINDS: dict[str, Make] = {
    "join": lambda one, other: PairJoin(one, other, ON_FIRST),
    "join where a name may be unbound": lambda one, other: PairJoin(one, other, ON_BOTH),
    "join with itself": lambda one, _: PairJoin(one, one, ON_FIRST),
    "optional": lambda one, other: Optional(one, other, ON_FIRST, None, ()),
    "optional where a name may be unbound": lambda one, other: Optional(one, other, ON_BOTH, None, ()),
    "minus": lambda one, other: Removal(one, other, ON_BOTH, True),
    "distinct": lambda one, _: Once(one),
    "slice": lambda one, _: Sliced(one, 0, None, (), (0, 1), 1, 2),
}

tokens = st.tuples(st.sampled_from("ab"), st.one_of(st.none(), st.sampled_from("xy")))
said = st.lists(st.tuples(st.booleans(), tokens, st.sampled_from((-2, -1, 1, 2))), max_size=15)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@settings(max_examples=60, deadline=None)
@given(said)
def test_what_was_emitted_adds_up_to_what_a_late_comer_finds(make: Make, said: list[tuple[bool, Token, int]]) -> None:
    sources = Source(), Source()
    node, heard = make(*sources), Sum()
    node.add_child(heard)

    for second, token, weight in said:
        sources[second].say(token, weight)
    for source in sources:
        for token, weight in list(source.bag.items()):
            if weight < 0:
                source.say(token, -weight)

    late = make(*sources)
    assert heard.bag == _total(node) == _total(late)
    assert min(heard.bag.values(), default=0) >= 0


def _total(node: Operator) -> Counter[Token]:
    bag: Counter[Token] = Counter()
    for token, weight in node.replay():
        bag[token] += weight
    return bag
