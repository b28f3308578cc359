"""The states of a peer's life: which lead where, and what is remembered of a suspicion that is disputed."""

from __future__ import annotations

import pytest

from dht import Contact
from dht.liveness.members import DOUBT_S, TRANSITIONS, Member, MemberState


def member(*states: MemberState) -> Member:
    """A peer that went through these states, one a second."""
    made = Member(Contact(bytes(20), "10.0.0.1", 7400), 0.0)
    for now, state in enumerate(states, 1):
        made.enter(state, float(now))
    return made


def test_every_state_leads_back_to_life() -> None:
    assert set(TRANSITIONS) == set(MemberState)
    assert all(MemberState.ALIVE in leads for leads in TRANSITIONS.values())


@pytest.mark.parametrize(
    "states",
    [
        (MemberState.DISPUTED,),
        (MemberState.DOUBTED, MemberState.DISPUTED),
        (MemberState.SUSPECTED, MemberState.DISPUTED, MemberState.DISPUTED),
        (MemberState.SUSPECTED, MemberState.DOUBTED),
    ],
    ids=["disputed without a suspicion", "a doubt disputed", "disputed twice", "doubted again"],
)
def test_no_other_way_is_taken(states: tuple[MemberState, ...]) -> None:
    with pytest.raises(AssertionError, match="does not lead to"):
        member(*states)


def test_a_disputed_suspicion_lasts_longer_by_what_had_passed_of_it() -> None:
    suspect = member(MemberState.SUSPECTED, MemberState.DISPUTED)

    assert (suspect.since_s, suspect.reprieve_s) == (1.0, 1.0)
    suspect.enter(MemberState.ALIVE, 3.0)
    assert (suspect.since_s, suspect.reprieve_s) == (3.0, 0.0)


def test_a_peer_that_was_asked_is_asked_again_when_nothing_came_of_it() -> None:
    asked = member()
    asked.asked_s = 1.0

    assert not asked.may_be_asked(DOUBT_S)
    assert asked.may_be_asked(DOUBT_S + 1.5)
