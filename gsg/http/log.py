"""``GET /log``: the last records of the peer's log, for its administrators."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ..errors import LocalError
from ..monitoring.logs.kept import LogPage, kept_log
from .access.principals import Role
from .operations import Described, Operation
from .problems import answering, problem

JSON: Final = "application/json"


def log() -> Operation:
    """The operation."""
    described = Described({"after": (int, 0)}, answers={JSON: LogPage})
    return Operation("GET", "/log", Role.ADMIN, "the last records of this peer's log", answering(_told), described)


async def _told(request: Request) -> Response:
    said = request.query_params.get("after", "0")
    try:
        after = int(said)
    except ValueError:
        raise LocalError(f"after={said:.80} is no number of a record; expected one such as /log?after=17") from None
    kept = kept_log()
    if kept is None:
        return problem(
            HTTPStatus.NOT_FOUND,
            "this process keeps no log to show: `gsg peer` does, and a program that embeds a peer with "
            "logging.getLogger().addHandler(gsg.monitoring.logs.kept.KeptLog())",
        )
    return Response(msgspec.json.encode(kept.page(after)), media_type=JSON, headers={"cache-control": "no-store"})
