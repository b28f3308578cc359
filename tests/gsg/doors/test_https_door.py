"""The HTTP door over TLS: clients that trust it are served, and those that do not, or say something else, cost nobody anything."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator

import pytest
from certified import Files, authority, now
from websockets.asyncio.client import connect as websocket

import gsg
import gsg.doors.handshakes
from gsg import LocalError, Peer, PeerUnreachable
from gsg.doors.tls import client_context
from gsg.http.door import HttpDoor

pytestmark = pytest.mark.waits


@pytest.fixture
async def door(files: Files) -> AsyncIterator[HttpDoor]:
    """A door of HTTPS for whoever trusts the CA."""
    async with Peer() as peer, HttpDoor(peer, port=0, tls=files.server()) as made:
        yield made


def handshakes_failed(door: HttpDoor) -> int:
    """What the door counts."""
    return next(count.count for count in door._counted() if count.name == "http_handshakes_failed")


async def still_serves(door: HttpDoor, tls: ssl.SSLContext) -> None:
    """Another client gets what it asks for."""
    async with gsg.connect(door.url, tls=tls) as other:
        assert await other.insert([("still", "here")]) == 1
        assert await other.retract([("still", "here")]) == 1


async def test_a_client_publishes_and_subscribes_by_https(door: HttpDoor, files: Files) -> None:
    async with gsg.connect(door.url, tls=files.client()) as client:
        subscription = await client.subscribe("(?what, ^on, ?where)")
        await client.insert([("lamp", gsg.Symbol("on"), "desk")])

        sign, row = await anext(subscription)

    assert door.url == f"https://127.0.0.1:{door.port}"
    assert f"{sign}{row}" == '+?what="lamp" ?where="desk"'


async def test_a_client_without_async_asks_by_https(door: HttpDoor, files: Files) -> None:
    def ask() -> int:
        with gsg.Client(door.url, tls=files.client()) as client:
            return client.insert([("a", "b")])

    assert await asyncio.to_thread(ask) == 1


async def test_a_large_answer_comes_whole(door: HttpDoor, files: Files) -> None:
    async with gsg.connect(door.url, tls=files.client()) as client:
        await client.insert([(str(number), "x" * 1_000) for number in range(2_000)])
        async with await client.subscribe("(?x, ?y)") as subscription:
            rows = await subscription.batch(2_000)

    assert len(rows) == 2_000


async def test_a_page_reaches_the_websocket_by_wss(door: HttpDoor, files: Files) -> None:
    where = f"{door.host}:{door.port}"

    async with websocket(f"wss://{where}/v1", ssl=files.client(), origin=f"https://{where}", proxy=None) as socket:  # type: ignore[arg-type]  # a text
        pong = await socket.ping()
        await pong


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
async def test_curl_asks_by_https(door: HttpDoor, files: Files) -> None:
    curl = await asyncio.create_subprocess_exec(
        "curl", "-sS", "--noproxy", "*", "--cacert", str(files.ca), f"{door.url}/livez", stdout=asyncio.subprocess.PIPE
    )
    said, _ = await curl.communicate()

    assert (curl.returncode, said.strip()) == (0, b"ok")


async def test_a_certificate_that_is_not_trusted_is_said_with_what_to_do(door: HttpDoor, files: Files) -> None:
    with pytest.raises(
        PeerUnreachable, match=r"is not trusted: .* name the file of the CA that has signed it with --ca FILE or GSG_CA"
    ):
        await gsg.AsyncClient(door.url).__aenter__()

    await still_serves(door, files.client())


async def test_a_certificate_of_another_ca_is_not_trusted(door: HttpDoor, files: Files) -> None:
    other = Files.at(files.folder / "other", 1)

    with pytest.raises(PeerUnreachable, match="is not trusted"):
        await gsg.AsyncClient(door.url, tls=other.client()).__aenter__()


async def test_a_certificate_for_another_name_is_not_taken(files: Files) -> None:
    async with Peer() as peer, HttpDoor(peer, port=0, tls=files.server("gsg.example.org")) as door:
        with pytest.raises(PeerUnreachable, match="call it by a name that its certificate has"):
            await gsg.AsyncClient(door.url, tls=files.client()).__aenter__()


async def test_plain_text_at_the_port_of_tls_is_refused_and_counted(
    door: HttpDoor, files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(PeerUnreachable, match="a door that speaks TLS is named by a URL that begins with https://"):
        await gsg.AsyncClient(door.url.replace("https", "http")).__aenter__()

    assert handshakes_failed(door) == 1
    assert "it speaks HTTP in plain text" in caplog.text
    await still_serves(door, files.client())


async def test_a_client_of_tls_is_told_that_a_door_is_plain(files: Files) -> None:
    async with Peer() as peer, HttpDoor(peer, port=0) as door:
        with pytest.raises(PeerUnreachable, match="speaks no TLS"):
            await gsg.AsyncClient(door.url.replace("http", "https"), tls=files.client()).__aenter__()


async def test_whoever_connects_and_says_nothing_keeps_nobody_waiting(
    files: Files, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gsg.doors.handshakes, "HANDSHAKE_S", 0.5)
    async with Peer() as peer, HttpDoor(peer, port=0, tls=files.server()) as door:
        reader, writer = await asyncio.open_connection(door.host, door.port)
        await still_serves(door, files.client())

        assert await reader.read() == b""  # it is closed when its time is over
        writer.close()
        assert handshakes_failed(door) == 1
    assert "it was not over within 0.5 s" in caplog.text


async def test_one_more_handshake_has_the_place_of_the_oldest(files: Files) -> None:
    async with Peer() as peer, HttpDoor(peer, port=0, tls=files.server()) as door:
        door._handshakes._most = 2  # type: ignore[union-attr]  # it has some
        silent = [await asyncio.open_connection(door.host, door.port) for _ in range(3)]

        assert await _until_closed(silent[0][0])
        assert not silent[2][0].at_eof()
        await still_serves(door, files.client())
        for _, writer in silent:
            writer.close()


async def _until_closed(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


async def test_a_door_with_silent_connections_closes(files: Files) -> None:
    async with Peer() as peer, HttpDoor(peer, port=0, tls=files.server()) as door:
        reader, writer = await asyncio.open_connection(door.host, door.port)
        await still_serves(door, files.client())

    assert await _until_closed(reader)
    writer.close()


async def test_clients_without_a_certificate_are_not_served_where_one_is_asked_for(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    async with Peer() as peer, HttpDoor(peer, port=0, tls=files.server(client_ca=files.ca)) as door:
        with pytest.raises(PeerUnreachable, match="give one with --cert FILE and --key FILE"):
            await gsg.AsyncClient(door.url, tls=files.client()).__aenter__()
        other = Files.at(files.folder / "other", 1)
        stranger = client_context(files.ca, *other.write("mallory", authority(1).sign_client("mallory", days=1, now=now())))
        with pytest.raises(PeerUnreachable):
            await gsg.AsyncClient(door.url, tls=stranger).__aenter__()

        await still_serves(door, files.client("alice"))
        assert handshakes_failed(door) == 2
    assert "it shows no certificate, and the door asks for one" in caplog.text
    assert "its certificate is not trusted" in caplog.text


async def test_the_certificate_of_a_door_is_none_of_a_client(files: Files) -> None:
    tls = files.server(client_ca=files.ca)
    async with Peer() as peer, HttpDoor(peer, port=0, tls=tls) as door:
        with pytest.raises(PeerUnreachable):
            await gsg.AsyncClient(door.url, tls=client_context(files.ca, tls.certificate, tls.key)).__aenter__()


async def test_a_page_in_plain_text_is_none_of_a_door_of_tls(door: HttpDoor, files: Files) -> None:
    where = f"{door.host}:{door.port}"

    reader, writer = await asyncio.open_connection(door.host, door.port, ssl=files.client())
    writer.write(f"GET /livez HTTP/1.1\r\nHost: {where}\r\nOrigin: http://{where}\r\n\r\n".encode())

    assert (await reader.readline()).startswith(b"HTTP/1.1 403")
    writer.close()


async def test_versions_before_1_2_are_refused(door: HttpDoor, files: Files) -> None:
    old = files.client()
    old.set_ciphers("DEFAULT@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1

    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection(door.host, door.port, ssl=old)


async def test_a_door_warns_of_plain_text_where_it_is_plain(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    async with Peer() as peer:
        async with HttpDoor(peer, "0.0.0.0", 0, open_to_all=True):
            plain = caplog.text
        caplog.clear()
        async with HttpDoor(peer, "0.0.0.0", 0, tls=files.server(), open_to_all=True):
            secret = caplog.text
        caplog.clear()
        async with HttpDoor(peer, "0.0.0.0", 0, tls=files.server(client_ca=files.ca)):
            known = caplog.text

    assert "without a token and in plain text" in plain
    assert "without a token, all that" in secret
    assert "whoever reaches it" not in known


async def test_files_that_hold_no_certificate_are_refused_before_a_door_stands(files: Files) -> None:
    tls = files.server()
    tls.key.unlink()

    async with Peer() as peer:
        with pytest.raises(LocalError, match="is not there"):
            HttpDoor(peer, port=0, tls=tls)


async def test_a_renewed_certificate_is_shown_to_whoever_connects_next(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.doors.renewal.LOOK_S", 0.0)
    async with (
        Peer() as peer,
        HttpDoor(peer, port=0, tls=files.server()) as door,
        gsg.connect(door.url, tls=files.client()) as before,
    ):
        files.server(number=1)
        other = Files.at(files.folder / "other", 1)

        await still_serves(door, other.client())
        with pytest.raises(PeerUnreachable, match="is not trusted"):
            await gsg.AsyncClient(door.url, tls=files.client()).__aenter__()
        assert await before.insert([("still", "connected")]) == 1
