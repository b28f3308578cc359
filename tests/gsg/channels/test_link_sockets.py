"""Links over sockets of this host."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack

import pytest

from gsg.channels.channel import Channel
from gsg.channels.consumers import Stream
from gsg.channels.links.links import Links
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
