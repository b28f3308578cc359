"""Who of a key's holders is to be told what lies under it, when peers came and died."""

from __future__ import annotations

import pytest

from gsg.plan_of_keys import gained

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
        pytest.param([2, 6, 7], [], [1, 3, 4], [2, 6, 7], id="three died"),
        pytest.param([1, 2], [], [3, 4], [], id="there are no more than hold everything"),
    ],
)
def test_who_may_have_become_a_holder_is_told(holders: list[int], newcomers: list[int], dead: list[int], new: list[int]) -> None:
    told = gained(KEY, [peer(each) for each in holders], {peer(each) for each in newcomers}, {peer(each) for each in dead})

    assert told == {peer(each) for each in new}


def test_whoever_leaves_tells_the_last_holder() -> None:
    assert gained(KEY, [peer(1), peer(2), peer(3)], set(), set(), leaving=True) == {peer(3)}
