"""A Pedro client on bare sockets, which sees each byte as it is.

Deliveries are looked at without waiting: on the loopback what was written before the answer is there when the answer has come.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Self

PATIENCE_S = 10.0

_dialled: list[socket.socket] = []


def close_all() -> None:
    """Close what a test has left open; closing twice is allowed."""
    while _dialled:
        _dialled.pop().close()


class WireClient:
    """One connection through the three sockets of a door."""

    def __init__(self, ack: socket.socket, data: socket.socket) -> None:
        self._ack = ack
        self.data = data
        self._answers = b""
        self._delivered = b""

    @classmethod
    async def connect(cls, port: int, source: str = "127.0.0.1") -> Self:
        """Shake hands as the original's clients do."""
        info = await dial(port, source)
        host, ack_port, data_port = (await read_line(info)).split()
        info.close()
        assert host == b"127.0.0.1"
        ack = await dial(int(ack_port), source)
        client = await read_line(ack)
        data = await dial(int(data_port), source)
        await asyncio.get_running_loop().sock_sendall(data, client + b"\n")
        assert await read_line(data) == b"ok"
        return cls(ack, data)

    async def send(self, line: str) -> int:
        """One line's answer."""
        return (await self.send_raw(line.encode() + b"\n", 1))[0]

    async def send_raw(self, data: bytes, answers: int) -> list[int]:
        """Bytes as they are, and so many answers."""
        await asyncio.get_running_loop().sock_sendall(self.data, data)
        while self._answers.count(b"\n") < answers:
            async with asyncio.timeout(PATIENCE_S):
                received = await asyncio.get_running_loop().sock_recv(self._ack, 65536)
            assert received, "the door closed the ack socket"
            self._answers += received
        *lines, self._answers = self._answers.split(b"\n", answers)
        return [int(line) for line in lines]

    def delivered(self) -> list[str]:
        """What has been delivered since the last look."""
        while True:
            try:
                received = self.data.recv(65536, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            if not received:
                break
            self._delivered += received
        *lines, self._delivered = self._delivered.split(b"\n")
        return [line.decode() for line in lines]

    async def next_delivery(self) -> str:
        """The next line, waited for: it may come from another peer."""
        while b"\n" not in self._delivered:
            async with asyncio.timeout(PATIENCE_S):
                received = await asyncio.get_running_loop().sock_recv(self.data, 65536)
            assert received, "the door closed the data socket"
            self._delivered += received
        line, _, self._delivered = self._delivered.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        """Leave."""
        self.data.close()
        self._ack.close()


async def dial(port: int, source: str = "127.0.0.1") -> socket.socket:
    """A connection that asyncio does not read from on its own."""
    made = socket.socket()
    _dialled.append(made)
    made.setblocking(False)
    made.bind((source, 0))
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))
    return made


async def read_line(connection: socket.socket) -> bytes:
    """A line, byte by byte, so that nothing after it is taken."""
    line = b""
    async with asyncio.timeout(PATIENCE_S):
        while byte := await asyncio.get_running_loop().sock_recv(connection, 1):
            if byte == b"\n":
                return line
            line += byte
    raise ConnectionError(f"closed after {line!r}")
