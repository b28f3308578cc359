"""What stands by at a rendezvous on its own: events meet it, and nothing else does."""

from __future__ import annotations

import pytest
from place import ANYTHING, ON, X_ON_Y, B, Place, everywhere, flash

from gsg.errors import Refused
from gsg.rendezvous.rendezvous import Rendezvous
from gsg.wire.messages import Event, Happened, InsertCondition


def stand_by(rendezvous: Rendezvous, who: str, number: int, *, exclusive: bool = False, instead: int = 0) -> None:
    rendezvous.insert_condition(who, InsertCondition(0, number, X_ON_Y, 1, None, True, exclusive, standby=True, instead=instead))


def feed(rendezvous: Rendezvous, who: str, number: int, *, exclusive: bool = False, instead: int = 0) -> None:
    rendezvous.insert_condition(who, InsertCondition(0, number, X_ON_Y, 1, None, True, exclusive, instead=instead))


@pytest.fixture
def rendezvous() -> Rendezvous:
    return Place().rendezvous


def test_events_meet_what_stands_by_and_facts_do_not(rendezvous: Rendezvous) -> None:
    stand_by(rendezvous, "ann", 1)

    rendezvous.publish(1, [B], [everywhere(B)])
    flash(rendezvous, [Event(1, B)], [everywhere(B)])

    [(who, happened)] = rendezvous.take_messages()
    assert who == "ann"
    assert isinstance(happened, Happened)
    assert (happened.events, happened.feeds) == ([Event(1, B)], [[1]])


def test_events_meet_what_is_fed_and_what_stands_by_under_one_key(rendezvous: Rendezvous) -> None:
    feed(rendezvous, "ann", 1)
    stand_by(rendezvous, "bob", 2)

    flash(rendezvous, [Event(1, B)], [everywhere(B)])

    assert {who for who, _ in rendezvous.take_messages()} == {"ann", "bob"}


def test_what_stands_by_is_counted_apart_and_keeps_no_key(rendezvous: Rendezvous) -> None:
    stand_by(rendezvous, "ann", 1)
    stand_by(rendezvous, "bob", 1)
    key = (3, 1, ON)

    assert (rendezvous.conditions.templates(), rendezvous.conditions.feeds(), rendezvous.keys()) == (0, 0, 0)
    assert (
        rendezvous.conditions.templates(standby=True),
        rendezvous.conditions.feeds(standby=True),
        rendezvous.conditions.feeds("ann", standby=True),
    ) == (1, 2, 1)
    assert (rendezvous.conditions.has_templates(key), rendezvous.conditions.has_listeners(key)) == (False, True)
    assert list(rendezvous.conditions.keys_on_standby()) == [key]
    rendezvous.tell_moved([key], None)  # type: ignore[arg-type]  # nobody is told
    assert rendezvous.take_messages() == []


def test_what_stands_by_goes_with_its_subscriber(rendezvous: Rendezvous) -> None:
    stand_by(rendezvous, "ann", 1)
    stand_by(rendezvous, "bob", 1)

    rendezvous.drop_subscriber("ann")
    rendezvous.conditions.remove("bob", 1)

    assert (rendezvous.conditions.templates(standby=True), rendezvous.conditions.feeds(standby=True)) == (0, 0)
    assert not rendezvous.conditions.has_listeners((3, 1, ON))


def test_what_is_exclusive_is_refused_where_it_stands_by_for_another(rendezvous: Rendezvous) -> None:
    stand_by(rendezvous, "ann", 1, exclusive=True)

    with pytest.raises(Refused, match="somebody has this already"):
        feed(rendezvous, "bob", 1, exclusive=True)
    with pytest.raises(Refused, match="somebody has this already"):
        feed(rendezvous, "ann", 2, exclusive=True)
    with pytest.raises(Refused, match="somebody has this already"):
        stand_by(rendezvous, "bob", 1, exclusive=True)
    feed(rendezvous, "ann", 3, exclusive=True, instead=1)


def test_a_template_without_constants_stands_by_nowhere(rendezvous: Rendezvous) -> None:
    with pytest.raises(Refused, match="posted everywhere"):
        rendezvous.insert_condition("ann", InsertCondition(0, 1, ANYTHING, -1, None, True, standby=True))


def test_a_key_comes_into_use_by_what_stands_by(rendezvous: Rendezvous) -> None:
    stand_by(rendezvous, "ann", 1)
    stand_by(rendezvous, "bob", 1)

    assert rendezvous.conditions.take_new_keys() == [(3, 1, ON)]
