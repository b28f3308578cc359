"""What publishers send: how late events are that go once more."""

from __future__ import annotations

import asyncio

from peers import simulate

from dht.simnet import SimNet
from gsg import Peer
from gsg.publisher.batches import Again
from gsg.publisher.parcels import Parcel
from gsg.publisher.resending import Said
from gsg.wire.messages import Event, Flash


def test_events_that_go_once_more_say_how_late_they_are_as_they_go() -> None:
    """To reach the next holder may take seconds, in which somebody may ask who is not to hear of them."""

    async def work(net: SimNet, peers: list[Peer]) -> None:
        record = peers[0]._parts.publisher.record
        again = Again(record, [Said([Event(1, ("x", 1))], [b"\0"], record.now() - 3.5)])
        await asyncio.sleep(2.0)

        message = again.message(Parcel(peers[1].contact, [0], [b"\0"]), 7, [])

        assert isinstance(message, Flash)
        assert [event.late_s for event in message.events] == [6]

    simulate(work, seed=1, size=2)
