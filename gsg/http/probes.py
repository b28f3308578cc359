"""What probes ask: ``/livez``, ``/readyz`` and ``/startupz``, answered from what this peer knows itself, at once.

Whoever asks needs no role, as probes have no token: but what was found besides "ok" and "failed" is told to those alone that may
read (docs/security.md). ``?verbose`` lists all checks, and ``?exclude=NAME``, which may be given several times, leaves some out, as
at Kubernetes' own servers.
"""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ..errors import DoorClosed
from ..monitoring.health import Checks, as_dict, as_text, failing, live_checks, ready_checks, startup_checks
from .access.principals import Role, principal_of
from .operations import Described, Endpoint, Operation, Services

OK, BAD_REQUEST, UNAVAILABLE = 200, 400, 503
TEXT, JSON = "text/plain", "application/json"
DESCRIBED = Described(
    {"verbose": (bool, False), "exclude": (list[str], [])},
    answers={TEXT: None, JSON: dict[str, Any]},  # Any: JSON
    statuses={OK: "so it is", UNAVAILABLE: "so it is not"},
    failures={TEXT: None},
)
_NO_STORE = {"cache-control": "no-store"}


def probes(services: Services) -> list[Operation]:
    """The three of them."""
    said = {
        "livez": ("whether to start this peer again would help (503)", live_checks),
        "readyz": ("whether it serves as it should (503: not); ?verbose lists why", ready_checks),
        "startupz": ("whether it has started (503: not yet)", startup_checks),
    }
    return [
        Operation("GET", f"/{name}", None, what, _probe(services, name, checks), DESCRIBED) for name, (what, checks) in said.items()
    ]


def _probe(services: Services, name: str, checks_of: Checks) -> Endpoint:
    async def probe(request: Request) -> Response:
        try:
            state = services.peer.vitals.state()
        except DoorClosed as error:
            return PlainTextResponse(f"{error}\n", UNAVAILABLE)
        checks = checks_of(state)
        exclude = set(request.query_params.getlist("exclude"))
        if unknown := exclude - {check.name for check in checks}:
            known = ", ".join(check.name for check in checks)
            return PlainTextResponse(f"no check of {name} is called {min(unknown)!r:.100}; expected one of {known}\n", BAD_REQUEST)
        status = UNAVAILABLE if failing(checks, exclude) else OK
        details = principal_of(request.scope).has(Role.READ)
        if wants_json(request.headers.get("accept", "")):
            told = as_dict(checks, exclude, details=details)
            if details:
                told["peers"] = state.peers
                told["stale_feeds"] = state.stale_feeds
            return Response(msgspec.json.encode(told), status, _NO_STORE, JSON)
        verbose = request.query_params.get("verbose", "false") != "false"
        return PlainTextResponse(as_text(name, checks, exclude, verbose=verbose, details=details), status, _NO_STORE)

    return probe


def wants_json(accept: str) -> bool:
    """Whether JSON is asked for, and not text as well."""
    types = {each.partition(";")[0].strip().lower() for each in accept.split(",")}
    return "application/json" in types and not types & {"text/plain", "text/*"}
