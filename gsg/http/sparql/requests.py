"""What an HTTP request at ``/sparql`` asks (SPARQL 1.1 Protocol, section 2): decided from its parts, without any I/O.

    GET                                             query, default-graph-uri*, named-graph-uri* in the URL
    POST application/x-www-form-urlencoded          the same in the body; or update, using-graph-uri*, using-named-graph-uri*
    POST application/sparql-query, -update          the text is the body, the rest in the URL

What stands in the URL of a form counts as what stands in its body. ``timeout`` (seconds) may stand beside either. Other parameters
are none of ours, such as ``format``, which clients of others send to every server.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs

FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"

MAX_FIELDS = 1_000
"""Parameters of one request; more is refused."""
TIMEOUT_S = 30.0
"""How long a query may take that does not say."""
MAX_TIMEOUT_S = 600.0
"""The longest that it may ask for; of more it gets this."""
UPDATE_TIMEOUT_S = 10.0
"""How long the WHERE of one operation of an update may take that does not say."""
MAX_UPDATE_TIMEOUT_S = 60.0
"""The longest that it may ask for; of more it gets this. Less than a query's, as the updates of others wait for it."""


class BadRequest(Exception):
    """A request that the protocol does not have: an HTTP status, and what is wrong."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = HTTPStatus(status)
        self.detail = detail


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A query. ``default_graphs`` and ``named_graphs`` are the dataset where the protocol names one; empty where the text does."""

    text: str
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    timeout_s: float = TIMEOUT_S


@dataclass(frozen=True, slots=True)
class AskedUpdate:
    """An update, the dataset that its WHERE is about where the protocol names one, and how long each WHERE may take."""

    text: str
    using_graphs: tuple[str, ...] = ()
    using_named_graphs: tuple[str, ...] = ()
    timeout_s: float = UPDATE_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class AskedDescription:
    """A description of the service (SPARQL 1.1 Service Description, section 2)."""


def asked_by_get(url_query: str) -> AskedQuery | AskedDescription:
    """What GET asks. Raises BadRequest."""
    fields = parameters_of(url_query)
    if "update" in fields:
        raise BadRequest(400, "an update comes by GET; expected POST, as GET changes nothing")
    return _query(fields, _one(fields, "query")) if fields else AskedDescription()


def asked_by_post(content_type: str, url_query: str, body: bytes) -> AskedQuery | AskedUpdate:
    """What POST asks. Raises BadRequest."""
    media_type, *parameters = (part.strip().lower() for part in content_type.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8", "us-ascii"):
            raise BadRequest(415, f"the body is in {value[:40]}; expected utf-8")
    if media_type not in (FORM, QUERY, UPDATE):
        said = f"{media_type[:100]!r} as the content type" if media_type else "no content type"
        raise BadRequest(415, f"{said} of a POST; expected {FORM}, {QUERY} or {UPDATE}")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(400, f"the body is no UTF-8: byte {error.start} of it, {body[error.start]:#04x}, is none") from None
    if media_type == QUERY:
        return _query(parameters_of(url_query), text)
    if media_type == UPDATE:
        return _update(parameters_of(url_query), text)
    fields = parameters_of("&".join(part for part in (url_query, text) if part))
    if "query" in fields and "update" in fields:
        raise BadRequest(400, "a request with a query and an update; expected one of them")
    return _update(fields, _one(fields, "update")) if "update" in fields else _query(fields, _one(fields, "query"))


def parameters_of(text: str) -> Mapping[str, Sequence[str]]:
    """The parameters of a URL or a form, each with its values. Raises BadRequest."""
    try:
        return parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError:
        raise BadRequest(400, "the parameters are no UTF-8 once their percent-encoding is resolved; expected UTF-8") from None
    except ValueError:
        raise BadRequest(400, f"a request with more than {MAX_FIELDS} parameters; expected fewer") from None


def _one(fields: Mapping[str, Sequence[str]], name: str) -> str:
    given = fields.get(name, ())
    if len(given) != 1:
        raise BadRequest(400, f"{len(given)} parameters {name!r} in a request; expected one")
    return given[0]


def _query(fields: Mapping[str, Sequence[str]], text: str) -> AskedQuery:
    _refuse(fields, ("using-graph-uri", "using-named-graph-uri"), "a query, whose dataset is default-graph-uri and named-graph-uri")
    graphs = tuple(fields.get("default-graph-uri", ())), tuple(fields.get("named-graph-uri", ()))
    return AskedQuery(text, *graphs, _timeout(fields, TIMEOUT_S, MAX_TIMEOUT_S))


def _update(fields: Mapping[str, Sequence[str]], text: str) -> AskedUpdate:
    # An update of another graph than was meant cannot be taken back.
    dataset = "an update, whose dataset is using-graph-uri and using-named-graph-uri"
    _refuse(fields, ("default-graph-uri", "named-graph-uri"), dataset)
    graphs = tuple(fields.get("using-graph-uri", ())), tuple(fields.get("using-named-graph-uri", ()))
    return AskedUpdate(text, *graphs, _timeout(fields, UPDATE_TIMEOUT_S, MAX_UPDATE_TIMEOUT_S))


def _refuse(fields: Mapping[str, Sequence[str]], names: Sequence[str], asked: str) -> None:
    found = next((name for name in names if name in fields), None)
    if found is not None:
        raise BadRequest(400, f"the parameter {found!r} beside {asked}")


def _timeout(fields: Mapping[str, Sequence[str]], usual_s: float, most_s: float) -> float:
    if "timeout" not in fields:
        return usual_s
    said = _one(fields, "timeout")
    try:
        seconds = float(said)
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise BadRequest(400, f"timeout={said[:40]!r}; expected seconds, such as 10")
    return min(seconds, most_s)
