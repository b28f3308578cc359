"""How all peers are: one that hangs is named, and keeps nobody waiting."""

from __future__ import annotations

import msgspec
import pytest
from peers import others, simulate

from dht.simnet import SimNet
from gsg import Peer
from gsg.errors import RemoteError
from gsg.http.protocol import Report
from gsg.monitoring.status import Status
from gsg.monitoring.survey import WAIT_S
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import decode, encode
from gsg.wire.status_messages import PeerStatus


def test_a_peer_that_hangs_is_named_and_nobody_waits_for_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asking, hanging, *_ = peers
        await asking.survey()
        net.suspend(hanging.contact.host)
        begun_s = net.loop.time()

        told, silent = await asking.survey()

        assert [one.peer for one in told] == [peer.contact.id for peer in others(peers, hanging)]
        assert [(one.peer, one.why) for one in silent] == [
            (hanging.contact.id, "it has not answered within 1 s: it hangs, or is about to be taken for dead")
        ]
        assert net.loop.time() - begun_s < 1.5 * WAIT_S

    simulate(work, seed=6, size=4)


def test_a_peer_that_counts_for_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Status.answer

    async def work(net: SimNet, peers: list[Peer]) -> None:
        asking, busy = peers

        def late(status: Status, link: PeerLink, request: int) -> None:
            wait_s = 10 * WAIT_S if status is busy._parts.status else 0
            net.loop.call_later(wait_s, answer, status, link, request)

        monkeypatch.setattr(Status, "answer", late)
        told, silent = await asking.survey()

        assert ([one.peer for one in told], silent) == ([asking.contact.id, busy.contact.id], [])

    simulate(work, seed=7, size=2)


def test_a_peer_that_cannot_be_called_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asking, other = peers

        async def link(contact: object) -> PeerLink:
            raise RemoteError("nobody is there")

        monkeypatch.setattr(asking._parts.exchange, "link", link)
        asked = await asking.survey()

        assert [(one.peer, one.why) for one in asked.silent if one.peer == other.contact.id] == [
            (other.contact.id, "nobody is there")
        ]

    simulate(work, seed=8, size=2)


def test_earlier_versions_are_read_and_read_us() -> None:
    status = PeerStatus(7, b"p" * 20, "10.0.0.1:1", *range(11), version="9.9", memory_bytes=5)
    as_they_say_it = msgspec.msgpack.decode(encode(status))
    before = as_they_say_it[: 1 + PeerStatus.__struct_fields__.index("version")]

    read = decode(msgspec.msgpack.encode(before))
    later = decode(msgspec.msgpack.encode([*as_they_say_it, "what a later version adds"]))

    assert isinstance(read, PeerStatus)
    assert (read.facts, read.version, read.memory_bytes) == (0, "", 0)
    assert later == status


def test_who_does_not_answer_is_in_what_programs_read() -> None:
    report = msgspec.msgpack.decode(msgspec.msgpack.encode([16, 1, [], []]), type=Report)

    assert report.as_dict() == {"peers": [], "silent": [], "membership": [], "suspected": []}
