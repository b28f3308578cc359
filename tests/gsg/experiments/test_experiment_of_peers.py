"""A whole experiment of peers over a simulated network: what they are told, what they log, and who may tell them anything."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import pytest
from peers import guest_of, simulate

from dht.simnet import SimNet
from gsg import Peer
from gsg.errors import LocalError, PeerUnreachable, Refused
from gsg.experiments.facilitation import Facilitation
from gsg.experiments.participant import ROWS_A_REPORT
from gsg.experiments.participation import Participation
from gsg.experiments.plan import Plan
from gsg.wire.experiment_messages import Act, ActKind, Row, RowKind, TakePart
from simulations.dissemination.experiment_log import read_log

PATIENCE_S = 600


class Heard:
    """What the facilitator says."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def say(self, said: str) -> None:
        self.said.append(said)


async def experiment(net: SimNet, peers: list[Peer], folder: Path, plan: Plan) -> list[str]:
    """Play one with the first peer as facilitator and the others as participants; what was said."""
    heard, clock = Heard(), net.loop.time
    facilitation = Facilitation(peers[0], folder, plan, Random(1), heard.say, clock=clock)
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE_S):
        await stack.enter_async_context(facilitation)
        for peer in peers[1:]:
            await stack.enter_async_context(Participation(peer, peers[0].contact.address, clock=clock))
        await facilitation.over.wait()
    return heard.said


def test_an_experiment_leaves_a_log_that_tells_how_events_spread(tmp_path: Path) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        said = await experiment(net, peers, tmp_path, Plan(8, (0.5, 1.0), events=10, settle_s=10, watch_s=5))
        assert said[-1].endswith(f"(all rows are there); gsg simulate dissemination --log {tmp_path} reads it")

    simulate(work, seed=1, size=9)

    measured = read_log(tmp_path)
    half, whole = measured.spreads
    assert [(one.agents, one.subscribers, one.subscribed, one.reached) for one in (half, whole)] == [(8, 0.5, 4, 4), (8, 1.0, 8, 8)]
    assert [(one.missed, one.carriers) for one in (half, whole)] == [(0, 0), (0, 0)]
    assert 0 < whole.last_ms < 1_000
    assert (half.steady_payloads, whole.steady_payloads) == (0.75, 0.875)  # the publisher has none by a link
    assert measured.rounds == []
    assert "0 rows of the log are missing" in measured.remarks


def test_who_cannot_be_ended_says_so_and_goes_on(tmp_path: Path) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await experiment(net, peers, tmp_path, Plan(4, (1.0,), 0.25, events=1, settle_s=1, watch_s=10))
        assert [peer._open for peer in peers] == [True] * 5

    simulate(work, seed=2, size=5)

    assert next(one.dead_known for one in read_log(tmp_path).rounds) == 1


def test_a_participant_says_when_the_experiment_begins_and_when_it_is_over(tmp_path: Path) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        heard, clock = Heard(), net.loop.time
        plan = Plan(2, (1.0,), events=1, settle_s=1)
        async with (
            Facilitation(peers[0], tmp_path, plan, Random(1), Heard().say, clock=clock) as facilitation,
            Participation(peers[1], peers[0].contact.address, say=heard.say, clock=clock),
            Participation(peers[2], peers[0].contact.address, clock=clock),
        ):
            await facilitation.over.wait()
            await asyncio.sleep(5.0)  # of the network's own time: each asks once more

        assert heard.said == [
            "experiment: the experiment begins",
            "experiment: the experiment is over; this peer goes on, and Ctrl-C ends it",
        ]

    simulate(work, seed=8, size=3)


def test_a_facilitator_that_is_stopped_says_that_the_experiment_is_cut_short(tmp_path: Path) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        heard = Heard()
        async with Facilitation(peers[0], tmp_path, Plan(2, (1.0,)), Random(1), heard.say, clock=net.loop.time):
            pass

        said = f"experiment: the experiment is cut short while gathering; what came until now is logged in {tmp_path}"
        assert heard.said == [said]

    simulate(work, seed=9, size=1)


def test_a_peer_that_is_no_facilitator_takes_no_reports() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        with pytest.raises(Refused, match="this peer is no facilitator; start it with `gsg peer --facilitator DIR`"):
            await peers[1].testbed.report(peers[0].contact, lambda request: TakePart(request, 0, 1, []))

    simulate(work, seed=3, size=2)


def test_only_the_facilitator_that_was_named_is_asked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        nobody = ("10.9.9.9", 1)
        async with Facilitation(peers[0], tmp_path, Plan(2, (1.0,)), Random(1), Heard().say, clock=net.loop.time) as facilitation:
            async with Participation(peers[1], nobody, clock=net.loop.time):
                await asyncio.sleep(10)
            assert facilitation._facilitator._members == {}

    simulate(work, seed=4, size=2)

    assert caplog.text.count("the facilitator at 10.9.9.9:1 cannot be told: no peer that is known is there") == 1


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_begins(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    async def work(net: SimNet, peers: list[Peer]) -> None:
        peer = guest_of(net, peers)
        async with peer:
            with pytest.raises(LocalError, match=r"cannot log to .*file: file exists"):
                await Facilitation(peer, tmp_path / "file", Plan(2, (1.0,)), Random(1), Heard().say).__aenter__()

    simulate(work, seed=5, size=1)


def test_a_facilitator_that_does_not_answer_is_asked_every_second_however_much_waits() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        participation = Participation(peers[0], ("10.9.9.9", 1), clock=net.loop.time)
        asked: list[float] = []

        async def find() -> None:
            asked.append(net.loop.time())
            assert len(asked) < 1_000, "without a pause"
            raise PeerUnreachable("nobody is there")

        participation._find = find  # type: ignore[method-assign, assignment]  # as where the address is no name
        for number in range(ROWS_A_REPORT + 1):
            participation._participant.note(Row(RowKind.TOLD, number))

        async with participation:
            await asyncio.sleep(9.5)

        assert len(asked) == 10

    simulate(work, seed=6, size=1)


def test_who_is_told_to_leave_while_it_subscribes_is_no_member() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        topic = "experiment/news"
        async with Participation(peers[0], peers[1].contact.address, clock=net.loop.time) as participation:
            for number, do in enumerate((ActKind.SUBSCRIBE, ActKind.SUBSCRIBE, ActKind.LEAVE), 1):
                participation._participant.waiting += 1
                participation._begin(Act(number, 0, do, topic))
            await asyncio.sleep(5.0)

            assert participation._events == {}
            assert await peers[1].topic(topic).size() == 0

    simulate(work, seed=7, size=2)
