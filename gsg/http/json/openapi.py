"""``/openapi.json``: what the door does over HTTP, as OpenAPI 3.1, from the table of operations.

https://spec.openapis.org/oas/v3.1.1
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..operations import MISSING, OPTIONAL, Operation, template_of
from .schemas import about, schemas_of

VERSION: Final = "3.1.1"


_NAME: Final = re.compile(r"\{(\w+)\}")
_CONTENT: Final = {200, 503}
"""Statuses whose answers have a body that is described."""


_SECURITY: Final[list[dict[str, list[str]]]] = [{"bearer": []}, {"basic": []}, {"cookie": []}]
"""Of an operation with a role: a token is shown in one of these ways (gsg/http/access/credentials.py)."""


def openapi(table: Sequence[Operation], cookie: str) -> dict[str, Any]:  # Any: JSON
    """The document; ``cookie`` is the name of the door's."""
    found, components = schemas_of(kind for operation in table for kind in _types(operation))
    # In the order of _types.
    schemas = iter(found)
    paths: dict[str, dict[str, Any]] = {}
    for operation in table:
        paths.setdefault(template_of(operation.path), {})[operation.method.lower()] = _told(operation, schemas)
    shared = {"schemas": components, "securitySchemes": _schemes(cookie)}
    return {"openapi": VERSION, "info": about(), "paths": paths, "components": shared}


def _schemes(cookie: str) -> dict[str, dict[str, str]]:
    return {
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of the peer's token file. A door that has no such file asks for nothing.",
        },
        "basic": {"type": "http", "scheme": "basic", "description": "The token is the password; the name is not looked at."},
        "cookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": cookie,
            "description": "Of a page, after POST /login with a token.",
        },
    }


def _types(operation: Operation) -> Iterator[Any]:  # Any: types, or unions of some
    described = operation.described
    yield from (kind for kind, _ in described.parameters.values())
    for content in (described.bodies, described.answers, described.failures):
        yield from (kind for kind in content.values() if kind is not None)


def _told(operation: Operation, schemas: Iterator[Any]) -> dict[str, Any]:  # Any: JSON Schema, JSON
    described = operation.described
    parameters = [_named(name) for name in _NAME.findall(template_of(operation.path))]
    parameters += [_parameter(name, next(schemas), default) for name, (_, default) in described.parameters.items()]
    parameters += [
        {"name": name, "in": "header", "required": False, "description": use, "schema": {"type": "string"}}
        for name, use in described.headers.items()
    ]
    bodies, answers = _content(described.bodies, schemas), _content(described.answers, schemas)
    responses = {
        str(status): {"description": meaning, **({"content": answers} if answers and status in _CONTENT else {})}
        for status, meaning in described.statuses.items()
    }
    responses["default"] = {"description": "what went wrong", "content": _content(described.failures, schemas)}
    told: dict[str, Any] = {
        "operationId": _identifier(operation),
        "summary": operation.summary,
        "responses": responses,
    }
    if roles := described.roles if operation.role is None else operation.role.value:
        told["description"] = f"Takes the role {roles}."
        told["security"] = _SECURITY
    if parameters:
        told["parameters"] = parameters
    if bodies:
        told["requestBody"] = {"required": True, "content": bodies}
    return told


def _identifier(operation: Operation) -> str:
    return re.sub(r"\W+", "_", operation.method.lower() + template_of(operation.path)).rstrip("_")


def _content(kinds: Mapping[str, Any], schemas: Iterator[Any]) -> dict[str, Any]:  # Any: types; JSON Schema
    return {media: {"schema": {} if kind is None else next(schemas)} for media, kind in kinds.items()}


def _named(name: str) -> dict[str, Any]:  # Any: JSON Schema
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _parameter(name: str, schema: dict[str, Any], default: object) -> dict[str, Any]:  # Any: JSON Schema
    known = {} if default is MISSING or default is OPTIONAL else {"default": default}
    return {"name": name, "in": "query", "required": default is MISSING, "schema": {**schema, **known}}
