"""``GET /vocabulary``: which constants facts have, at all peers that this one knows."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ...errors import LocalError
from ...monitoring.vocabulary import DEFAULT_MOST
from ...wire.status_messages import MOST_CONSTANTS
from ..operations import Endpoint, Services
from ..problems import answering
from ..protocol import Vocabulary
from .messages import vocabulary_document


def vocabulary(services: Services) -> Endpoint:
    """Asks them."""

    async def endpoint(request: Request) -> Response:
        said = request.query_params.get("most", str(DEFAULT_MOST))
        try:
            most = int(said)
        except ValueError:
            raise LocalError(f"most={said:.80} is no number; expected 1 to {MOST_CONSTANTS}, as in /vocabulary?most=100") from None
        told = vocabulary_document(Vocabulary(0, *await services.peer.inside.vocabulary(most)))
        return Response(msgspec.json.encode(told), media_type="application/json")

    return answering(endpoint)
