"""Whoever asks first, no parser is built in the thread of the loop."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

import pytest
from plain_http import request

from gsg import languages
from gsg.http.door import HttpDoor
from gsg.languages.script import grammar as script_grammar
from gsg.languages.sparql import grammar as sparql_grammar
from gsg.peer import Peer

SELECT = "SELECT * { ?what <http://x/p> ?how }"


@pytest.fixture
def builders(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that build a parser from now on: nothing is known as built."""
    found: list[threading.Thread] = []

    def recording(module: object, name: str) -> None:
        build = getattr(module, name)

        def recorded(*args: object, **options: object) -> object:
            found.append(threading.current_thread())
            return build(*args, **options)

        monkeypatch.setattr(module, name, recorded)

    recording(script_grammar, "Lark")
    recording(sparql_grammar, "_made")
    for cached in (script_grammar._parser, sparql_grammar.query_grammar, sparql_grammar.update_grammar):
        cached.cache_clear()
    monkeypatch.setattr(languages, "_PREPARED", set())
    return found


async def update(door: HttpDoor) -> None:
    answer = await request(
        door,
        "POST",
        "/sparql",
        b"INSERT DATA { <http://x/a> <http://x/p> 1 }",
        headers={"Content-Type": "application/sparql-update"},
    )
    assert answer.status == 204


@pytest.mark.parametrize(
    ("ask", "built"),
    [
        (lambda peer, door: peer.subscribe("(?what, ^is, ?how)"), 1),
        (lambda peer, door: peer.subscribe(SELECT, "sparql"), 2),
        (lambda peer, door: peer.run("SUBSCRIBE { (?what, ^is, ?how) }"), 1),
        (lambda peer, door: peer.inside.explain(SELECT, "sparql"), 2),
        (lambda peer, door: peer.topic("news/#").subscribe(), 1),
        (lambda peer, door: update(door), 2),
    ],
    ids=["subscribe-gsg", "subscribe-sparql", "script", "explain", "topic-filter", "sparql-update"],
)
async def test_no_parser_is_built_in_the_thread_of_the_loop(
    builders: list[threading.Thread], ask: Callable[[Peer, HttpDoor], Awaitable[object]], built: int
) -> None:
    async with Peer() as peer, HttpDoor(peer, port=0) as door:
        await ask(peer, door)

    assert len(builders) == built
    assert threading.current_thread() not in builders
