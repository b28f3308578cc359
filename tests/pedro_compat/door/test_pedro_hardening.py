"""What kills, hangs or corrupts the original (facts, section 9), and worse: the door answers, and others do not notice.

That others are served meanwhile is counted, not timed: a line of theirs is answered before what was sent earlier is done with.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from pedro_doors import doors, until_served
from pedro_wire import WireClient, close_all, dial, read_line

from dht.links.handles import Handles
from pedro_compat import PAPER, V1_14
from pedro_compat.door.door import PedroDoor

DIALECTS = pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=["paper", "1.14"])


@pytest.fixture(autouse=True)
def _sockets_closed() -> Iterator[None]:
    yield
    close_all()


@pytest.fixture(autouse=True)
def _no_exception_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.WARNING)
    yield
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


@asynccontextmanager
async def watched_door(**options: Any) -> AsyncIterator[tuple[PedroDoor, WireClient]]:
    """A door, and a client that is served before and after."""
    async with doors(1, **options) as [(peer, door)]:
        witness = await WireClient.connect(door.port)
        assert await witness.send("subscribe(witness(_), true, 1)") == 1
        yield door, witness
        await is_served(witness, "after")
        assert peer._parts.rendezvous.conditions.tests.failed == 0


async def is_served(witness: WireClient, when: str) -> None:
    """A line of the witness is answered, and delivered to it."""
    assert await witness.send(f"witness({when})") == 1
    assert witness.delivered() == [f"1 witness({when})"]


LONG = "x" * 900
ATOMS_170 = ",".join(f"a{number}" for number in range(170))
INTS_204 = ",".join(["7"] * 204)
ATOMS_300 = ",".join(f"b{number}"[:3] for number in range(240))

CRASHES = [
    # number in section 9, lines of a subscriber with their answers, lines of a publisher, what is delivered
    ("9.1-not-then-fail", [("subscribe(c(X),(not(X = 5), X > 10),0)", 1)], ["c(3)", "c(5)", "c(11)"], ["0 c(11)"]),
    ("9.2-not-member", [("subscribe(c(X),not(member(X,[1,2])),0)", 1)], ["c(1)", "c(3)"], ["0 c(3)"]),
    ("9.2-two-members", [("subscribe(c(X),(member(Y,[1,2]),member(Z,[3,4]),X = 9),0)", 1)], ["c(1)", "c(9)"], ["0 c(9)"]),
    ("9.3-if-in-or", [("subscribe(c(X),((X > 5 -> X > 6 ; X > 7) ; X > 8),0)", 1)], ["c(0)", "c(6)", "c(7)"], ["0 c(7)"]),
    ("9.4-170-atoms", [("subscribe(f(L),list(L),0)", 1)], [f"f([{ATOMS_170}])"], [f"0 f([{ATOMS_170}])"]),
    ("9.4-204-integers", [("subscribe(f(L),list(L),0)", 1)], [f"f([{INTS_204}])"], [f"0 f([{INTS_204}])"]),
    (
        "9.5-hundreds-of-atoms",
        [(f"subscribe(f(X),member(X,[{ATOMS_300}]),0)", 1), ("subscribe(g,true,0)", 2)],
        ["f(b17)", "f(c)", "g"],
        ["0 f(b17)", "0 g"],
    ),
    (
        "9.6-if-unsubscribed",
        [
            ("subscribe(c(X),(X > 1 -> X > 2 ; X < 0),0)", 1),
            ("unsubscribe(1)", 1),
            ("subscribe(c(new1,X),(X = new2 -> true ; X = new3),0)", 2),
            ("subscribe(c(new4,X),(X = new5 -> true ; X = new6),0)", 3),
        ],
        ["c(5)", "c(new1,new3)", "c(new4,new5)", "c(new1,new9)"],
        ["0 c(new1,new3)", "0 c(new4,new5)"],
    ),
    (
        "9.7-smallest-integer",
        [("subscribe(e(X),(Y is (X-1)//(-1), Z is (X-1) mod (-1), Y > 0, Z = 0),0)", 1)],
        ["e(-9223372036854775807)"],
        ["0 e(-9223372036854775807)"],
    ),
    ("9.9-compound-rock", [("subscribe(f(_),true,rock(1))", 0), ("subscribe(f(_),true,X)", 0)], ["f(1)"], []),
    (
        "9.11-two-nested-splitstrings",
        [('subscribe(s(S),(splitstring(S,_,A),splitstring(A,"y",_)),0)', 1)],
        [f's("{LONG}")', f's("{LONG}y")'],
        [f'0 s("{LONG}y")'],
    ),
]


@DIALECTS
@pytest.mark.parametrize(
    ("subscriptions", "notifications", "delivered"), [case[1:] for case in CRASHES], ids=[case[0] for case in CRASHES]
)
async def test_what_crashes_the_original_is_carried_out(
    dialect: object, subscriptions: list[tuple[str, int]], notifications: list[str], delivered: list[str]
) -> None:
    async with watched_door(dialect=dialect) as (door, _):
        subscriber, publisher = await WireClient.connect(door.port), await WireClient.connect(door.port)

        answers = [(line, await subscriber.send(line)) for line, _ in subscriptions]
        acks = [await publisher.send(line) for line in notifications]

        assert answers == subscriptions
        assert acks == [1] * len(notifications)
        assert subscriber.delivered() == delivered


@DIALECTS
async def test_1000_atoms_are_a_notification_where_lines_may_be_so_long_as_in_9_4(dialect: object) -> None:
    line = f"f([{','.join(f'a{number}' for number in range(1_000))}])"
    async with watched_door(dialect=dialect, size=16_384) as (door, _):
        client = await WireClient.connect(door.port)
        await client.send("subscribe(f(L),member(a999,L),0)")

        assert (await client.send(line), client.delivered()) == (1, [f"0 {line}"])


async def test_client_that_closes_its_ack_socket_and_goes_on_sending_is_gone_as_in_9_8() -> None:
    async with watched_door() as (door, _):
        client = await WireClient.connect(door.port)
        await client.send("register(fred)")

        client._ack.close()
        with pytest.raises(ConnectionError):
            await asyncio.get_running_loop().sock_sendall(client.data, b"f(1)\n" * 10_000_000)
        await until_served(door, 1)

        assert await (await WireClient.connect(door.port)).send("register(fred)") == 1


async def test_admin_that_disconnects_takes_nothing_with_it_as_in_9_10() -> None:
    async with watched_door(admin_host="127.0.0.1") as (door, witness):
        admin = await WireClient.connect(door.port)
        await admin.send("register(admin)")

        admin.close()
        await is_served(witness, "before_it_is_noticed")
        await until_served(door, 1)


@pytest.mark.parametrize("which", [0, 1], ids=["ack", "data"])
async def test_client_that_resets_in_the_middle_of_its_handshake_is_forgotten_as_in_9_12(which: int) -> None:
    async with watched_door() as (door, _):
        for _ in range(20):
            connection = await dial(door.ports[which])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        await until_served(door, 1)


# --- lines -------------------------------------------------------------------------------------------------------------------


def nested(opening: str, middle: str, closing: str, depth: int) -> str:
    """A term so deep."""
    return opening * depth + middle + closing * depth


DEEP = 1_200
"""Four tokens for each level fit into a line (syntax.MAX_TOKENS); Python's own stack is 1,000 levels deep."""


@DIALECTS
@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (nested("f(", "a", ")", DEEP), 1),
        (f"f({nested('[', 'a', ']', DEEP)})", 1),
        (f"f({nested('[a|', '[]', ']', DEEP)})", 1),
        (f"f({nested('(', 'a', ')', DEEP)})", 1),
        (nested("- (", "a", ")", DEEP), 1),
        (f"f({nested('', '1', '', 0)}{'+1' * DEEP})", 1),
        ("a" + ",a" * DEEP, 1),
        (nested("f(", "a", ")", 10 * DEEP), 0),
        (f"f({nested('[', 'a', ']', 10 * DEEP)})", 0),
        ("a" + ",a" * 100_000, 0),
        (f'f("{"x" * 1_000_000}")', 1),
        ("f(" * DEEP, 0),
        ("[" * DEEP, 0),
        ("'" * DEEP, 0),
        (f"subscribe({nested('f(', 'X', ')', DEEP)}, X > 1, 0)", 1),
        (f"subscribe(f(X), X = {nested('f(', 'Y', ')', DEEP)}, 0)", 1),
        (f"subscribe(f(X), {nested('not(', 'X > 1', ')', DEEP)}, 0)", None),
        (f"subscribe(f(X), {nested('(true, ', 'X > 1', ')', DEEP)}, 0)", None),
        (f"subscribe(f(X), {nested('(fail ; ', 'X > 1', ')', DEEP)}, 0)", None),
        (f"subscribe(f(X), X > 1, {nested('f(', '1', ')', DEEP)})", 0),
        (f"register({nested('f(', 'a', ')', DEEP)})", 0),
        (f"p2pmsg({nested('f(', 'a', ')', DEEP)}, a@b, m)", 0),
    ],
    ids=lambda value: value[:16].replace("/", "") if isinstance(value, str) else "",
)
async def test_deep_nesting_is_answered(dialect: object, line: str, answer: int | None) -> None:
    async with watched_door(dialect=dialect, size=1024 * 1024) as (door, _):
        subscriber, client = await WireClient.connect(door.port), await WireClient.connect(door.port)
        await subscriber.send("subscribe(f(_), true, 0)")
        await subscriber.send("subscribe(_, true, 0)")

        answered = await client.send(line)
        again = await client.send(line)

        assert answer is None or (bool(answered), bool(again)) == (bool(answer), bool(answer))


@DIALECTS
async def test_deep_notification_meets_a_deep_subscription(dialect: object) -> None:
    async with watched_door(dialect=dialect, size=1024 * 1024) as (door, _):
        client = await WireClient.connect(door.port)
        deep = nested("f(", "{}", ")", DEEP)
        await client.send(f"subscribe({deep.format('X')}, X = a, 7)")

        await client.send(deep.format("a"))
        await client.send(deep.format("b"))

        assert (await client.next_delivery()) == f"7 {deep.format('a')}"
        assert client.delivered() == []


@pytest.mark.parametrize("end", [b"\n", b""], ids=["with-its-newline", "unfinished"])
async def test_line_of_10_megabytes_is_answered_0_and_others_are_served_meanwhile(end: bytes) -> None:
    async with watched_door() as (door, witness):
        client = await WireClient.connect(door.port)
        part = b"f(" * (512 * 1024)

        for number in range(10):
            await asyncio.get_running_loop().sock_sendall(client.data, part)
            await is_served(witness, f"after_part_{number}")
        answers = await client.send_raw(end, 1)

        assert answers == [0]
        if end:
            assert await client.send("f(1)") == 1


@pytest.mark.parametrize(
    ("data", "answers"),
    [
        (b"f(1)\0g(2)\nh(3)\n", [0, 1]),
        (b"\0\n", [0]),
        (b"f('\xff')\nf(1)\n", [0, 1]),
        (b"f('\xc3')\n\xa9\n", [0, 0]),
        (b"f('\xed\xa0\x80')\n", [0]),
        (b"f('\xf4\x90\x80\x80')\n", [0]),
        (b"f('\xc0\xaf')\n", [0]),
        ("f('\u2028\u0085\ufeff')\n".encode(), [1]),
        (b"\r\n\r\nf(1)\r\nf(1)\n", [0, 0, 0, 1]),
        (b"f(\x1b[2J)\n", [0]),
    ],
    ids=["nul", "nul-alone", "ff", "half-a-character", "surrogate", "beyond-unicode", "overlong", "odd-blanks", "cr", "escape"],
)
async def test_bytes_that_are_no_text_are_answered_0_line_by_line(data: bytes, answers: list[int]) -> None:
    async with watched_door() as (door, _):
        assert await (await WireClient.connect(door.port)).send_raw(data, len(answers)) == answers


# --- connections -------------------------------------------------------------------------------------------------------------


async def test_1000_half_open_handshakes_keep_nobody_out_and_are_given_up() -> None:
    async with watched_door() as (door, witness):
        half = [await dial(door.ports[number % 2]) for number in range(1_000)]

        newcomer = await WireClient.connect(door.port)
        assert await newcomer.send("f(1)") == 1
        await is_served(witness, "beside_them")

        waiting_for_data = half[::2]
        for connection in waiting_for_data:
            await read_line(connection)
        assert [await asyncio.get_running_loop().sock_recv(connection, 1) for connection in waiting_for_data] == [b""] * 500
        assert door.half_open == {}
        for connection in half:
            connection.close()


async def send_until_nothing_is_taken(client: WireClient, line: bytes) -> int:
    """Send lines until the door takes no more; how many bytes were sent."""
    data, sent, refused = line * 2_000, 0, 0
    while refused < 200:
        try:
            sent += client.data.send(data[sent % len(data) :])
            refused = 0
        except BlockingIOError:
            refused += 1
        await asyncio.sleep(0)
    return sent


def with_small_buffers(door: PedroDoor) -> None:
    """Let the system keep little between the door and its clients, so that a test needs not fill megabytes."""
    for connected in door._sockets:
        keep_little(connected.transport.get_extra_info("socket"))


def keep_little(connection: Any) -> None:
    """For a socket, or a transport's."""
    for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        connection.setsockopt(socket.SOL_SOCKET, buffer, 4_096)


async def test_client_that_never_reads_its_answers_is_not_read_from_and_gets_them_all_when_it_does() -> None:
    async with watched_door() as (door, witness):
        client = await WireClient.connect(door.port)
        keep_little(client._ack)
        keep_little(client.data)
        with_small_buffers(door)

        whole, begun = divmod(await send_until_nothing_is_taken(client, b"f(1)\n"), 5)
        await is_served(witness, "meanwhile")

        assert await client.send_raw(b"", whole) == [1] * whole
        assert await client.send_raw(b"f(1)\n"[begun:], 1) == [1]


async def test_client_that_leaves_without_reading_its_answers_keeps_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dht.links.closing.CLOSE_S", 0.01)
    async with watched_door() as (door, _):
        before = len(door._sockets)
        client = await WireClient.connect(door.port)
        keep_little(client._ack)
        keep_little(client.data)
        with_small_buffers(door)
        await send_until_nothing_is_taken(client, b"f(1)\n")

        client.data.close()
        async with asyncio.timeout(10):
            while len(door._sockets) > before:  # noqa: ASYNC110  # the door has no business telling tests
                await asyncio.sleep(0)


@pytest.mark.parametrize("which", [0, 1, 2], ids=["info", "ack", "data"])
async def test_form_of_a_web_page_says_nothing_to_a_door(which: int) -> None:
    async with watched_door() as (door, witness):
        connection = await dial((door.port, *door.ports)[which])
        form = (
            b"POST /x HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 40\r\n\r\n\nwitness(page)\nregister(page)\nwitness(page)\n"
        )
        await asyncio.get_running_loop().sock_sendall(connection, form)
        answer = b""
        with suppress(ConnectionResetError):
            while some := await asyncio.get_running_loop().sock_recv(connection, 1_000):
                answer += some

        assert answer.count(b"\n") <= 1
        if which == 2:
            assert answer in (b"failed\n", b"")
        assert witness.delivered() == []


async def test_newcomers_are_refused_before_the_last_file_handle_is_taken(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with watched_door() as (door, _):
        monkeypatch.setattr("pedro_compat.door.door.HANDLES", Handles(lambda: 100, lambda: 90))
        connection = await dial(door.port)
        with suppress(ConnectionResetError):
            assert await asyncio.get_running_loop().sock_recv(connection, 100) == b""
        await until_served(door, 1)

        assert door.counts.connections_refused == 1
        assert "a connection from 127.0.0.1 is refused: this peer has hardly any file handles left (it may have 100)" in caplog.text


@pytest.mark.parametrize(
    ("options", "is_open"),
    [({}, True), ({"allow": [["10.0.0.0/8"]]}, False), ({"secret": "s" * 20}, False), ({"host": "127.0.0.1"}, False)],
    ids=["everybody", "networks", "secret", "loopback"],
)
async def test_door_that_is_open_to_strangers_says_so(
    options: dict[str, Any], is_open: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with doors(1, **({"host": "0.0.0.0"} | options)) as [(_, door)]:
        said = f"the pedro door at 0.0.0.0:{door.port} serves whoever reaches it, without a secret" in caplog.text

    assert said is is_open


async def test_client_that_never_reads_its_deliveries_is_cut_off_and_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pedro_compat.door.deliveries.SLOW_BYTES", 64 * 1024)
    monkeypatch.setattr("pedro_compat.door.deliveries.SLOW_S", 0.05)
    async with watched_door() as (door, witness):
        slow, reading, publisher = [await WireClient.connect(door.port) for _ in range(3)]
        await slow.send("register(slow)")
        keep_little(slow.data)
        for client in (slow, reading):
            await client.send("subscribe(f(_), true, 0)")
        with_small_buffers(door)

        heard = 0
        for part in range(20):
            said = b"".join(b"f(%d)\n" % number for number in range(part * 1_000, part * 1_000 + 1_000))
            assert await publisher.send_raw(said, 1_000) == [1] * 1_000
            heard += len(reading.delivered())
        await is_served(witness, "meanwhile")
        await until_served(door, 3)

        while heard < 20_000:
            await reading.next_delivery()
            heard += 1
        assert await publisher.send("register(slow)") == 1


async def overtaken(flood: bytes, client: WireClient, witness: WireClient) -> int:
    """How many answers a flood of lines still waits for when five lines of another client have been answered."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client.data, flood)
    for number in range(5):
        await is_served(witness, f"beside_it_{number}")
    answered = 0
    while True:
        try:
            answered += client._ack.recv(65_536, socket.MSG_DONTWAIT).count(b"\n")
        except BlockingIOError:
            break
    left = flood.count(b"\n") - answered
    await client.send_raw(b"", left)
    return left


ITEMS = ",".join(["a"] * 60)
COSTLY = [
    f"subscribe(f(_), (member(A,[{ITEMS}]), member(B,[{ITEMS}]), member(C,[{ITEMS}]), A = b), 0)",
    'subscribe(f(S), (splitstring(S,A,B), splitstring(S,C,D), splitstring(S,E,F), A = "y"), 0)',
    "subscribe(f(_), (member(A,[1,2,3,4,5,6,7,8,9]), member(B,[1,2,3,4,5,6,7,8,9]), X is 9 ** 4000 mod 7 ** 3000, X < 0), 0)",
    f"subscribe(f(_), ({', '.join(f'X{n} = g(X{n + 1},X{n + 1}), Y{n} = g(Y{n + 1},Y{n + 1})' for n in range(18))}, X0 = Y0), 0)",
]


@DIALECTS
async def test_costly_goals_stall_nobody_however_many_notifications_meet_them(dialect: object) -> None:
    async with watched_door(dialect=dialect) as (door, witness):
        hostile, client = await WireClient.connect(door.port), await WireClient.connect(door.port)
        assert [await hostile.send(line) for line in COSTLY] == [1, 2, 3, 4]

        left = await overtaken(f'f("{LONG[:60]}")\n'.encode() * 20, client, witness)

        # Each line costs some tenths of a second, which its client waits for, and nobody else.
        assert left > 0
        assert hostile.delivered() == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("subscribe(f(X,{}), (X > 1, member(X,[1,2,3])), 0)", 1_000),
        (nested("f(", "a", ")", 300) + "{}", 1_000),
        ("p2pmsg(nobody{}@localhost, fred@localhost, m)", 40_000),
        ("f(g({}))", 40_000),
    ],
    ids=["subscriptions", "bad-lines", "messages", "notifications"],
)
async def test_flood_of_lines_is_overtaken_by_others(line: str, count: int) -> None:
    async with watched_door() as (door, witness):
        client = await WireClient.connect(door.port)
        await client.send("register(fred)")
        flood = b"".join(line.replace("{}", str(number)).encode() + b"\n" for number in range(count))

        assert await overtaken(flood, client, witness) > 0
