"""Equal rows told apart by the number of their copy."""

from __future__ import annotations

import pytest
from notation import basic
from world import World

import rete
from rete import algebra as a
from rete.operators.join import Root
from rete.operators.numbered import Numbering
from rete.token_cap import TokenCaps

PEOPLE = a.Numbered(a.Project(basic("?x p ?y"), ("x",)), "n")


class Collected:
    """What a node tells."""

    def __init__(self) -> None:
        self.heard: list[tuple[tuple[object, ...], int]] = []

    def left(self, token: tuple[object, ...], weight: int) -> None:
        self.heard.append((token, weight))


def test_copies_are_numbered_from_zero_and_the_last_goes_first() -> None:
    world = World("a p 1", "a p 2", "b p 1")
    heard: list[object] = []
    production = world.network.subscribe_algebra(PEOPLE, ("x", "n"), heard.extend)
    assert production.rows() == {("a", 0): 1, ("a", 1): 1, ("b", 0): 1}

    world.retract("a p 1")
    world.insert("a p 3", "a p 4")
    world.retract("b p 1")

    assert heard == [(("a", 1), -1), (("a", 1), 1), (("a", 2), 1), (("b", 0), -1)]
    assert production.rows() == {("a", 0): 1, ("a", 1): 1, ("a", 2): 1}


def test_one_copy_goes_and_another_comes_within_a_transaction_and_nothing_is_told() -> None:
    world = World("a p 1")
    heard: list[object] = []
    world.network.subscribe_algebra(PEOPLE, ("x", "n"), heard.extend)

    world.change([(("a", "p", "1"), -1), (("a", "p", "2"), 1)])

    assert heard == []


def test_a_copy_that_is_taken_away_before_it_comes_is_never_told() -> None:
    root = Root(TokenCaps())
    numbering = Numbering(root)
    watch = Collected()
    numbering.add_child(watch)

    numbering.left((), -2)
    numbering.left((), 2)

    assert watch.heard == [((0,), -1), ((0,), 1)]
    assert list(numbering.replay()) == [((0,), 1)]


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param(a.Numbered(basic("?x p ?n"), "n"), id="inside"),
        pytest.param(a.Exists(basic("?x p ?n"), PEOPLE), id="outside"),
    ],
)
def test_a_name_that_is_bound_cannot_number(tree: a.Algebra) -> None:
    world = World()

    with pytest.raises(rete.BadQuery, match=r"\?n is bound already where it is to number copies"):
        world.watch(tree)

    assert world.network.is_empty
