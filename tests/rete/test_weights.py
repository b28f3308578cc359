"""Operators with memory are sums of what they are told: any weights, in any order, on either input, end where the bags end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rete import AlphaSpec, Template
from rete.chain import JoinSpec
from rete.index import Index, Token, enter
from rete.operators.distinct import Once
from rete.operators.join import Join, Node, Root
from rete.operators.minus import Removal
from rete.operators.operator import Operator
from rete.operators.optional import Optional
from rete.operators.pair_join import Pairing, PairJoin
from rete.operators.slice import Sliced
from rete.token_cap import TokenCaps


class Source:
    """Says what it is told to say: a join of the one empty token with facts that it is told to have, so often."""

    def __init__(self) -> None:
        self.bag: Counter[Token] = Counter()
        self._facts = Index((), (0, 1))
        spec = JoinSpec(AlphaSpec(Template((None, None))), (), (), (0, 1))
        self.node: Node = Join(Root(TokenCaps()), spec, self._facts)

    def say(self, token: Token, weight: int) -> None:
        self.bag[token] += weight
        enter(self._facts.rows, (), token, weight)
        self.node.emit(token, weight)


class Sum:
    """Adds up what it hears."""

    def __init__(self) -> None:
        self.bag: Counter[Token] = Counter()

    def left(self, token: Token, weight: int) -> None:
        assert weight
        self.bag[token] += weight


ON_FIRST = Pairing(key=((0, 0),), maybe=(), new=(1,))
ON_BOTH = Pairing(key=((0, 0),), maybe=((1, 1),), new=())
Make = Callable[[Node, Node], Operator]

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
    nodes = [source.node for source in sources]
    node, heard = make(*nodes), Sum()
    node.add_child(heard)

    for second, token, weight in said:
        sources[second].say(token, weight)
    for source in sources:
        for token, weight in list(source.bag.items()):
            if weight < 0:
                source.say(token, -weight)

    late = make(*nodes)
    assert heard.bag == _total(node) == _total(late)
    assert min(heard.bag.values(), default=0) >= 0


def _total(node: Operator) -> Counter[Token]:
    bag: Counter[Token] = Counter()
    for token, weight in node.replay():
        bag[token] += weight
    return bag
