"""A door that serves certain networks, or whoever knows its secret."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pedro_doors import doors, until_served
from pedro_wire import WireClient, close_all, dial, read_line

import gsg
from pedro_compat import AsyncClient
from pedro_compat.client.client import State
from pedro_compat.door.access import MAX_FIRST_BYTES, Allowed, Gate, checked_secret, secret_line

SECRET = 'the "key" of Zoë \\ 17'


@pytest.fixture(autouse=True)
def _sockets_closed() -> Iterator[None]:
    yield
    close_all()


# --- who is allowed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("networks", "address", "admitted"),
    [
        ([], "203.0.113.9", True),
        ([], "", True),
        (["10.1.0.0/16"], "10.1.255.3", True),
        (["10.1.0.0/16"], "10.2.0.1", False),
        (["10.1.0.0/16", "192.0.2.7"], "192.0.2.7", True),
        (["10.1.0.0/16", "192.0.2.7"], "192.0.2.8", False),
        (["10.1.0.0/16"], "::ffff:10.1.2.3", True),
        (["2001:db8::/32"], "2001:db8::1", True),
        (["2001:db8::/32"], "10.1.2.3", False),
        (["10.1.0.0/16"], "", False),
    ],
)
def test_address_is_admitted_by_its_network(networks: list[str], address: str, admitted: bool) -> None:
    assert Allowed(networks).admits(address) is admitted


@pytest.mark.parametrize("network", ["10.1.0.0/33", "10.1.2.3/16", "home"])
def test_network_that_is_none_is_refused(network: str) -> None:
    with pytest.raises(gsg.LocalError, match=rf"'{network}' is no network; expected an address"):
        Allowed([network])


async def test_client_from_elsewhere_is_closed_at_the_info_socket_with_one_log_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with doors(1, allow=("10.1.0.0/16",)) as [(_, door)]:
        for _ in range(3):
            info = await dial(door.port)
            with pytest.raises(ConnectionError):
                await read_line(info)
        await until_served(door, 0)

    assert caplog.messages == ["connections from 127.0.0.1 are closed: clients are served from 10.1.0.0/16"]


async def test_client_from_elsewhere_that_knows_the_other_ports_is_closed_there() -> None:
    async with doors(1, allow=("10.1.0.0/16",)) as [(_, door)]:
        for port in door.ports:
            with pytest.raises(ConnectionError):
                await read_line(await dial(port))


async def test_client_of_an_allowed_network_is_served() -> None:
    async with doors(1, allow=("10.1.0.0/16", "127.0.0.0/8")) as [(_, door)]:
        assert await (await WireClient.connect(door.port)).send("f(1)") == 1


# --- the secret --------------------------------------------------------------------------------------------------------------


@given(st.text(min_size=1, max_size=40).filter(str.isprintable), st.text(max_size=40).filter(str.isprintable))
def test_secret_opens_and_anything_else_does_not(secret: str, other: str) -> None:
    line = secret_line(secret).encode()

    assert Gate(secret).feed(line + b"\nf(1)\n") == (True, b"f(1)\n")
    assert Gate(secret).feed(secret_line(other).encode() + b"\n") == (other == secret, b"")


@given(st.binary(max_size=200).filter(lambda line: b"\n" not in line))
def test_gate_survives_any_line(line: bytes) -> None:
    assert Gate("sesame").feed(line + b"\n") == (False, b"")


def test_gate_waits_for_the_end_of_the_line_up_to_its_limit() -> None:
    gate, flooded = Gate("sesame"), Gate("sesame")

    assert [gate.feed(b'register(secret("ses'), gate.feed(b'ame"))'), gate.feed(b"\nf(")] == [None, None, (True, b"f(")]
    assert flooded.feed(b"x" * MAX_FIRST_BYTES) is None
    assert flooded.feed(b"x") == (False, b"")


@pytest.mark.parametrize("secret", ["", "two\nlines", "x" * 257])
def test_secret_that_cannot_be_said_in_a_line_is_refused(secret: str) -> None:
    with pytest.raises(gsg.LocalError, match=rf"a secret of {len(secret)} characters, .*; expected 1 to 256"):
        checked_secret(secret)


async def test_client_that_says_the_secret_is_answered_1_and_goes_on_in_the_same_write() -> None:
    async with doors(1, secret=SECRET) as [(_, door)]:
        client = await WireClient.connect(door.port)

        answers = await client.send_raw(f"{secret_line(SECRET)}\nsubscribe(f(_), true, 5)\nf(1)\n".encode(), 3)

        assert (answers, client.delivered()) == ([1, 1, 1], ["5 f(1)"])


@pytest.mark.parametrize(
    "said",
    ["f(1)", 'register(secret("wrong"))', "register(secret(X))", 'secret("sesame")', "subscribe(_, true, 0)", "", "x" * 5_000],
    ids=lambda said: said[:20],
)
async def test_client_that_says_something_else_is_answered_0_and_cut_off(said: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with doors(1, secret="sesame") as [(_, door)]:
        client = await WireClient.connect(door.port)

        assert await client.send(said) == 0
        with pytest.raises((AssertionError, ConnectionError)):
            await client.send("f(1)")
        await until_served(door, 0)
    assert re.search(r"a pedro client at \('127\.0\.0\.1', \d+\) has not said the secret: closed", caplog.text)


async def test_client_that_says_no_secret_in_time_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pedro_compat.door.door.FIRST_LINE_S", 0.05)
    async with doors(1, secret="sesame") as [(_, door)]:
        await WireClient.connect(door.port)
        await until_served(door, 0)


async def test_secret_said_at_a_door_without_one_is_refused_and_told_to_nobody() -> None:
    async with doors(1) as [(_, door)]:
        listener = await WireClient.connect(door.port)
        await listener.send("subscribe(_, true, 0)")

        with pytest.raises(gsg.Refused, match="does not take this secret: it has another one, or asks for none"):
            async with AsyncClient(port=door.port, secret="sesame"):
                pass

        await listener.send("last")
        assert listener.delivered() == ["0 last"]


async def test_client_of_the_package_says_its_secret_again_when_it_reconnects() -> None:
    async with AsyncExitStack() as stack:
        [(_, door)] = await stack.enter_async_context(doors(1, secret=SECRET))
        client = await stack.enter_async_context(AsyncClient(port=door.port, secret=SECRET))
        await client.notify("f(1)")
        client._line.close()

        await client.notify("f(2)")

        assert (client.connections, client.state) == (2, State.CONNECTED)


async def test_client_of_the_package_with_another_secret_or_none_is_refused() -> None:
    async with doors(1, secret="sesame") as [(_, door)]:
        with pytest.raises(gsg.Refused, match="does not take this secret"):
            async with AsyncClient(port=door.port, secret="rice"):
                pass
        async with AsyncClient(port=door.port, reconnect_s=0) as client:
            with pytest.raises(gsg.Refused, match="or the door asks for a secret first"):
                await client.notify("f(1)")


async def test_log_names_the_client_that_does_not_say_the_secret(caplog: pytest.LogCaptureFixture) -> None:
    async with doors(1, secret=SECRET) as [(_, door)]:
        with pytest.raises(gsg.Refused):
            await AsyncClient(port=door.port, secret="rice").__aenter__()

    assert "a pedro client at ('127.0.0.1', " in caplog.text
