"""Promises broken on purpose, each in one place of the real code: the harness has to find every one of them."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

import gsg.storage.disk.salvage
from gsg.feeds.ordered_delivery import OrderedDelivery
from gsg.feeds.seen_events import SeenEvents
from gsg.rendezvous.delivery import Delivery
from gsg.rendezvous.rendezvous import Rendezvous
from gsg.replication.changes import Replication
from gsg.replication.copying import Copying
from gsg.storage.disk.group_commit import GroupCommit
from gsg.storage.disk.records import rows_of
from gsg.storage.facts_by_key import FactsByKey
from gsg.topics.diffusion.diffusion import Diffusion
from gsg.topics.neighbours import Neighbours
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Happened
from gsg.wire.topic_messages import Payload

Columns: TypeAlias = list[Any]  # Any: one column of a message


def acknowledged_before_holders_have_it(patch: pytest.MonkeyPatch) -> None:
    """A publisher is answered when the primary alone has the change: the others learn of it by repair."""
    patch.setattr(Replication, "_ask", lambda *_: [])


def no_tombstones(patch: pytest.MonkeyPatch) -> None:
    """Nobody remembers what went."""
    patch.setattr(FactsByKey, "remembering", property(lambda entries: False, lambda entries, value: None))


def no_hand_over(patch: pytest.MonkeyPatch) -> None:
    """Who comes to hold a key is sent nothing, and taken to have it."""

    async def nothing(*_: object) -> None:
        return None

    patch.setattr(Copying, "copy_keys", nothing)


def duplicates_delivered(patch: pytest.MonkeyPatch) -> None:
    """An event is told as often as it comes."""
    patch.setattr(SeenEvents, "is_new", lambda seen, publisher, number: True)


def order_not_kept(patch: pytest.MonkeyPatch) -> None:
    """Of the events that come together the last is told first."""
    happened = OrderedDelivery.take_events

    def backwards(inorder: OrderedDelivery, link: PeerLink, message: Happened) -> None:
        happened(inorder, link, replace(message, events=message.events[::-1], feeds=message.feeds[::-1]))

    patch.setattr(OrderedDelivery, "take_events", backwards)


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
                    rendezvous._changed(key, fact, sign, stamp)

    patch.setattr(Rendezvous, "take_over", take_over)


def lost_with_the_link(patch: pytest.MonkeyPatch) -> None:
    """What a link had not brought when it broke is not told by the next one."""
    patch.setattr(Delivery, "replay_events", lambda *_: None)


def acknowledged_before_it_is_on_disk(patch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the disk."""
    patch.setattr(GroupCommit, "until_kept", lambda keeping: None)


def checksums_not_checked(patch: pytest.MonkeyPatch) -> None:
    """What can be read from a disk is taken for what was written."""

    def can_be_read(number: int, clock: int, weight: int, checksum: bytes, rows: bytes) -> bool:
        try:
            return bool(rows_of(rows))
        except ValueError:
            return False

    patch.setattr(gsg.storage.disk.salvage, "is_sound_group", can_be_read)


def events_never_asked_for(patch: pytest.MonkeyPatch) -> None:
    """What a member of a topic has missed it does not ask for."""
    patch.setattr(Diffusion, "_ask_for", lambda *_: None)
    patch.setattr(Neighbours, "refill", lambda *_: None)


def events_from_before_told(patch: pytest.MonkeyPatch) -> None:
    """A member is told what it hears of, whenever that was published."""
    meet = Diffusion._meet
    patch.setattr(Diffusion, "_meet", lambda diffusion, source, told, now_s: meet(diffusion, source, 0, now_s))
    patch.setattr(Diffusion, "since_s", property(lambda diffusion: -inf, lambda diffusion, since_s: None), raising=False)


def duplicates_of_topics_told(patch: pytest.MonkeyPatch) -> None:
    """An event of a topic is told as often as it comes."""
    received = Diffusion.received_payload

    def tell(diffusion: Diffusion, payload: Payload, sender: bytes | None, now_s: float) -> None:
        duplicates = diffusion.duplicates
        received(diffusion, payload, sender, now_s)
        if diffusion.duplicates > duplicates:
            diffusion._tell(payload)

    patch.setattr(Diffusion, "received_payload", tell)


TOPIC_BREAKS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    each.__name__: each for each in (events_never_asked_for, events_from_before_told, duplicates_of_topics_told)
}
"""Those of topics, which are looked for from the first seed on."""

BREAKS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], int]] = {
    each.__name__: (each, first)
    for each, first in (
        (acknowledged_before_holders_have_it, 0),
        (no_tombstones, 0),
        (no_hand_over, 0),
        (duplicates_delivered, 0),
        (order_not_kept, 0),
        (stamps_compared_the_wrong_way, 0),
        (acknowledged_before_it_is_on_disk, 6),
        (lost_with_the_link, 22),
        (checksums_not_checked, 15),
    )
}
"""Each with the seed from which on it is looked for."""
