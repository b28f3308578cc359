"""``/openapi.json``: what the door does over HTTP, as OpenAPI 3.1, from the table of operations.

https://spec.openapis.org/oas/v3.1.1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..operations import MISSING, Operation
from ..problems import MEDIA_TYPE, ProblemDetails
from .schemas import about, schemas_of

VERSION: Final = "3.1.1"


def openapi(table: Sequence[Operation]) -> dict[str, Any]:  # Any: JSON
    """The document."""
    types = [ProblemDetails, *(each for operation in table for each in _types(operation))]
    found, components = schemas_of(types)
    schemas = iter(found)
    problem = {MEDIA_TYPE: {"schema": next(schemas)}}
    paths: dict[str, dict[str, Any]] = {}
    for operation in table:
        described = operation.described
        # In the order of _types.
        parameters = [_parameter(name, next(schemas), default) for name, (_, default) in described.parameters.items()]
        bodies = {media: {"schema": next(schemas)} for media in described.bodies}
        answers = {
            media: {"schema": {"type": "string"} if kind is None else next(schemas)} for media, kind in described.answers.items()
        }
        told: dict[str, Any] = {
            "operationId": f"{operation.method.lower()}{operation.path.replace('/', '_').replace('.', '_')}",
            "summary": operation.summary,
            "responses": {
                "200": {"description": "done", **({"content": answers} if answers else {})},
                "default": {"description": "a problem (RFC 9457)", "content": problem},
            },
        }
        if operation.role is not None:
            told["description"] = f"Takes the role {operation.role.value}."
        if parameters:
            told["parameters"] = parameters
        if bodies:
            told["requestBody"] = {"required": True, "content": bodies}
        paths.setdefault(operation.path, {})[operation.method.lower()] = told
    return {"openapi": VERSION, "info": about(), "paths": paths, "components": {"schemas": components}}


def _types(operation: Operation) -> list[Any]:  # Any: types, or unions of some
    described = operation.described
    parameters = [kind for kind, _ in described.parameters.values()]
    return [*parameters, *described.bodies.values(), *(kind for kind in described.answers.values() if kind is not None)]


def _parameter(name: str, schema: dict[str, Any], default: object) -> dict[str, Any]:  # Any: JSON Schema
    known = {} if default is MISSING else {"default": default}
    return {"name": name, "in": "query", "required": default is MISSING, "schema": {**schema, **known}}
