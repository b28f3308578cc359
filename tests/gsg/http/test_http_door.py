"""The HTTP door and its client, over real sockets: all verbs, and mistakes that travel."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from collections import Counter

import pytest
from doors import ON, endpoint, read
from websockets.asyncio.client import connect

import gsg
import gsg.languages
from gsg import (
    AsyncClient,
    BadTerm,
    BadText,
    DoorClosed,
    LocalError,
    Peer,
    PeerUnreachable,
    Row,
    Sign,
    Unsupported,
)
from gsg.cli.subscribe import _subscribe
from gsg.feeds.staleness import ATTEMPTS
from gsg.http.door import HttpDoor
from gsg.http.failures import error_of, failed
from gsg.http.protocol import Failed

pytestmark = pytest.mark.waits


async def test_a_client_has_the_verbs_of_a_peer(client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x, on, ?y)")

    assert await client.insert([("a", ON, 1.5), ("b", ON, "c")]) == 2
    assert await client.insert([("a", ON, 1.5)]) == 0
    await client.notify([("e", ON, 2)])
    assert await client.retract([("b", ON, "c")]) == 1

    assert await read(subscription, 4) == ['+?x="a" ?y=1.5', '+?x="b" ?y="c"', '!?x="e" ?y=2', '-?x="b" ?y="c"']
    assert subscription.rows() == Counter({Row({"x": "a", "y": 1.5}): 1})


async def test_a_client_names_the_peers_that_may_read(client: AsyncClient) -> None:
    here, elsewhere = (await client.report()).peers[0].peer, bytes(20)
    subscription = await client.subscribe("(?x, on, ?y)")

    assert await client.insert([("a", ON, 1)], audience=[elsewhere]) == 1
    await client.notify([("a", ON, 2)], audience=[elsewhere.hex()])
    assert await client.insert([("a", ON, 3)], audience=[here.hex(), elsewhere]) == 1
    assert await client.retract([("a", ON, 3)]) == 0
    assert await client.retract([("a", ON, 3)], audience=[elsewhere, here]) == 1

    assert await read(subscription, 2) == ['+?x="a" ?y=3', '-?x="a" ?y=3']
    with pytest.raises(LocalError, match="'bob' in an audience is no peer id; expected 40 hexadecimal digits"):
        await client.insert([("a", ON, 1)], audience=["bob"])


async def test_a_program_without_our_client_names_readers_in_hexadecimal(door: HttpDoor, client: AsyncClient) -> None:
    here = (await client.report()).peers[0].peer.hex()
    requests = ([1, 1, [["a", [1, "on"], 1]], [here]], [1, 2, [["a", [1, "on"], 2]], ["bob"]], [1, 3, [["a", [1, "on"], 3]]])
    async with connect(endpoint(door)) as socket:
        answers = []
        for request in requests:
            await socket.send(json.dumps(request))
            answers.append(json.loads(await socket.recv()))

    assert [answer[:3] for answer in answers] == [[10, 1, 1], [11, 2, "LocalError"], [10, 3, 1]]
    assert (await client.subscribe("(?x, on, ?y)")).rows().total() == 2


async def test_the_loop_goes_on_while_the_first_query_of_a_language_waits_for_its_parser(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, built = asyncio.get_running_loop(), threading.Event()

    def build() -> None:
        # In the loop's own thread this would wait for itself.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(timeout=10)
        built.set()

    monkeypatch.setattr(gsg.languages, "_PREPARED", set())
    monkeypatch.setattr("gsg.languages.script.prepare", build)

    async with await client.subscribe("(?x, on, ?y)"), await client.subscribe("(?y, on, ?x)"):
        assert built.is_set()


async def test_rows_that_hold_come_first_and_whole(client: AsyncClient) -> None:
    await client.insert([(number, ON, "x") for number in range(2_500)])

    async with await client.subscribe("(?x, on, *)") as subscription:
        assert subscription.variables == ("x",)
        assert subscription.pending == subscription.rows().total() == 2_500


async def test_scripts_run_block_by_block(client: AsyncClient) -> None:
    first, second = await client.run(
        "INSERT { (a, 1) } SUBSCRIBE { (?x, 1) } DELETE { (a, 1) } NOTIFY { (b, 1) } SUBSCRIBE { (?x, *) }"
    )

    assert await read(first, 3) == ["+?x=a", "-?x=a", "!?x=b"]
    assert second.rows() == Counter()


async def test_subscriptions_of_two_clients_are_their_own(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x)")
    async with gsg.connect(door.url) as other:
        theirs = await other.subscribe("(?x)")
        await theirs.close()
        await client.insert([(1,)])
        assert theirs.pending == 0
    assert await read(subscription, 1) == ["+?x=1"]


async def test_a_callback_hears_of_differences_as_they_come(client: AsyncClient) -> None:
    heard: asyncio.Queue[tuple[Sign, Row]] = asyncio.Queue()
    await client.subscribe("(?x)", callback=lambda sign, row: heard.put_nowait((sign, row)))

    await client.insert([(1,)])

    assert await heard.get() == (Sign.PLUS, Row({"x": 1}))


async def test_a_mistake_in_a_query_travels_with_its_place(client: AsyncClient) -> None:
    with pytest.raises(BadText) as caught:
        await client.subscribe("(?x, on, ?y),\n  NTO { (?y, red) }")

    error = caught.value
    assert (error.line, error.column, error.source_line) == (2, 3, "  NTO { (?y, red) }")
    assert str(error).startswith("subscription line 2, column 3: ")
    assert str(error).endswith("\n      NTO { (?y, red) }\n      ^")


async def test_what_is_not_supported_travels_with_its_place(client: AsyncClient) -> None:
    with pytest.raises(Unsupported, match=r"^SERVICE is not supported: .* \(line 2, column 2\)$") as caught:
        await client.subscribe("SELECT * {\n SERVICE <s> { ?s ?p ?o } }", "sparql")

    assert (caught.value.line, caught.value.column, caught.value.source_line) == (2, 2, " SERVICE <s> { ?s ?p ?o } }")


@pytest.mark.parametrize(
    ("text", "language", "error", "problem"),
    [
        ("(?x)" + ", (?x)" * 200, "gsg", BadText, "a subscription of 201 tuples; expected at most 128"),
        ("(?x)", "prolog", Unsupported, "unknown language 'prolog'; known are: gsg"),
    ],
    ids=["too large", "unknown language"],
)
async def test_refusals_travel_as_their_kind(
    client: AsyncClient, text: str, language: str, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        await client.subscribe(text, language)


async def test_what_is_no_tuple_is_refused_before_it_is_sent(client: AsyncClient) -> None:
    with pytest.raises(BadTerm):
        await client.insert([("a",), (object(),)])
    with pytest.raises(BadText):
        await client.run("INSERT { (a) } INSERT { (?x) }")

    assert (await client.subscribe("(?x)")).rows() == Counter()


async def test_a_client_asks_who_holds_a_key_and_what_is_there(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert([("a", ON, 1), ("b", ON, 2)])

    (held,) = await client.keys([(3, 1, ON)], find=True)
    with pytest.raises(LocalError, match="17 keys asked about at once; expected at most 16"):
        await client.keys([(3, 1, ON)] * 17, find=True)

    assert held.facts == 2
    assert [each.id for each in held.holders] == [(await client.report()).peers[0].peer]


async def test_a_report_tells_how_peers_are(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert([("a", ON, "b")])

    report = (await client.report()).as_dict()

    assert [(peer["facts"], peer["entries"], peer["published"]) for peer in report["peers"]] == [(1, 3, 1)]
    assert [peer["share"] for peer in report["peers"]] == [1.0]


async def test_status_and_a_word_about_itself_are_plain_http(door: HttpDoor) -> None:
    def get(path: str) -> bytes:
        with urllib.request.urlopen(door.url + path) as answer:
            return bytes(answer.read())

    status = json.loads(await asyncio.to_thread(get, "/status"))
    about = await asyncio.to_thread(get, "/")

    assert [sorted(peer)[:4] for peer in status["peers"]] == [["address", "counts", "disk_bytes", "disk_free_bytes"]]
    assert b"/status" in about


async def test_a_subscription_ends_with_its_peer() -> None:
    async with Peer() as peer, HttpDoor(peer, port=0) as door, gsg.connect(door.url, reconnect=False) as client:
        subscription = await client.subscribe("(?x)")
        await door.__aexit__(None, None, None)

        with pytest.raises(PeerUnreachable, match=f"the peer at {door.url} has stopped"):
            await subscription.batch(1)
        with pytest.raises(PeerUnreachable, match="has stopped"):
            await client.insert([("a",)])
        await subscription.close()


async def test_what_is_under_way_for_too_long_when_the_door_closes_is_given_up_and_its_client_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gsg.http.door.CLOSE_S", 0.01)
    begun = asyncio.Event()

    async def insert_for_ever(*_: object, **__: object) -> int:
        begun.set()
        return await asyncio.get_running_loop().create_future()

    async with Peer() as peer, HttpDoor(peer, port=0) as door, gsg.connect(door.url, reconnect=False) as client:
        monkeypatch.setattr("gsg.publisher.caller.Caller.facts", insert_for_ever)
        inserting = asyncio.ensure_future(client.insert([("a",)]))
        await begun.wait()
        await door.__aexit__(None, None, None)

        with pytest.raises(PeerUnreachable, match="has stopped"):
            await inserting
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")]


async def test_a_client_that_is_closed_says_so(door: HttpDoor) -> None:
    async with gsg.connect(door.url) as client:
        subscription = await client.subscribe("(?x)")
    await client.close()

    assert await subscription.batch(1) == []
    with pytest.raises(DoorClosed, match="this client is closed"):
        await client.insert([("a",)])
    with pytest.raises(DoorClosed, match="this client is not connected; use it inside `async with"):
        await AsyncClient(door.url).insert([("a",)])


async def test_nobody_at_the_address_is_told_with_what_to_do(door: HttpDoor) -> None:
    url = door.url
    await door.__aexit__(None, None, None)

    with pytest.raises(PeerUnreachable) as caught:
        await AsyncClient(url).__aenter__()

    assert str(caught.value).startswith(f"no peer answers at {url}: ")
    assert str(caught.value).endswith("; start one with `gsg peer`, or name another with --peer URL or GSG_PEER")


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8470", "ftp://127.0.0.1", "http://", "", "http://127.0.0.1:99999", "http://a:b", "http://[::1"]
)
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(LocalError, match="is no address of a peer; expected one like http://127"):
        await AsyncClient(url).__aenter__()


def fail_all_feeds(door: HttpDoor) -> None:
    """As when none of the peer's feeds could be set up anew."""
    feeds, why = door._peer._parts.subscriber.feeds, gsg.Refused("no")
    for memory in feeds.memories.values():
        feeds.staleness.note_failure(memory, door._peer.contact, ATTEMPTS - 1, why)


async def test_a_client_is_told_that_rows_may_be_out_of_date_and_reads_on(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x, on, ?y)")
    fail_all_feeds(door)

    with pytest.raises(gsg.Stale, match=r"rows may be out of date: no feed of .* in 5 attempts: no; this peer tries on"):
        await asyncio.wait_for(subscription.batch(1), 10)
    await client.insert([("a", ON, 1)])
    assert await read(subscription, 1) == ['+?x="a" ?y=1']


async def test_the_command_says_that_rows_may_be_out_of_date_and_reads_on(
    door: HttpDoor, client: AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    command = asyncio.create_task(_subscribe("(?x, on, ?y)", None, "gsg", False, False, 1, None, "resync", True, door.url))
    while not (command.done() or list(door._peer._parts.subscriptions)):  # noqa: ASYNC110  # what it waits for comes from another task
        await asyncio.sleep(0)
    fail_all_feeds(door)
    await client.insert([("a", ON, 1)])

    await asyncio.wait_for(command, 10)

    said = capsys.readouterr()
    assert said.out == '+ ?x="a" ?y=1\n'
    assert said.err.startswith("gsg: rows may be out of date: ")


async def test_a_port_in_use_is_named(door: HttpDoor) -> None:
    with pytest.raises(DoorClosed) as caught:
        await HttpDoor(door._peer, port=door.port).__aenter__()

    assert str(caught.value) == (
        f"the HTTP door cannot listen on 127.0.0.1:{door.port}: address already in use; "
        "stop the program that holds it or choose another port with --http"
    )


ERRORS = [
    BadText("unknown clause", line=3, column=2, source_line="FIL", what="subscription"),
    gsg.Overrun("2 events were dropped", lost=2),
    BadTerm("no term"),
    PeerUnreachable("nobody"),
    gsg.Refused("no"),
    gsg.Stale("rows may be out of date"),
    gsg.Refused("not now", again_s=2.5),
    DoorClosed("closed"),
    Unsupported("unknown language"),
    Unsupported("LOAD is not supported (line 1, column 3)", line=1, column=3, source_line="  LOAD <x>"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_arrives_as_it_was(error: gsg.GsgError) -> None:
    arrived = error_of(failed(1, error))

    assert (type(arrived), str(arrived), vars(arrived)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize(
    ("said_s", "again_s"), [(2.5, 2.5), (0.0, None), (-1.0, None), (float("nan"), None), (float("inf"), None), (1e9, None)]
)
def test_nobody_waits_for_what_cannot_be_a_time(said_s: float, again_s: float | None) -> None:
    arrived = error_of(Failed(1, "Refused", "over quota", again_s=said_s))

    assert isinstance(arrived, gsg.Refused)
    assert arrived.again_s == again_s


@pytest.mark.parametrize("kind", ["NewKind", "Exception", "annotations", "__name__"])
def test_an_error_of_a_kind_that_is_not_known_is_the_peers(kind: str) -> None:
    arrived = error_of(Failed(1, kind, "what happened"))

    assert (type(arrived), str(arrived)) == (gsg.RemoteError, f"{kind}: what happened")


def test_a_door_on_ipv6_is_written_as_urls_are() -> None:
    assert HttpDoor(Peer(), "::1", 80).url == "http://[::1]:80"
