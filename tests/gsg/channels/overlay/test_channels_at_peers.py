"""Channels at peers of a simulated network find each other by what events hold."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from peers import quiet, simulate

from dht.simnet import SimNet
from gsg import Peer, Symbol
from gsg.channels.channel import Channel
from gsg.channels.overlay.horizon import horizon
from gsg.channels.overlay.overlay import Overlay
from gsg.errors import DoorClosed
from gsg.tuples.terms import Compound, List


class AtPeers:
    """Channels at peers, so many at each, and what each of them heard."""

    def __init__(self) -> None:
        self.channels: list[Channel] = []
        self.overlays: list[Overlay] = []

    async def settle(self) -> None:
        for overlay in self.overlays:
            await overlay.posted()
            await overlay.all_sent()
        await quiet()


@asynccontextmanager
async def at(peers: Sequence[Peer], each: int = 1) -> AsyncIterator[AtPeers]:
    """Channels at these peers."""
    made = AtPeers()
    async with AsyncExitStack() as stack:
        for peer in peers:
            for _ in range(each):
                made.channels.append(Channel(f"c{len(made.channels)}"))
                made.overlays.append(await stack.enter_async_context(Overlay(made.channels[-1], peer)))
        yield made


def heard(channel: Channel, text: str, **options: Any) -> list[dict[str, object]]:  # Any: keywords of subscribe
    """What a subscription hears from now on."""
    found: list[dict[str, object]] = []
    channel.subscribe(lambda event: found.append(dict(event.fields)), text, **options)
    return found


def test_an_event_reaches_whoever_wants_it_at_other_peers_once() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with at(peers) as made:
            one, other, nobody, publisher, _ = made.channels
            errors, of_fred = heard(one, "(= type 'error)"), heard(one, "(= user 'Fred)")
            anything, warm = heard(other, "true"), heard(other, "(> temp 20)")
            never = heard(nobody, "(and (= type 'error) (= user 'Wilma))")
            await made.settle()

            publisher.publish({"type": "error", "user": "Fred", "temp": 21})
            publisher.publish({"type": "fine", "temp": "19"})
            await made.settle()

            both = {"type": "error", "user": "Fred", "temp": 21}
            assert (errors, of_fred, warm, never) == ([both], [both], [both], [])
            assert anything == [both, {"type": "fine", "temp": "19"}]
            assert [overlay.received for overlay in made.overlays] == [1, 2, 0, 0, 0]
            assert made.overlays[3].sent == 2

    simulate(work, seed=1)


def test_a_subscription_that_is_modified_or_cancelled_hears_accordingly() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with at(peers[:2]) as made:
            reader, publisher = made.channels
            found: list[object] = []
            ticket = reader.subscribe(lambda event: found.append(event.fields["n"]), "(= type 'a)")
            await made.settle()
            publisher.publish({"type": "a", "n": 1})
            await made.settle()
            ticket.modify("(= type 'b)")
            await made.settle()
            publisher.publish({"type": "a", "n": 2})
            publisher.publish({"type": "b", "n": 3})
            await made.settle()
            ticket.cancel()
            await made.settle()
            publisher.publish({"type": "b", "n": 4})
            await made.settle()

            assert found == [1, 3]
            assert made.overlays[0].received == 2

    simulate(work, seed=2)


def test_a_script_joins_what_a_channel_publishes() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with at(peers[:1]) as made:
            rows = await peers[1].subscribe("(event, ?source, ?number, user, ?user), (?user, phone, ?phone)")
            await peers[2].insert([("Fred", Symbol("phone"), 17)])
            await quiet()

            made.channels[0].publish({"type": "error", "user": "Fred"})
            await made.settle()

            _, row = await anext(aiter(rows))
            assert (row["user"], row["phone"]) == ("Fred", 17)

    simulate(work, seed=3)


def test_a_channel_hears_what_other_doors_say_to_channels() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with at(peers[:2]) as made:
            errors, more = heard(made.channels[0], "(and (= type 'error) (> count 2))"), heard(made.channels[1], "(= type 'fine)")
            counted = heard(made.channels[0], "(exists count)")
            await made.settle()

            def pair(name: str, value: object) -> Compound:
                return Compound((Symbol("="), Symbol(name), value))  # type: ignore[arg-type]  # terms

            for count in (2, 3):
                await peers[3].notify([(Symbol("event"), List((pair("type", Symbol("error")), pair("count", count))))])
            await peers[3].notify([(Symbol("event"), Symbol("alarm"))])
            await quiet()

            assert (errors, more) == ([{"type": "error", "count": 3}], [])
            assert counted == [{"type": "error", "count": 2}, {"type": "error", "count": 3}]
            assert made.overlays[0].received == 2
            assert made.overlays[1].received == 0

    simulate(work, seed=4)


def test_an_event_for_named_readers_leaves_its_rendezvous_for_them_alone() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with at(peers[:4]) as made:
            fred, wilma, barney, publisher = made.channels
            of_peer = peers[2].contact.id.hex()
            for_fred, for_wilma = heard(fred, "true", asker="Fred"), heard(wilma, "true", asker="Wilma")
            for_barney = heard(barney, "true", asker=of_peer)
            await made.settle()

            publisher.publish({"n": 1}, readers=["Fred"])
            publisher.publish({"n": 2}, readers=[of_peer])
            publisher.publish({"n": 3})
            await made.settle()

            assert (for_fred, for_wilma, for_barney) == ([{"n": 1}, {"n": 3}], [{"n": 3}], [{"n": 2}, {"n": 3}])
            assert [overlay.received for overlay in made.overlays] == [2, 1, 2, 0]

    simulate(work, seed=5)


def test_the_horizon_of_an_action_travels_with_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with at(peers[:3]) as made:
            asks, works, other = made.channels
            found, unconcerned = heard(asks, "(exists never)", private=True), heard(other, "(= type 'elsewhere)")
            asks.subscribe(lambda event: found.append(dict(event.fields)), "(= type 'done)")
            await made.settle()

            with horizon(asks.source, "(> seconds 1)"):
                works.publish({"type": "slow", "seconds": 2})
                works.publish({"type": "fast", "seconds": 0})
            await made.settle()

            assert made.overlays[0].received == 1
            assert (found, unconcerned) == ([], [])

    simulate(work, seed=6)


def test_a_private_subscription_is_posted_without_its_constants() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with at(peers[:2]) as made:
            found = heard(made.channels[0], "(= password 'secret)", private=True)
            await made.settle()

            said = [text for peer in peers for text in posted_tests(peer)]
            made.channels[1].publish({"password": "secret"})
            await made.settle()

            assert said
            assert not [text for text in said if "secret" in text]
            assert found == [{"password": "secret"}]

    simulate(work, seed=7)


def test_what_is_said_to_be_posted_is_posted_however_many_subscribe_meanwhile() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        channel = Channel()
        async with Overlay(channel, peers[0]) as overlay:

            async def subscribe(number: int) -> bool:
                await asyncio.sleep(0.013 * number)
                channel.subscribe(print, f"(and (= f{number} 1) (= g{number} 1))")
                await overlay.posted()
                choices = {List((f"f{number}", 1)), List((f"g{number}", 1))}
                return not choices.isdisjoint(posting.feature for posting in overlay._poster._listening)

            assert all(await asyncio.gather(*map(subscribe, range(40))))

    simulate(work, seed=9)


def test_who_waits_while_a_channel_leaves_its_peer_is_told() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        channel = Channel()
        overlay = Overlay(channel, peers[0])
        async with overlay:
            channel.subscribe(print, "(= type 'error)")
            channel.publish({"type": "error"})
            waiting = [asyncio.ensure_future(each) for each in (overlay.posted(), overlay.all_sent())]
            await asyncio.sleep(0)

        told = await asyncio.gather(*waiting, return_exceptions=True)

        assert [type(each) for each in told] == [DoorClosed, DoorClosed]
        assert overlay.lost == 1

    simulate(work, seed=8)


def posted_tests(peer: Peer) -> list[str]:
    """The tests that are posted at a peer, as texts."""
    by_key = peer._parts.rendezvous.conditions.by_key
    return [posting.test.source for key in by_key for posting in by_key.get(key) or () if posting.test is not None]


@pytest.mark.parametrize("quietly", [False, True], ids=["at once", "silent"])
@pytest.mark.parametrize("seed", range(3))
def test_eight_channels_at_four_peers_lose_nothing_when_a_peer_dies(seed: int, quietly: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with at(peers[:3], each=2) as made, AsyncExitStack() as dying:
            doomed = await dying.enter_async_context(at(peers[3:], each=2))
            everybody = [*made.channels, *doomed.channels]
            found: list[list[tuple[str, int]]] = [[] for _ in everybody]
            for channel, mine in zip(everybody, found, strict=True):
                channel.subscribe(lambda event, mine=mine: mine.append((event.source, event.fields["n"])), "(= type 'work)")
            await made.settle()
            await doomed.settle()

            for number in range(60):
                if number == 20:
                    net.crash(peers[3].contact.host, quietly=quietly)
                for channel in everybody if number < 20 else made.channels:
                    channel.publish({"type": "work", "n": number})
                await asyncio.sleep(0.05)
            for overlay in made.overlays:
                await overlay.all_sent()
            for _ in range(12):
                await quiet()

            survivors = {channel.source for channel in made.channels}
            for mine in found[:6]:
                of_survivors = Counter(each for each in mine if each[0] in survivors)
                assert of_survivors == Counter((source, number) for source in survivors for number in range(60))
                for channel in everybody:
                    numbers = [number for source, number in mine if source == channel.source]
                    assert numbers == sorted(set(numbers))
            assert [overlay.lost for overlay in made.overlays] == [0] * 6

    simulate(work, seed=seed, size=4)
