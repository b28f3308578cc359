"""The simulated network itself: time, loss, cuts, flow control, and that a seed repeats a run."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from dht import Overlay, random_id
from dht.simnet import SimNet, Stalled, run


async def busy(net: SimNet) -> str:
    """Some peers, some loss and a crash: what happened, as a fingerprint."""
    peers = [Overlay(random_id(rng), net.host(), 7400, rng=rng) for rng in (net.rng() for _ in range(6))]
    async with peers[0], peers[1], peers[2], peers[3], peers[4], peers[5]:
        for peer in peers[1:]:
            await peer.join([peers[0].contact.address])
        net.crash(peers[3].contact.host)
        await asyncio.sleep(60)
        return net.digest


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    first, again, other = (run(busy, seed=seed, loss=0.1) for seed in (1, 1, 2))

    assert first == again
    assert first != other


def test_an_hour_passes_in_no_time() -> None:
    async def main(net: SimNet) -> float:
        await asyncio.sleep(3600)
        return net.loop.time()

    assert run(main, seed=1) == pytest.approx(3600)


def test_waiting_for_what_will_never_happen_is_an_error() -> None:
    async def main(net: SimNet) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stalled, match="a task waits for what will never happen"):
        run(main, seed=1)


def test_what_a_callback_raises_fails_the_run() -> None:
    async def main(net: SimNet) -> None:
        net.loop.call_soon(lambda: 1 // 0)
        await asyncio.sleep(1)

    with pytest.raises(ExceptionGroup, match="callbacks failed in the simulation with seed 7") as failed:
        run(main, seed=7)
    assert isinstance(failed.value.exceptions[0], ZeroDivisionError)


def test_work_for_an_executor_is_done_in_place() -> None:
    async def main(net: SimNet) -> int:
        return await asyncio.to_thread(lambda: 42)

    assert run(main, seed=1) == 42


async def echo(net: SimNet, host: str) -> asyncio.AbstractServer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionResetError):
            while data := await reader.read(1000):
                writer.write(data)
        writer.close()

    return await asyncio.start_server(answer, host, 80)


def test_asyncio_streams_run_over_it() -> None:
    async def main(net: SimNet) -> bytes:
        host = net.host()
        async with await echo(net, host):
            reader, writer = await asyncio.open_connection(host, 80)
            writer.writelines([b"to", b"gether"])
            answer = await reader.readexactly(8)
            writer.close()
            await writer.wait_closed()
            return answer

    assert run(main, seed=1) == b"together"


def test_a_reader_that_pauses_makes_the_writer_pause_and_nothing_is_lost() -> None:
    async def main(net: SimNet) -> tuple[list[str], int]:
        heard: list[str] = []
        got = 0

        class Reader(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                transport.pause_reading()  # type: ignore[attr-defined]  # a stream's
                net.loop.call_later(5, transport.resume_reading)  # type: ignore[attr-defined]  # as above

            def data_received(self, data: bytes) -> None:
                nonlocal got
                got += len(data)

        class Writer(asyncio.Protocol):
            def pause_writing(self) -> None:
                heard.append(f"paused at {round(net.loop.time())}")

            def resume_writing(self) -> None:
                heard.append(f"resumed at {round(net.loop.time())}")

        host = net.host()
        await net.listen(Reader, host, 80)
        transport, _ = await net.loop.create_connection(Writer, host, 80)
        transport.write(bytes(10_000_000))
        await asyncio.sleep(30)
        return heard, got

    heard, got = run(main, seed=1)
    assert heard == ["paused at 0", "resumed at 6"]
    assert got == 10_000_000


def test_a_partition_holds_streams_back_and_healing_lets_them_go_on() -> None:
    async def main(net: SimNet) -> tuple[bool, bytes]:
        here, there = net.host(), net.host()
        async with await echo(net, there):
            reader, writer = await asyncio.open_connection(there, 80, local_addr=(here, 0))
            net.partition([[here], [there]])
            writer.write(b"hello")
            answer = asyncio.ensure_future(reader.readexactly(5))
            await asyncio.sleep(100)
            held = not answer.done()
            net.heal()
            arrived = await answer
            writer.close()
            return held, arrived

    assert run(main, seed=1) == (True, b"hello")


def test_a_wall_is_between_two_hosts_alone_until_the_last_one_is_taken_down() -> None:
    async def main(net: SimNet) -> tuple[bytes, bool, bytes]:
        here, there, beside = net.host(), net.host(), net.host()
        async with await echo(net, there):
            reader, writer = await asyncio.open_connection(there, 80, local_addr=(here, 0))
            other_reader, other_writer = await asyncio.open_connection(there, 80, local_addr=(beside, 0))
            net.wall(here, there)
            net.wall(there, here)
            writer.write(b"hello")
            other_writer.write(b"hello")
            at_once = await other_reader.readexactly(5)
            answer = asyncio.ensure_future(reader.readexactly(5))
            net.take_down(here, there)
            await asyncio.sleep(100)
            held = not answer.done()
            net.take_down(here, there)
            arrived = await answer
            writer.close()
            other_writer.close()
            return at_once, held, arrived

    assert run(main, seed=1) == (b"hello", True, b"hello")


def test_what_was_held_back_from_an_end_that_is_gone_tells_its_sender_so_when_the_network_heals() -> None:
    async def main(net: SimNet) -> None:
        here, there = net.host(), net.host()

        class Leaver(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                net.loop.call_later(5.0, transport.abort)  # type: ignore[attr-defined]  # a stream

        await net.listen(Leaver, there, 80)
        reader, writer = await asyncio.open_connection(there, 80, local_addr=(here, 0))
        net.partition([[here], [there]])
        writer.write(b"hello")
        read = asyncio.ensure_future(reader.read())
        await asyncio.sleep(100)
        assert not read.done()

        net.heal()

        with pytest.raises(ConnectionResetError):
            await read

    run(main, seed=1)


def test_a_crash_resets_connections_and_frees_the_address() -> None:
    async def main(net: SimNet) -> None:
        host = net.host()
        async with await echo(net, host):
            reader, _ = await asyncio.open_connection(host, 80)
            net.crash(host)
            with pytest.raises(ConnectionResetError):
                await reader.read()
            net.restart(host)
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(host, 80)
            async with await echo(net, host):
                reader, writer = await asyncio.open_connection(host, 80)
                writer.write(b"x")
                assert await reader.readexactly(1) == b"x"
                writer.close()

    run(main, seed=1)


def test_the_share_of_datagrams_that_vanish_is_the_one_asked_for() -> None:
    async def main(net: SimNet) -> float:
        a, b = net.host(), net.host()
        sender, _ = await net.bind_datagrams(asyncio.DatagramProtocol, (a, 1))
        await net.bind_datagrams(asyncio.DatagramProtocol, (b, 1))
        for _ in range(2000):
            sender.sendto(b"x", (b, 1))
        await asyncio.sleep(1)
        return net.counts["datagram lost"] / 2000

    assert run(main, seed=1, loss=0.25) == pytest.approx(0.25, abs=0.04)


def test_the_share_of_datagrams_that_arrive_twice_is_the_one_asked_for() -> None:
    async def main(net: SimNet) -> float:
        a, b = net.host(), net.host()
        sender, _ = await net.bind_datagrams(asyncio.DatagramProtocol, (a, 1))
        await net.bind_datagrams(asyncio.DatagramProtocol, (b, 1))
        net.duplication = 0.25
        for _ in range(2000):
            sender.sendto(b"x", (b, 1))
        await asyncio.sleep(1)
        return net.counts["datagram"] / 2000

    assert run(main, seed=1) == pytest.approx(1.25, abs=0.04)


def test_a_host_that_stalls_reads_nothing_until_it_reads_on() -> None:
    async def main(net: SimNet) -> tuple[bool, bytes]:
        here, there = net.host(), net.host()
        async with await echo(net, there):
            reader, writer = await asyncio.open_connection(there, 80, local_addr=(here, 0))
            net.stall(there)
            writer.write(b"hello")
            answer = asyncio.ensure_future(reader.readexactly(5))
            await asyncio.sleep(100)
            held = not answer.done()
            net.read_on(there)
            arrived = await answer
            writer.close()
            return held, arrived

    assert run(main, seed=1) == (True, b"hello")


def test_a_program_that_is_suspended_neither_reads_nor_does_what_is_due_and_then_does_both() -> None:
    async def main(net: SimNet) -> tuple[list[str], bytes]:
        here, there = net.host(), net.host()
        done: list[str] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            done.append((await reader.readexactly(5)).decode())
            writer.write(b"heard")

        async def live() -> None:
            async with await asyncio.start_server(serve, there, 80):
                await asyncio.sleep(50)
                done.append("slept")
                await asyncio.sleep(500)

        program = asyncio.create_task(live(), context=net.program(there))
        await asyncio.sleep(1)
        net.suspend(there)
        # The system connects, and takes what comes.
        reader, writer = await asyncio.open_connection(there, 80, local_addr=(here, 0))
        writer.write(b"hello")
        answer = asyncio.ensure_future(reader.readexactly(5))
        await asyncio.sleep(100)
        held = [*done, f"answered: {answer.done()}"]
        net.resume(there)
        arrived = await answer
        writer.close()
        program.cancel()
        return [*held, *done], arrived

    assert run(main, seed=1) == (["answered: False", "slept", "hello"], b"heard")


def test_what_a_program_has_sent_arrives_and_its_datagrams_wait_while_it_is_suspended() -> None:
    class Hears(asyncio.DatagramProtocol):
        def __init__(self) -> None:
            self.heard: list[tuple[float, bytes]] = []

        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            self.heard.append((asyncio.get_running_loop().time(), data))

    async def main(net: SimNet) -> tuple[list[bytes], list[bytes], bool]:
        here, there = net.host(), net.host()
        bind = asyncio.get_running_loop().create_datagram_endpoint
        near, near_heard = await bind(Hears, (here, 7))
        far, far_heard = await asyncio.create_task(bind(Hears, (there, 7)), context=net.program(there))
        far.sendto(b"sent before", (here, 7))
        net.suspend(there)
        near.sendto(b"waits", (there, 7))
        await asyncio.sleep(10)
        net.resume(there)
        await asyncio.sleep(1)
        at_s, data = far_heard.heard[0]
        near.close()
        far.close()
        return [data for _, data in near_heard.heard], [data], at_s >= 10

    assert run(main, seed=1) == ([b"sent before"], [b"waits"], True)


def test_what_was_under_way_in_a_cut_network_is_not_sent_again_by_who_has_gone() -> None:
    async def main(net: SimNet) -> bytes:
        here, there = net.host(), net.host()
        read = bytearray()

        class Reader(asyncio.Protocol):
            def data_received(self, data: bytes) -> None:
                read.extend(data)

        await net.listen(Reader, there, 80)
        transport, _ = await net.loop.create_connection(asyncio.Protocol, there, 80, local_addr=(here, 0))
        net.partition([[here], [there]])
        transport.write(b"hello")
        transport.abort()
        await asyncio.sleep(1)
        net.heal()
        await asyncio.sleep(1)
        return bytes(read)

    assert run(main, seed=1) == b""


def test_nothing_is_called_before_its_time() -> None:
    async def main(net: SimNet) -> list[float]:
        late: list[float] = []
        for number in range(2000):
            when = 1.0 + number * 1e-13
            net.loop.call_at(when, lambda when=when: late.append(net.loop.time() - when))  # type: ignore[misc]  # bound now
        await asyncio.sleep(2)
        return late

    late = run(main, seed=1)
    assert len(late) == 2000
    assert min(late) >= 0.0
