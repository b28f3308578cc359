"""Promises broken on purpose, each in one place of the real code: the harness has to find every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from gsg.entries import Entries
from gsg.feeds import RecentEvents
from gsg.handover import Handover
from gsg.keeping import Keeping
from gsg.ordering import Ordering
from gsg.rendezvous import Rendezvous
from gsg.replication import Held, Replication

Columns: TypeAlias = list[Any]  # Any: one column of a message


def acknowledged_before_holders_have_it(patch: pytest.MonkeyPatch) -> None:
    """A publisher is answered as soon as the primary has made the change, and others are told at leisure."""
    hold = Replication.hold

    def hastily(*args: object, **more: object) -> Held:
        held = hold(*args, **more)  # type: ignore[arg-type]  # as it takes them
        return Held(held.changed, held.stamp, None)

    patch.setattr(Replication, "hold", hastily)


def no_tombstones(patch: pytest.MonkeyPatch) -> None:
    """Nobody remembers what went."""
    patch.setattr(Entries, "remembering", property(lambda entries: False, lambda entries, value: None))


def no_hand_over_on_join(patch: pytest.MonkeyPatch) -> None:
    """Newcomers get nothing until a round of repair finds it missing."""
    patch.setattr(Handover, "newcomer", lambda handover, contact: setattr(handover._rendezvous.held, "remembering", True))


def duplicates_delivered(patch: pytest.MonkeyPatch) -> None:
    """An event is told as often as it comes."""
    patch.setattr(RecentEvents, "is_new", lambda recent, publisher, number: True)


def order_not_kept(patch: pytest.MonkeyPatch) -> None:
    """What comes is told as it comes, and deltas by whichever way is quicker."""
    patch.setattr(Ordering, "passes", lambda ordering, *args, **more: True)


def stamps_compared_the_wrong_way(patch: pytest.MonkeyPatch) -> None:
    """Of what two holders know of a fact the older one is right."""

    def take_over(rendezvous: Rendezvous, signs: Columns, facts: Columns, places: Columns, stamps: Columns) -> None:
        entries = rendezvous.held
        for sign, fact, positions, stamp in zip(signs, facts, places, stamps, strict=True):
            for position in positions:
                key = (len(fact), position, fact[position])
                if 0 <= entries.stamp_of(key, fact) < stamp:
                    continue
                if (entries.enter if sign > 0 else entries.leave)(key, fact, stamp):
                    rendezvous._changed(key, fact, sign)

    patch.setattr(Rendezvous, "take_over", take_over)


def acknowledged_before_it_is_on_disk(patch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the disk."""
    patch.setattr(Keeping, "kept", lambda keeping: None)


BREAKS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    each.__name__: each
    for each in (
        acknowledged_before_holders_have_it,
        no_tombstones,
        no_hand_over_on_join,
        duplicates_delivered,
        order_not_kept,
        stamps_compared_the_wrong_way,
        acknowledged_before_it_is_on_disk,
    )
}
