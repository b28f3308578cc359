"""A client of Pedro's protocol that keeps its line full: what it sends and reads overlaps, and every byte that comes back is kept.

Blocking and single-threaded on purpose: it costs the machine as little as a client in Python can.
"""

from __future__ import annotations

import selectors
import socket
import time
from pathlib import Path
from typing import Self

from benchmarks.deliveries import WrongDelivery

PATIENCE_S = 60.0
READ_BYTES = 1024 * 1024


class Wire:
    """One client: the socket of its answers and that of its data."""

    def __init__(self, ack: socket.socket, data: socket.socket) -> None:
        self.ack = ack
        self.data = data

    @classmethod
    def connect(cls, port: int) -> Self:
        """Shake hands as the original's clients do."""
        with dial(port) as info:
            _, ack_port, data_port = read_line(info).split()
        ack = dial(int(ack_port))
        client = read_line(ack)
        data = dial(int(data_port))
        data.sendall(client + b"\n")
        if read_line(data) != b"ok":
            raise WrongDelivery("the handshake was refused")
        return cls(ack, data)

    def command(self, line: str) -> int:
        """One line's answer."""
        self.data.sendall(line.encode() + b"\n")
        return int(read_line(self.ack))

    def close(self) -> None:
        """Leave."""
        self.data.close()
        self.ack.close()


def dial(port: int) -> socket.socket:
    """A connection on this machine."""
    made = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def read_line(connection: socket.socket) -> bytes:
    """One line, and not a byte more."""
    line = b""
    while byte := connection.recv(1):
        if byte == b"\n":
            return line
        line += byte
    raise WrongDelivery(f"closed after {line!r}")


def pump(sender: Wire, sent: bytes, answers: bytes, receiver: Wire, delivered: bytes) -> float:
    """Send all and wait for all answers and deliveries; returns the seconds. Raises WrongDelivery where a byte is another."""
    wanted = {sender.ack: len(answers), receiver.data: len(delivered)}
    came: dict[socket.socket, list[bytes]] = {connection: [] for connection in wanted}
    waiting = {connection for connection, size in wanted.items() if size}
    rest = memoryview(sent)
    everybody = {sender.ack, sender.data, receiver.data}
    with selectors.DefaultSelector() as selector:
        for connection in everybody:
            connection.setblocking(False)
            events = (selectors.EVENT_READ if connection in waiting else 0) | (
                selectors.EVENT_WRITE if connection is sender.data else 0
            )
            if events:
                selector.register(connection, events)
        started = time.perf_counter()
        while waiting or rest:
            ready = selector.select(PATIENCE_S)
            if not ready:
                raise WrongDelivery(f"nothing came for {PATIENCE_S:.0f} s; still to come: {sorted(wanted.values())} bytes")
            for key, events in ready:
                assert isinstance(key.fileobj, socket.socket)
                connection = key.fileobj
                if events & selectors.EVENT_WRITE:
                    rest = rest[connection.send(rest[:READ_BYTES]) :]
                    if not rest:
                        if connection in waiting:
                            selector.modify(connection, selectors.EVENT_READ)
                        else:
                            selector.unregister(connection)
                if events & selectors.EVENT_READ:
                    received = connection.recv(READ_BYTES)
                    if not received:
                        raise WrongDelivery("the other side closed the connection")
                    came[connection].append(received)
                    wanted[connection] -= len(received)
                    if wanted[connection] <= 0:
                        waiting.discard(connection)
                        if connection is sender.data and rest:
                            selector.modify(connection, selectors.EVENT_WRITE)
                        else:
                            selector.unregister(connection)
        took = time.perf_counter() - started
    for connection in everybody:
        connection.settimeout(PATIENCE_S)
    if b"".join(came[sender.ack]) != answers:
        raise WrongDelivery("an answer is not the one expected")
    if b"".join(came[receiver.data]) != delivered:
        raise WrongDelivery("a delivery is not the one expected, or not in its place")
    return took


def round_trips(client: Wire, line: bytes, times: int) -> list[float]:
    """The seconds from a line to its answer, one after the other."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        client.data.sendall(line)
        client.ack.recv(16)
        took.append(time.perf_counter() - started)
    return took


def resident_bytes(pid: int) -> int:
    """The memory that a process has resident now (0 where the system does not tell)."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * 4096
