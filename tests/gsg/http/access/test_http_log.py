"""``GET /log``: the last records, for administrators alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from plain_http import request
from token_files import ROLES, bearer, locked_door

from gsg.http.door import HttpDoor
from gsg.monitoring.logs.kept import KeptLog

pytestmark = pytest.mark.waits
LOG = logging.getLogger("gsg.test")


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[KeptLog]:
    """What ``gsg peer`` installs."""
    handler = KeptLog()
    logging.getLogger().addHandler(handler)
    LOG.setLevel(logging.INFO)
    yield handler
    LOG.setLevel(logging.NOTSET)
    logging.getLogger().removeHandler(handler)


async def test_records_are_told_from_a_number_on(kept: KeptLog, door: HttpDoor) -> None:
    LOG.info("one %s", "came")
    LOG.warning('a stranger said <script>"', extra={"client": "10.0.0.1:7"})

    answer = await request(door, "GET", "/log")
    ours = [one for one in answer.json["records"] if one["logger"] == "gsg.test"]
    later = (await request(door, "GET", f"/log?after={ours[0]['number']}")).json

    assert [(one["level"], one["message"], one.get("client")) for one in ours] == [
        ("INFO", "one came", None),
        ("WARNING", 'a stranger said <script>"', "10.0.0.1:7"),
    ]
    assert (answer.json["first"], answer.json["last"]) == (1, ours[1]["number"])
    assert later["records"][-1] == ours[1]
    assert ours[0] not in later["records"]
    assert (answer.media_type, answer.headers["cache-control"]) == ("application/json", "no-store")


async def test_what_is_no_number_is_refused(kept: KeptLog, door: HttpDoor) -> None:
    answer = await request(door, "GET", "/log?after=yesterday")

    assert (answer.status, answer.json["detail"]) == (
        400,
        "after=yesterday is no number of a record; expected one such as /log?after=17",
    )


async def test_where_no_log_is_kept_it_says_how_to(door: HttpDoor) -> None:
    answer = await request(door, "GET", "/log")

    assert answer.status == 404
    assert answer.json["detail"].startswith("this process keeps no log to show: `gsg peer` does, and a program that embeds a peer")


async def test_administrators_alone_read_it(kept: KeptLog, tmp_path: Path) -> None:
    async with locked_door(tmp_path) as door:
        told = {who: (await request(door, "GET", "/log", b"", bearer(who))).status for who in ROLES}
        nobody = (await request(door, "GET", "/log")).status

    assert nobody == 401
    assert told == {who: 200 if roles == "admin" else 403 for who, roles in ROLES.items()}
