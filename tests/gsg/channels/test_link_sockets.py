"""Links over sockets of this host."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from gsg.channels.channel import Channel
from gsg.channels.consumers import Stream
from gsg.channels.links.links import Links
from gsg.channels.links.messages import Hello
from gsg.channels.links.routing import Routing
from gsg.errors import DoorClosed, LocalError

PROCESS = """
import asyncio, sys
from gsg.channels.channel import Channel
from gsg.channels.links.links import Links

async def main(port):
    channel = Channel("inner")
    channel.subscribe(lambda event: channel.publish({"echo": event.fields["n"]}), "(exists n)")
    async with Links(channel, to=[("127.0.0.1", port)]) as links:
        await asyncio.sleep(3600)

asyncio.run(main(int(sys.argv[1])))
"""


async def test_channels_in_a_circle_of_sockets_tell_of_each_event_once() -> None:
    async with asyncio.timeout(30), AsyncExitStack() as stack:
        channels = [Channel(f"c{number}") for number in range(3)]
        links: list[Links] = []
        for number, channel in enumerate(channels):
            links.append(await stack.enter_async_context(Links(channel, to=[each.address for each in links])))
            await links[-1].linked_with(number)
        stream = Stream()
        channels[2].subscribe(stream, "(= type 'error)")
        channels[0].subscribe(lambda event: channels[0].publish({"type": "error", "n": -1}), "(= n 1)")
        found = []
        for each in links:
            await each.knows(2)
        for number in range(1_000):
            channels[1].publish({"type": "error", "n": number})
        async for event in stream:
            found.append(event.fields["n"])
            if {999, -1} <= set(found):
                break

    assert sorted(found) == [-1, *range(1_000)]


async def test_a_process_that_is_killed_is_linked_with_again() -> None:
    channel, stream = Channel("outer"), Stream()
    channel.subscribe(stream, "(exists echo)")
    async with asyncio.timeout(60), Links(channel) as links:
        for number in range(2):
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", PROCESS, str(links.address[1]))
            try:
                await links.linked_with(1)
                await links.knows(1)
                channel.publish({"n": number})
                echo = await anext(stream)
                assert echo.fields == {"echo": number}
            finally:
                process.kill()
                await process.wait()
            await links.without_links()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Pair:
    """Two channels: one sends events there, and the other one sends them back."""

    def __init__(self, one: str = "c0", other: str = "c1") -> None:
        self.one, self.other, self._back = Channel(one), Channel(other), Stream()
        self.one.subscribe(self._back, "(exists back)")
        self.other.subscribe(lambda event: self.other.publish({"back": event.fields["there"]}), "(exists there)")

    async def echo(self, count: int) -> None:
        """So many events go there and back, each after the one before: what was told before them was heard."""
        for number in range(count):
            self.one.publish({"there": number})
            assert (await anext(self._back)).fields == {"back": number}


def count_calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often links come up and hello is said, on both sides together."""
    did: Counter[str] = Counter()
    link_up, hello = Routing.link_up, Routing.hello

    def counted_up(routing: Routing, hello: Hello) -> None:
        did["up"] += 1
        link_up(routing, hello)

    def counted_hello(routing: Routing, origin: str) -> Hello:
        did["hello"] += 1
        return hello(routing, origin)

    monkeypatch.setattr(Routing, "link_up", counted_up)
    monkeypatch.setattr(Routing, "hello", counted_hello)
    return did


@pytest.mark.parametrize("names", [("c0", "c1"), ("c1", "c0")], ids=["of the first", "of the second"])
async def test_of_two_channels_that_call_each_other_one_socket_is_kept(
    names: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsg.channels.links.links.AGAIN_S", (0.0,))
    did = count_calls(monkeypatch)
    pair, port = Pair(*names), free_port()
    async with asyncio.timeout(30), Links(pair.one, to=[("127.0.0.1", port)]) as first:
        async with Links(pair.other, listen=("127.0.0.1", port), to=[first.address]) as second:
            await first.knows(1)
            await second.knows(1)
            await pair.echo(100)

            assert (first.routing.neighbours, second.routing.neighbours) == ([names[1]], [names[0]])
            # Each side says two hellos on each of two sockets, and on a third one where it called too early.
            assert did["up"] <= 4
            assert did["hello"] <= 12

        await first.without_links()
        async with Links(pair.other, listen=("127.0.0.1", port), to=[first.address]) as second:
            await first.knows(1)
            await second.knows(1)
            await pair.echo(10)


@pytest.mark.parametrize("names", [("c0", "c1"), ("c1", "c0")], ids=["the first", "the second"])
async def test_a_link_that_is_up_stays_when_its_other_side_calls_later(
    names: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    did, pair = count_calls(monkeypatch), Pair(*names)
    async with asyncio.timeout(30), Links(pair.one) as first, Links(pair.other, to=[first.address]) as second:
        await first.knows(1)
        await second.knows(1)

        later = await asyncio.open_connection(*second.address)
        linked_with = await first._serve(*later, dialled=True)
        await pair.echo(10)

        assert linked_with == pair.other.source
        assert did["up"] == 2


async def test_a_link_that_is_given_up_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pair, stream = Pair(), Stream()
    pair.other.subscribe(stream, "(exists n)")
    async with asyncio.timeout(30), Links(pair.one) as first, Links(pair.other, to=[first.address]):
        await first.knows(1)
        monkeypatch.setattr("gsg.channels.links.routing.MAX_OWED", 5)
        for number in range(6):
            pair.one.publish({"n": number})
        assert first.routing.neighbours == []

        await first.linked_with(1)
        pair.one.publish({"n": 6})

        async for event in stream:
            if event.fields["n"] == 6:
                break


async def test_a_channel_that_left_its_links_may_have_others() -> None:
    pair, stream = Pair(), Stream()
    async with asyncio.timeout(30), Links(pair.other) as links:
        for number in range(2):
            async with Links(pair.one, to=[links.address]) as own:
                await links.knows(1)
                await own.knows(1)
                ticket = pair.one.subscribe(stream, f"(= n {number})")
                await pair.echo(3)
                pair.other.publish({"n": number})
                assert (await anext(stream)).fields == {"n": number}
                ticket.cancel()
            assert (pair.one.on_event, pair.one.on_interest) == ([], [])
            await links.without_links()


async def test_links_that_could_not_be_made_leave_nothing_at_the_channel() -> None:
    channel = Channel()
    async with Links(Channel()) as links:
        with pytest.raises(DoorClosed):
            async with Links(channel, listen=links.address):
                pass

    assert (channel.on_event, channel.on_interest) == ([], [])


async def test_many_subscriptions_at_once_are_told_of_once() -> None:
    pair = Pair()
    async with asyncio.timeout(30), Links(pair.one) as first, Links(pair.other, to=[first.address]) as second:
        await first.knows(1)
        await second.knows(1)
        before = first.routing.announced

        for number in range(50):
            pair.one.subscribe(print, f"(= n {number})")
        await pair.echo(3)

        assert first.routing.announced == before + 1


async def test_what_is_no_channel_does_not_disturb_others(caplog) -> None:
    async with asyncio.timeout(30), Links(Channel("c0")) as links:
        reader, writer = await asyncio.open_connection(*links.address)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")

        assert await reader.read() != b""

        writer.close()
    assert "a frame of 1,195,725,856 bytes" in caplog.text


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.1", "example.org"])
def test_links_beyond_this_host_are_refused(host: str) -> None:
    with pytest.raises(LocalError, match="links are for one host"):
        Links(Channel(), listen=(host, 0))


async def test_an_address_in_use_is_told() -> None:
    async with Links(Channel()) as links:
        with pytest.raises(DoorClosed, match="cannot listen at"):
            async with Links(Channel(), listen=links.address):
                pass
