"""Who of a key's holders is to be told what lies under it, when peers came and died."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dht
from gsg.churn.plan import Plan, gained
from gsg.placement.rules import REPLICAS

KEY = bytes(20)


def peer(distance: int) -> bytes:
    """One at this distance from the key."""
    return distance.to_bytes(20, "big")


@pytest.mark.parametrize(
    ("holders", "newcomers", "dead", "new"),
    [
        pytest.param([1, 2, 3], [], [], [], id="nothing happened"),
        pytest.param([1, 2, 3], [2], [], [2], id="one came"),
        pytest.param([2, 3, 4], [], [1], [4], id="one died"),
        pytest.param([2, 3, 4], [], [5], [], id="one died that was no holder"),
        pytest.param([1, 3, 4], [1], [2], [1, 4], id="one came and one died"),
        pytest.param([3, 4, 5], [], [1, 2], [4, 5], id="two died"),
        pytest.param([2, 6, 7], [], [1, 3, 4], [6, 7], id="three died"),
        pytest.param([3, 6, 7], [], [1, 2, 4, 5], [6, 7], id="four died, and one of the holders is left"),
        pytest.param([4, 6, 7], [], [1, 2, 3, 5], [4, 6, 7], id="all holders died"),
        pytest.param([3, 4], [], [1, 2], [4], id="two are left of four"),
        pytest.param([1, 2], [], [3, 4], [], id="there are no more than hold everything"),
    ],
)
def test_who_may_have_become_a_holder_is_told(holders: list[int], newcomers: list[int], dead: list[int], new: list[int]) -> None:
    told = gained(KEY, [peer(each) for each in holders], {peer(each) for each in newcomers}, {peer(each) for each in dead})

    assert told == {peer(each) for each in new}


def contact(distance: int) -> dht.Contact:
    return dht.Contact(peer(distance), "10.0.0.1", distance)


@pytest.mark.parametrize(
    ("newcomers", "dead", "sent", "asked"),
    [([2], [], [2], []), ([2], [9], [], [1, 2, 3]), ([], [], [], [1, 2, 3])],
    ids=["who came", "all, while peers die", "all, where nobody is new"],
)
def test_a_key_that_is_not_ours_is_let_go_when_these_have_it(
    newcomers: list[int], dead: list[int], sent: list[int], asked: list[int]
) -> None:
    plan = Plan()
    holders = [contact(each) for each in (1, 2, 3)]

    plan.decide((1, 0, 0), holders, contact(4), {*map(peer, newcomers)}, {*map(peer, dead)}, place=KEY, posted=False)

    assert plan.others == {(1, 0, 0): {*map(peer, [*sent, *asked])}}
    assert [each.port for each in plan.copies] == sent
    assert [each.port for each in plan.doubtful] == asked


@given(st.data())
def test_a_key_that_somebody_has_is_at_all_its_holders_once_everybody_knows_who_died(data: st.DataObject) -> None:
    living = data.draw(st.lists(st.integers(1, 40), min_size=4, max_size=14, unique=True))
    mortal = data.draw(st.lists(st.sampled_from(living), max_size=len(living) - 2, unique=True))
    have = set(sorted(living)[:REPLICAS])
    heard: dict[int, set[int]] = {each: set() for each in living}

    def look(own: int) -> None:
        known = [contact(each) for each in sorted({*heard} - heard[own])]
        plan = Plan()
        plan.decide((1, 0, 0), known[:REPLICAS], contact(own), set(), set(map(peer, heard[own])), place=KEY, posted=False)
        if own in have:
            have.update(each.port for each in (*plan.copies, *plan.doubtful) if each.port in living)

    for dying in mortal:
        living.remove(dying)
        have.discard(dying)
        for own in data.draw(st.lists(st.sampled_from(living), max_size=3)):
            heard[own].add(data.draw(st.sampled_from(mortal[: mortal.index(dying) + 1])))
            look(own)
    for own in data.draw(st.permutations(living)):
        for dead in data.draw(st.permutations(mortal)):
            heard[own].add(dead)
            look(own)

    assert not have or have.issuperset(sorted(living)[:REPLICAS])
