"""What probes are told over HTTP: at once, whatever other peers do."""

from __future__ import annotations

import pytest
from plain_http import request

from gsg import Peer
from gsg.http.access.principals import ANYBODY, Principal, Role, set_principal
from gsg.http.door import HttpDoor
from gsg.http.operations import Services
from gsg.http.probes import probes, wants_json
from gsg.subscriptions.backlog import Pool

pytestmark = pytest.mark.waits


@pytest.mark.parametrize("target", ["/livez", "/readyz", "/startupz"])
async def test_a_peer_that_is_well_says_ok(door: HttpDoor, target: str) -> None:
    answer = await request(door, "GET", target)

    assert (answer.status, answer.media_type, answer.text) == (200, "text/plain; charset=utf-8", "ok\n")


async def test_checks_are_listed_where_that_is_asked_for(door: HttpDoor) -> None:
    answer = await request(door, "GET", "/readyz?verbose")

    lines = answer.text.splitlines()
    assert answer.status == 200
    assert lines == [
        "[+]work ok: goes on",
        "[+]overlay ok: entered",
        "[+]doors ok: open: http",
        lines[3],
        "[+]peers ok: alone, as it was told to join nobody",
        "[+]disk ok: takes changes",
        "[+]handover ok: done",
        "[+]feeds ok: none stale",
        "readyz check passed",
    ]
    assert lines[3].startswith("[+]loop ok: turns ")


async def test_a_door_that_does_not_stand_makes_a_peer_not_ready_and_not_dead(door: HttpDoor) -> None:
    door._peer.doors.expect("pedro")

    ready, started, live = [await request(door, "GET", target) for target in ("/readyz", "/startupz", "/livez")]

    assert (ready.status, started.status, live.status) == (503, 503, 200)
    assert "[-]doors failed: not open: pedro\n" in ready.text
    assert ready.text.endswith("readyz check failed\n")
    assert (await request(door, "GET", "/readyz?exclude=doors")).status == 200


async def test_programs_are_told_in_json(door: HttpDoor) -> None:
    door._peer.doors.expect("pedro")

    answer = await request(door, "GET", "/readyz", headers={"accept": "application/json"})

    told = answer.json
    assert (answer.status, answer.media_type, told["ok"], told["peers"], told["stale_feeds"]) == (
        503,
        "application/json",
        False,
        1,
        0,
    )
    assert {"name": "doors", "ok": False, "detail": "not open: pedro", "grade": "critical"} in told["checks"]


async def test_a_check_that_there_is_not_is_named(door: HttpDoor) -> None:
    answer = await request(door, "GET", "/livez?exclude=disk")

    assert (answer.status, answer.media_type, answer.text) == (
        400,
        "text/plain; charset=utf-8",
        "no check of livez is called 'disk'; expected one of loop, work\n",
    )


def _services(peer: Peer | None) -> Services:
    """Probes have to do with nothing but the peer."""
    return Services(peer, None, Pool(1), None, None, None, None)  # type: ignore[arg-type]  # as it says


async def test_the_answer_takes_no_turn_of_the_loop_but_its_own() -> None:
    """So nothing that hangs, such as another peer, can delay it."""
    async with Peer() as peer:
        for operation in probes(_services(peer)):
            scope = {"type": "http", "query_string": b"verbose", "headers": [], "state": {}}
            set_principal(scope, Principal("nobody", frozenset()))
            answering = operation.endpoint(_request(scope))
            with pytest.raises(StopIteration) as done:
                answering.send(None)  # type: ignore[attr-defined]  # a coroutine
            assert done.value.value.status_code == 200
            assert b"goes on" not in done.value.value.body


def _request(scope: dict[str, object]) -> object:
    from starlette.requests import Request

    return Request(scope)


def test_a_probe_takes_no_role() -> None:
    assert ANYBODY.has(Role.READ)
    assert [operation.role for operation in probes(_services(None))] == [None] * 3


async def test_a_peer_that_was_stopped_before_its_door_says_so() -> None:
    async with Peer() as peer:
        pass
    async with HttpDoor(peer, port=0) as door:
        answers = [await request(door, "GET", target) for target in ("/livez", "/metrics")]

    assert [(each.status, each.text.partition(";")[0]) for each in answers] == [(503, "this peer is not running")] * 2


@pytest.mark.parametrize(
    ("accept", "json"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", True),
        ("Application/JSON; charset=utf-8, */*;q=0.1", True),
        ("text/plain, application/json", False),
        ("text/html", False),
    ],
)
def test_text_is_what_is_answered_unless_json_is_asked_for(accept: str, json: bool) -> None:
    assert wants_json(accept) is json
