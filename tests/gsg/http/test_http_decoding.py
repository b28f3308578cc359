"""From a client's bytes to requests: whatever they are, they make a request or an answer that says why they make none."""

from __future__ import annotations

import copy
import json
import math
from random import Random

import msgspec
import pytest
from doors import endpoint, reply
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect as websocket

import gsg
from gsg import AsyncClient
from gsg.http.door import HttpDoor
from gsg.http.protocol import Dropped, Ended, OutOfDate, Rows, Subscribed, UpToDate
from gsg.http.websocket.decoding import NotARequest, decode

pack = msgspec.msgpack.encode


@pytest.mark.parametrize(
    ("message", "number", "problem"),
    [
        pytest.param("[1, 7, [[null]]]", 7, "got `null` - at `$[2][0][0]`", id="a term that is none"),
        pytest.param("[1, 7, 5]", 7, "Expected `array`, got `int` - at `$[2]`", id="no tuples"),
        pytest.param("[4, 7]", 7, "Expected `array` of at least length 3, got 2", id="a field is missing"),
        pytest.param('[1, 7, [["a", ', 7, "Input data was truncated", id="half of JSON"),
        pytest.param("[99, 7]", 7, "Invalid value 99 - at `$[0]`", id="a kind that there is not"),
        pytest.param("[1, 99999999999999999999, []]", 0, "Expected `int` <= 9223372036854775807 - at `$[1]`", id="a long number"),
        pytest.param('{"insert": 1}', 0, "Expected `array`, got `object`", id="an object"),
        pytest.param("[1, 7, " + "[" * 5_000, 7, "too deep", id="deep"),
        pytest.param('[1, 7, [["' + chr(0xD800) + '"]]]', 7, "surrogates not allowed", id="half of a character"),
        pytest.param(pack([1, 7, [[None]]]), 7, "got `None` - at `$[2][0][0]`", id="msgpack: a term that is none"),
        pytest.param(pack([1, 7, [["a"]]])[:-1], 0, "Input data was truncated", id="half of msgpack"),
        pytest.param(b"\xc1", 0, "MessagePack data is malformed: invalid opcode", id="no msgpack"),
        pytest.param(b"", 0, "Input data was truncated", id="nothing"),
        pytest.param(b"GET / HTTP/1.1\r\n", 0, "Expected `array`, got `int`", id="another protocol"),
    ],
)
def test_what_is_no_request_says_why_and_which_it_would_have_been(message: bytes | str, number: int, problem: str) -> None:
    with pytest.raises(NotARequest) as caught:
        decode(message)

    assert caught.value.request == number
    assert str(caught.value).startswith("not a request: ")
    assert problem in str(caught.value)
    form = "JSON in a text frame" if isinstance(message, str) else "msgpack in a binary frame"
    assert f"expected {form}: an array of the kind of request" in str(caught.value)


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=3), inside, max_size=3),
    max_leaves=12,
)
_messages = (
    st.binary(max_size=60)
    | st.text(max_size=60)
    | st.tuples(st.integers(0, 30), st.integers(0, 3)).flatmap(
        lambda head: st.lists(_values, max_size=5).map(lambda rest: pack([*head, *rest]))
    )
    | st.tuples(st.integers(0, 30), st.integers(0, 3)).flatmap(
        lambda head: st.lists(_values, max_size=5).map(lambda rest: json.dumps([*head, *rest], default=str))
    )
)


@given(_messages)
def test_every_message_is_a_request_or_told_what_it_lacks(message: bytes | str) -> None:
    problem: str | None = None
    try:
        number = decode(message).request
    except NotARequest as error:
        number, problem = error.request, str(error)

    assert -(2**63) <= number < 2**63
    assert problem is None or "expected" in problem


async def test_numbers_and_truths_of_json_are_the_literals_that_they_are(door: HttpDoor, client: AsyncClient) -> None:
    asked = await client.subscribe("(?x, is, ?y)")
    async with websocket(endpoint(door)) as socket:
        await socket.send('[1, 1, [["a", [1, "is"], 21.5], ["b", [1, "is"], true], ["c", [1, "is"], 36893488147419103232]]]')
        answer = json.loads(await socket.recv())
        await socket.send(json.dumps([9, 2, 1, ["y"], [21.5]]))
        why = json.loads(await socket.recv())

    assert answer == [10, 1, 3]
    assert why[:2] == [21, 2]
    rows = {row["x"]: row["y"] for row in asked.rows()}
    assert rows["a"] == 21.5
    assert str(rows["b"]) == "true"
    assert rows["c"] == 36893488147419103232


async def test_doubles_that_only_msgpack_has_are_literals_too(door: HttpDoor, client: AsyncClient) -> None:
    asked = await client.subscribe("(?x, is, ?y)")
    async with websocket(endpoint(door)) as socket:
        await socket.send(pack([1, 1, [["n", gsg.Symbol("is"), math.nan], ["i", gsg.Symbol("is"), -math.inf]]]))
        await socket.recv()

    rows = {row["x"]: row["y"] for row in asked.rows()}
    assert math.isnan(float(str(rows["n"])))
    assert rows["i"] == -math.inf


_REQUESTS: list[list[object]] = [
    [1, 1, [["a", [1, "is"], 1]]],
    [2, 1, [["a", [1, "is"], 1], ["b", [4, "1", "x:decimal", ""], [6, [[1, "f"], 2]]]], None],
    [3, 1, [["e", [1, "was"], 2.5]], ["00" * 20]],
    [4, 1, "(?x, is, ?y), (?y, of, ?z)", "gsg", 10, 1_000, "resync"],
    [5, 1, 2],
    [6, 1],
    [7, 1, "(?x, is, ?y)", "gsg"],
    [8, 1],
    [9, 1, 1, ["x", "y"], ["a", 1], True],
    [20, 1, 1],
    [23, 1, [[3, 0, "a"]], False],
]
_STRANGE = [None, True, -1, 0, 2**63, 2**64 - 1, 0.5, math.nan, "", "x" * 300, [], [[]], [1, "a"], [7, []], [5, "v"], {}, {"a": 1}]


def mutated(rng: Random) -> bytes | str:
    """A request in which something is not as it should be, mostly."""
    request = json.loads(json.dumps(rng.choice(_REQUESTS)))
    request[1] = rng.randrange(10)
    for _ in range(rng.randrange(3)):
        inside = request
        while isinstance(inside, list) and inside and rng.random() < 0.6:
            inside = rng.choice(inside)
        if isinstance(inside, list):
            inside.insert(rng.randrange(len(inside) + 1), copy.deepcopy(rng.choice(_STRANGE)))
    if rng.random() < 0.5:
        text = json.dumps(request)
        return text[: rng.randrange(len(text))] if rng.random() < 0.2 else text
    packed = bytearray(pack(request))
    for _ in range(rng.randrange(3)):
        packed[rng.randrange(len(packed))] = rng.randrange(256)
    return bytes(packed[: rng.randrange(len(packed))] if rng.random() < 0.1 else packed)


@pytest.mark.parametrize("seed", range(2))
async def test_500_messages_are_answered_each_and_what_was_subscribed_to_before_goes_on(
    door: HttpDoor, client: AsyncClient, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    rng = Random(seed)
    async with websocket(endpoint(door)) as socket:
        await socket.send(pack([4, 1_000, "(?x, stays, ?y)"]))
        assert [type(reply(await socket.recv())) for _ in range(2)] == [Subscribed, UpToDate]
        for _ in range(500):
            await socket.send(mutated(rng))
            # One answer each; of what was subscribed to meanwhile, rows and ends come between.
            while isinstance(reply(await socket.recv()), Rows | UpToDate | Ended | Dropped | OutOfDate):
                pass
        await client.insert([("a", gsg.Symbol("stays"), 1)])
        while (rows := reply(await socket.recv())).request != 1_000:
            pass

    assert rows == Rows(1_000, [1], [("a", 1)])
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


# --- large messages ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def _everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.http.websocket.decoding, "LARGE_BYTES", 1)


def encoded(message: object, *, json: bool) -> bytes | str:
    return msgspec.json.encode(message).decode() if json else msgspec.msgpack.encode(message)


@pytest.mark.usefixtures("_everything_is_large")
@pytest.mark.parametrize("json", [False, True], ids=["msgpack", "JSON"])
@pytest.mark.parametrize("kind", [1, 2, 3], ids=["insert", "retract", "notify"])
@pytest.mark.parametrize("count", [0, 1, 15, 16, 70_000])
def test_what_is_read_in_two_steps_says_the_same(kind: int, count: int, json: bool) -> None:
    tuples = [(n, [1, "k"], 1.5, True, "text") for n in range(count)]

    request = decode(encoded([kind, 9, tuples, ["ab"]], json=json))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gsg.http.websocket.decoding, "LARGE_BYTES", 2**40)
        at_once = decode(encoded([kind, 9, tuples, ["ab"]], json=json))
    assert type(request) is type(at_once)
    assert (request.request, request.audience) == (9, ["ab"])  # type: ignore[union-attr]  # all three have it
    assert list(request.tuples) == list(at_once.tuples)  # type: ignore[union-attr]  # as above


@pytest.mark.usefixtures("_everything_is_large")
@pytest.mark.parametrize("json", [False, True], ids=["msgpack", "JSON"])
def test_a_tuple_that_is_none_is_told_by_its_place_when_it_is_read(json: bool) -> None:
    request = decode(encoded([1, 5, [[1], [2], {"no": "tuple"}]], json=json))

    assert list(request.tuples[:2]) == [(1,), (2,)]  # type: ignore[union-attr]  # it publishes
    with pytest.raises(NotARequest, match=r"tuple 2 of the request is none: Expected `array`, got `object`") as caught:
        list(request.tuples)  # type: ignore[union-attr]  # as above
    assert caught.value.request == 5


@pytest.mark.usefixtures("_everything_is_large")
@pytest.mark.parametrize("json", [False, True], ids=["msgpack", "JSON"])
def test_more_tuples_than_others_can_wait_for_are_refused(monkeypatch: pytest.MonkeyPatch, json: bool) -> None:
    monkeypatch.setattr(gsg.http.websocket.decoding, "MAX_TUPLES", 20)
    monkeypatch.setattr(gsg.http.websocket.decoding, "MAX_BRACKETS", 60)

    with pytest.raises(NotARequest, match=r"expected at most 20.*: cut it into several") as caught:
        decode(encoded([1, 5, [[1]] * 70], json=json))

    assert caught.value.request == 5


@pytest.mark.parametrize("json", [False, True], ids=["msgpack", "JSON"])
def test_a_long_request_that_publishes_nothing_is_refused(monkeypatch: pytest.MonkeyPatch, json: bool) -> None:
    monkeypatch.setattr(gsg.http.websocket.decoding, "LARGE_BYTES", 100)
    monkeypatch.setattr(gsg.http.websocket.decoding, "MAX_QUESTION_BYTES", 1_000)

    with pytest.raises(NotARequest, match="publishes nothing; expected at most 1000") as caught:
        decode(encoded([23, 5, [[3, 0, number] for number in range(1_000)]], json=json))

    assert caught.value.request == 5


@pytest.mark.usefixtures("_everything_is_large")
@given(st.one_of(st.binary(min_size=2), st.text(min_size=2)))
def test_whatever_is_large_is_a_request_or_none(message: bytes | str) -> None:
    try:
        request = decode(message)
        list(getattr(request, "tuples", ()))
    except NotARequest:
        pass
