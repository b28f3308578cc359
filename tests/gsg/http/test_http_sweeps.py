"""Which connections of the HTTP door are ended: those that ask for nothing, do not read, or are in somebody's way."""

from __future__ import annotations

from random import Random

import pytest

from gsg.http.serving.connections import (
    CLOSE_SWEEPS,
    MAX_REFUSED,
    MAX_REFUSED_WITHOUT_HANDLES,
    STALL_SWEEPS,
    WAIT_SWEEPS,
    Connection,
    Connections,
)


class Socket:
    """A transport, and what became of it."""

    def __init__(self) -> None:
        self.unread = 0
        self.closing = False
        self.gone = False

    def abort(self) -> None:
        self.closing = self.gone = True

    def is_closing(self) -> bool:
        return self.closing

    def get_write_buffer_size(self) -> int:
        return self.unread


class Door:
    """Connections to a door, each with what it was told when it was ended."""

    def __init__(self, most: int = 10) -> None:
        self.cut_off: list[tuple[Connection, str]] = []
        self.all = Connections(lambda connection, died_of: self.cut_off.append((connection, died_of)), most=most)
        self.told: dict[Connection, tuple[int, str]] = {}

    def open(self, handles_beyond: int = 0) -> tuple[Connection, Socket]:
        socket = Socket()

        def end(status: int, reason: str) -> None:
            self.told[connection] = (status, reason)
            socket.closing = True

        connection = Connection(socket, end)
        self.all.open(connection, handles_beyond=handles_beyond, no_handles="no handles")
        return connection, socket

    def let_go(self, *connections: Connection) -> None:
        """What has been read to its end is gone."""
        for connection in connections:
            self.all.closed(connection)

    def sweep(self, times: int) -> None:
        for _ in range(times):
            self.all.sweep()


def test_a_connection_that_asks_for_nothing_is_closed_after_a_while() -> None:
    door = Door()
    silent, socket = door.open()
    asking, other = door.open()
    door.all.asked(asking)

    door.sweep(WAIT_SWEEPS)
    assert not socket.closing

    door.sweep(1)
    assert door.told == {silent: (408, "no request has come within 20 s; ask again")}
    assert not other.closing


def test_after_an_answer_there_is_as_much_time_for_the_next_request() -> None:
    door = Door()
    connection, socket = door.open()
    door.sweep(WAIT_SWEEPS - 1)
    door.all.asked(connection)
    door.sweep(3 * WAIT_SWEEPS)
    door.all.answered(connection)

    door.sweep(WAIT_SWEEPS)
    assert not socket.closing
    door.sweep(1)
    assert socket.closing


def test_a_client_that_takes_nothing_of_what_it_asked_for_is_cut_off() -> None:
    door = Door()
    connection, socket = door.open()
    door.all.asked(connection)
    socket.unread = 1_000

    door.sweep(STALL_SWEEPS)
    assert not socket.gone
    door.sweep(1)

    assert socket.gone
    assert door.cut_off == [(connection, "does not read what it has asked for")]


def test_a_client_that_reads_slowly_is_served() -> None:
    door = Door()
    connection, socket = door.open()
    door.all.asked(connection)
    for left in range(20, 0, -1):
        socket.unread = left
        door.sweep(STALL_SWEEPS)

    assert not socket.gone


@pytest.mark.parametrize("asks", [False, True])
def test_what_is_closed_and_does_not_end_is_cut_off(asks: bool) -> None:
    door = Door()
    connection, socket = door.open()
    if asks:
        door.all.asked(connection)
    socket.unread, socket.closing = 1_000, True

    door.sweep(CLOSE_SWEEPS)
    assert not socket.gone
    door.sweep(1)

    assert socket.gone
    assert door.cut_off == [(connection, "did not take what was left when it was closed")]


def test_a_newcomer_has_the_place_of_the_one_that_has_waited_for_the_longest() -> None:
    door = Door(most=3)
    first, second, _third = (door.open()[0] for _ in range(3))
    door.all.asked(first)

    newcomer, socket = door.open()

    assert door.told == {second: (503, "3 connections are served already; try again later")}
    assert not newcomer.refusal
    assert not socket.closing
    assert door.all.refused == 1


def test_where_all_are_served_newcomers_are_told_when_they_ask_and_beyond_at_once() -> None:
    door = Door(most=3)
    for _ in range(3):
        door.all.asked(door.open()[0])
    refused = [door.open() for _ in range(MAX_REFUSED)]
    late, socket = door.open()

    assert {connection.refusal for connection, _ in refused} == {"3 connections are served already; try again later"}
    assert not any(each.closing for _, each in refused)
    assert socket.closing
    assert door.told == {late: (503, "3 connections are served already; try again later")}


def test_where_handles_run_out_those_who_wait_give_up_theirs_and_are_told_why() -> None:
    door = Door()
    waiting = [door.open()[0] for _ in range(4)]

    newcomer, _ = door.open(handles_beyond=2)
    assert door.told == dict.fromkeys(waiting[:2], (503, "no handles"))
    assert not newcomer.refusal

    # Those are about to be gone, and count as handles no more.
    door.open(handles_beyond=3)
    assert door.told == dict.fromkeys(waiting[:3], (503, "no handles"))


def test_where_handles_run_out_and_all_are_served_few_are_kept_until_they_ask() -> None:
    door = Door()
    door.all.asked(door.open()[0])
    newcomers = [door.open(handles_beyond=beyond) for beyond in [1] * (MAX_REFUSED_WITHOUT_HANDLES + 1) + [2]]

    assert [connection.refusal for connection, _ in newcomers] == ["no handles"] * 4 + [""] * 2
    assert [socket.closing for _, socket in newcomers] == [False] * 4 + [True] * 2


def test_1000_rounds_of_clients_that_misbehave_leave_no_connection_behind() -> None:
    rng, door = Random(7), Door(most=20)
    sockets: dict[Connection, Socket] = {}
    for _ in range(1_000):
        for _ in range(rng.randrange(4)):
            connection, socket = door.open(handles_beyond=rng.choice((0, 0, 0, 1)))
            sockets[connection] = socket
            # It asks or does not, reads or does not, goes or stays.
            if rng.random() < 0.5 and not socket.closing:
                door.all.asked(connection)
                socket.unread = rng.choice((0, 1_000))
                if rng.random() < 0.5:
                    door.all.answered(connection)
        door.sweep(1)
        ended = [each for each, socket in sockets.items() if socket.gone or (socket.closing and not socket.unread)]
        door.let_go(*ended)
        for each in ended:
            del sockets[each]
        assert len(door.all) <= 20 + MAX_REFUSED + 3 * CLOSE_SWEEPS + 12
    for socket in sockets.values():
        socket.unread += 1_000

    door.sweep(STALL_SWEEPS + WAIT_SWEEPS + CLOSE_SWEEPS + 2)

    assert all(socket.gone for socket in sockets.values())
