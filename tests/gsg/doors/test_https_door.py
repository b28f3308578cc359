"""The HTTP door over TLS: clients that trust it are served, and those that do not, or say something else, cost nobody anything."""

from __future__ import annotations

import pytest
from certified import Files

import gsg
from gsg import Peer
from gsg.http.door import HttpDoor

pytestmark = pytest.mark.waits


async def test_a_client_publishes_and_subscribes_by_https(files: Files) -> None:
    async with Peer() as peer, HttpDoor(peer, port=0, tls=files.server()) as door:
        assert door.url == f"https://127.0.0.1:{door.port}"
        async with gsg.connect(door.url, tls=files.client()) as client:
            subscription = await client.subscribe("(?what, ^on, ?where)")
            await client.insert([("lamp", gsg.Symbol("on"), "desk")])

            sign, row = await anext(subscription)

    assert f"{sign}{row}" == '+?what="lamp" ?where="desk"'
