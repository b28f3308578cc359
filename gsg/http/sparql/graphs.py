"""Graphs in the formats of RDF: what a client sends, and what it is sent."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterator, Sequence
from email import message_from_bytes
from email.policy import HTTP
from functools import partial
from http import HTTPStatus

from ...errors import BadText, Unsupported
from ...interleaving import in_thread
from ...languages.files import read_tuples
from ...languages.files.writing import MEDIA_TYPES, format_of_media_type, write_tuples
from ...tuples.terms import Tuple
from .requests import BadRequest

WRITTEN_AT_ONCE = 1_000
"""Tuples that are written while others wait; of more, each part is written in a thread."""

_ORDER = ("ttl", "nt", "rdf", "jsonld", "n3", "trig", "nq")
GRAPH_TYPES = {MEDIA_TYPES[name]: name for name in _ORDER if name not in ("trig", "nq")}
"""What one graph may be sent in, the first where nothing else is asked for."""
DATASET_TYPES = {MEDIA_TYPES[name]: name for name in ("trig", "nq", "jsonld")}
"""What several graphs may be sent in."""


async def written(tuples: Sequence[Tuple], format: str) -> AsyncIterator[bytes]:
    """The tuples in a format of RDF, part by part. What is no RDF, such as a symbol, is left out."""
    parts = write_tuples(tuples, format, left_out=lambda _, __: None)
    if len(tuples) <= WRITTEN_AT_ONCE:
        for part in parts:
            yield part
        return
    while part := await in_thread(partial(next, parts, b"")):
        yield part


async def read_graph(content_type: str, body: bytes, *, base: str) -> list[Tuple]:
    """The tuples of a body; those of all files of a form (RFC 7578). Blank nodes are new ones.

    Raises BadRequest for what is no format of RDF, and BadText for a mistake, by its line.
    """
    if content_type.partition(";")[0].strip().lower() == "multipart/form-data":
        return await in_thread(_read_form, content_type, body, base)
    return await in_thread(_read, content_type, body, base)


def _read_form(content_type: str, body: bytes, base: str) -> list[Tuple]:
    head = f"content-type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    message = message_from_bytes(head + body, policy=HTTP)
    if not message.is_multipart() or message.defects:
        # What has no boundaries would be a graph of nothing, which PUT takes in the place of what is there.
        raise BadRequest(
            HTTPStatus.BAD_REQUEST, "a multipart body without parts, or without its end; expected a boundary around each"
        )
    found: list[Tuple] = []
    for file in message.iter_parts():
        payload = file.get_payload(decode=True)
        found += _read(file.get("content-type", ""), payload if isinstance(payload, bytes) else b"", base)
    return found


def _read(content_type: str, body: bytes, base: str) -> list[Tuple]:
    try:
        format = format_of_media_type(content_type)
    except Unsupported as error:
        raise BadRequest(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, str(error)) from None
    return list(read_tuples(io.BytesIO(body), format, name="body", base=base, fresh_blank_nodes=True))


def of_graph(tuples: Sequence[Tuple], name: Tuple) -> Iterator[Tuple]:
    """Triples as those of a graph: ``name`` is empty for the default graph. Raises BadText for what is of a graph already."""
    for items in tuples:
        if len(items) != 3:
            raise BadText(
                "a statement of a named graph in what is to be one graph; load it at /graph, or leave the graph out",
                line=1,
                what="body",
            )
        yield (*items, *name)
