"""From a client's JSON to requests and tuples: whatever it is, it is one or told what it lacks, and keeps nobody waiting."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from doors import endpoint, still_serves
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection, connect

from gsg import AsyncClient
from gsg.errors import BadTerm, BadText, LocalError
from gsg.http import protocol
from gsg.http.door import HttpDoor
from gsg.http.json import decoding
from gsg.http.json.decoding import decode_batch, decode_object
from gsg.http.json.form import SUBPROTOCOL
from gsg.http.json.messages import REPLIES, REQUESTS, object_name
from gsg.http.websocket.decoding import NotARequest
from gsg.tuples.terms import Symbol

ON = {"symbol": "on"}


def talk(door: HttpDoor) -> Any:  # Any: a connection in the making
    return connect(endpoint(door), subprotocols=[SUBPROTOCOL], max_size=None)  # type: ignore[list-item]  # a name is a str


async def ask(socket: ClientConnection, message: object) -> Any:
    """What the peer answers to one message."""
    await socket.send(message if isinstance(message, str | bytes) else json.dumps(message))
    return json.loads(await socket.recv())


@pytest.mark.parametrize(
    ("message", "number", "problem"),
    [
        ('{"type": "insert", "id": 7, "tuples": [[null]]}', 7, "got `null` - at `$.tuples[0][0]`"),
        ('{"type": "insert", "id": 7, "tuples": 5}', 7, "Expected `array`, got `int` - at `$.tuples`"),
        ('{"type": "subscribe", "id": 7}', 7, "missing required field `query`"),
        ('{"type": "subscribe", "id": 7, "text": "(?x)"}', 7, "unknown field `text`"),
        ('{"type": "Subscribe", "id": 7, "query": "(?x)"}', 7, "Invalid value 'Subscribe' - at `$.type`"),
        ('{"id": 7}', 7, "missing required field `type`"),
        ('{"type": "ask_report", "id": 99999999999999999999}', 0, "Expected `int` <= 9223372036854775807"),
        ('{"type": "ask_report", "id": "7"}', 0, "Expected `int`, got `str` - at `$.id`"),
        ("[1, 7, []]", 0, "Expected `object`, got `array`"),
        ("", 0, "Input data was truncated"),
        ('{"type": "insert", "id": 7, "tuples": ' + "[" * 5_000, 7, "got `array` - at `$.tuples[0][0]`"),
        ('{"type": "insert", "id": 7, "tuples": [[' + '{"list": [' * 5_000, 7, "too deep"),
        ('{"type": "insert", "id": 7, "tuples": [["' + chr(0xD800) + '"]]}', 7, "surrogates not allowed"),
        ('{"type": "insert", "id": 7, "tuples": [[{}]]}', 7, "{} is no term; expected one of iri"),
        ('{"type": "ask_keys", "id": 7, "keys": [{"arity": 3}]}', 7, "missing required field `position`"),
        (b"{}", 0, "bytes in a binary frame; expected JSON in a text frame"),
    ],
)
def test_what_is_no_request_says_why_and_which_it_would_have_been(message: str | bytes, number: int, problem: str) -> None:
    with pytest.raises(NotARequest) as caught:
        decode_object(message)

    assert caught.value.request == number
    assert problem in str(caught.value)


def test_what_breaks_off_says_where_and_what_is_no_term_what_kind_of_mistake() -> None:
    with pytest.raises(NotARequest) as caught:
        decode_object('{"type": "insert",\n "id": 7, tuples: []}')
    place = caught.value.told()
    with pytest.raises(NotARequest) as caught:
        decode_object('{"type": "insert", "id": 7, "tuples": [[{}]]}')

    assert isinstance(place, BadText)
    assert (place.line, place.column, place.what) == (2, 11, "request")
    assert isinstance(caught.value.told(), BadTerm)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inside: (
        st.lists(inside, max_size=4) | st.dictionaries(st.sampled_from(["iri", "value", "list", "x"]), inside, max_size=3)
    ),
    max_leaves=12,
)
_types = st.sampled_from([object_name(kind) for kind in (*REQUESTS, *REPLIES)])
_objects = st.tuples(_types, st.integers(0, 3), st.dictionaries(st.sampled_from(["tuples", "query", "row", "keys"]), _values)).map(
    lambda made: json.dumps({"type": made[0], "id": made[1], **made[2]})
)


@given(st.text(max_size=60) | _objects)
def test_every_message_is_a_request_or_told_what_it_lacks(message: str) -> None:
    problem: str | None = None
    try:
        number = decode_object(message).request
    except NotARequest as error:
        number, problem = error.request, str(error)

    assert -(2**63) <= number < 2**63
    assert problem is None or "expected" in problem


@pytest.mark.parametrize("kind", [protocol.Insert, protocol.Retract, protocol.Notify])
def test_a_large_message_is_the_same_request_as_at_once(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tuples = [["a", ON, number, {"value": "1", "datatype": "d"}] for number in range(100)]
    message = json.dumps({"id": 5, "tuples": tuples, "audience": ["ab"], "type": object_name(kind)})
    at_once = decode_object(message)
    monkeypatch.setattr(decoding, "LARGE_BYTES", 100)

    in_parts = decode_object(message)

    assert type(in_parts) is type(at_once) is kind
    assert (in_parts.request, in_parts.audience) == (at_once.request, at_once.audience) == (5, ["ab"])
    assert not isinstance(in_parts.tuples, list)
    assert [*in_parts.tuples] == [*at_once.tuples]


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"type": "insert", "id": 5, "tuples": [[1]] * 70}, "a request with 71 opening brackets; expected at most 50"),
        ({"type": "insert", "id": 5, "tuples": [1] * 200}, r"Expected `array`, got `int` - at `\$\[0\]`"),
        ({"type": "insert", "id": 5, "tuples": [[1]], "more": "x" * 200}, "unknown field `more`"),
        ({"type": "explain", "id": 5, "query": "x" * 300}, "that publishes nothing; expected at most 200"),
    ],
)
def test_a_large_message_is_refused_before_it_takes_long(message: object, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limit in (("LARGE_BYTES", 100), ("MAX_TUPLES", 50), ("MAX_QUESTION_BYTES", 200)):
        monkeypatch.setattr(decoding, name, limit)

    with pytest.raises(NotARequest, match=problem) as caught:
        decode_object(json.dumps(message))

    assert caught.value.request == 5


def test_tuples_of_a_body_are_read_when_they_are_asked_for() -> None:
    tuples, audience = decode_batch(b'  [["a", {"symbol": "on"}, 1], ["b", {}]]')

    assert (len(tuples), audience) == (2, None)
    assert tuples[0] == ("a", Symbol("on"), 1)
    with pytest.raises(BadTerm, match=r"tuple 1 of the request: \{\} is no term"):
        tuples[1]
    assert decode_batch(b'{"audience": ["ab"], "tuples": []}')[1] == ["ab"]


@pytest.mark.parametrize(("body", "line"), [(b'[["a"],\n ["b"', 2), (b"", 1), (b'{"tuple": [[1]]}', 0), (b"[1]", 0), (b"\xff", 1)])
def test_a_body_that_has_no_tuples_says_where_it_breaks_off(body: bytes, line: int) -> None:
    with pytest.raises(NotARequest) as caught:
        decode_batch(body)

    assert caught.value.line == line
    assert isinstance(caught.value.told(), LocalError)


async def test_a_message_that_does_not_decode_is_answered_and_ends_nothing(door: HttpDoor) -> None:
    async with talk(door) as socket:
        await ask(socket, {"type": "subscribe", "id": 1, "query": "(?x, on)"})
        await socket.recv()

        wrong = [await ask(socket, message) for message in ("{", b"\x00", "[" * 100_000, '{"type": "x", "id": 2}')]
        rows = await ask(socket, {"type": "notify", "id": 3, "tuples": [["a", ON]]})

    assert [message["type"] for message in wrong] == ["failed"] * 4
    assert [message["id"] for message in wrong] == [0, 0, 0, 2]
    assert rows["rows"][0]["row"] == {"x": "a"}
    await still_serves(door)


async def test_others_have_their_turn_while_a_large_message_is_carried_out(door: HttpDoor) -> None:
    tuples = [[f"large {number}", ON, number] for number in range(20_000)]
    async with talk(door) as large, talk(door) as small:
        await large.send(json.dumps({"type": "insert", "id": 1, "tuples": tuples}))
        asked = asyncio.ensure_future(large.recv())
        turns = 0
        while not asked.done():
            await ask(small, {"type": "ask_topics", "id": 2})
            turns += 1

    assert json.loads(asked.result()) == {"type": "done", "id": 1, "count": 20_000}
    # One for each part of it, at least.
    assert turns >= 5


async def test_without_the_subprotocol_all_is_as_it_was(door: HttpDoor, client: AsyncClient) -> None:
    async with connect(endpoint(door)) as socket:
        await socket.send('[1, 1, [["a", [1, "on"]]]]')
        answer = await socket.recv()
        refused = json.loads(await _asked(socket, [4, 2, "(?x)", "gsg", 10, 1000, "resync", "sparql"]))
    async with connect(endpoint(door), subprotocols=["other"]) as socket:  # type: ignore[list-item]  # a name is a str
        assert socket.subprotocol is None

    assert answer == "[10,1,1]"
    assert refused[:4] == [11, 2, "LocalError", "terms='sparql'; expected plain"]


async def _asked(socket: ClientConnection, message: object) -> str | bytes:
    await socket.send(json.dumps(message))
    return await socket.recv()


def test_every_message_has_an_object_with_its_fields() -> None:
    for kind, form in {**REQUESTS, **REPLIES}.items():
        assert form.__struct_config__.tag == object_name(kind)
        assert form.__struct_encode_fields__[0] == "id"
        assert form.__doc__
