"""The trace of a request over HTTP goes on with what it publishes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from made_spans import PUBLISH, Made, parent_of, trace_of
from plain_http import request

import gsg
from gsg import Peer
from gsg.http.door import HttpDoor

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
BODY = [["a", {"symbol": "on"}]]


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
async def traced(made: Made) -> AsyncIterator[HttpDoor]:
    """The door of a peer whose spans are made."""
    async with Peer(tracer_provider=made.provider) as peer, HttpDoor(peer, port=0) as door:
        yield door
    made.provider.shutdown()


async def send(door: HttpDoor, method: str, path: str, **headers: str) -> None:
    answer = await request(door, method, path, BODY, {"content-type": "application/json", **headers})
    assert answer.status == 200


async def test_a_request_is_the_parent_of_what_it_publishes(traced: HttpDoor, made: Made) -> None:
    headers = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "vendor=1"}
    for method, path in (("POST", "/facts"), ("DELETE", "/facts"), ("POST", "/events")):
        await send(traced, method, path, **headers)

    assert [(trace_of(span), parent_of(span)) for span in made.of(PUBLISH)] == [(int(TRACE, 16), int(SPAN, 16))] * 3


async def test_a_request_that_is_not_sampled_is_not_traced(traced: HttpDoor, made: Made) -> None:
    await send(traced, "POST", "/facts", traceparent=f"00-{TRACE}-{SPAN}-00")

    assert made.all() == []


@pytest.mark.parametrize(
    "traceparent",
    ["", "00", f"00-{TRACE}-{SPAN}", f"00-{'0' * 32}-{SPAN}-01", f"ff-{TRACE}-{SPAN}-01", f"00-{TRACE[:-1]}é-{SPAN}-01"],
    ids=["empty", "short", "no flags", "no trace", "version ff", "no digit"],
)
async def test_a_malformed_traceparent_is_ignored(traced: HttpDoor, made: Made, traceparent: str) -> None:
    await send(traced, "POST", "/facts", traceparent=traceparent)

    assert [span.parent for span in made.of(PUBLISH)] == [None]


async def test_requests_do_not_mix_and_a_websocket_begins_traces(traced: HttpDoor, made: Made) -> None:
    await send(traced, "POST", "/facts", traceparent=f"00-{TRACE}-{SPAN}-01")
    async with gsg.connect(traced.url) as client:
        await client.insert([("b", "on")])

    of_request, of_client = made.of(PUBLISH)
    assert of_client.parent is None
    assert trace_of(of_client) != trace_of(of_request)
