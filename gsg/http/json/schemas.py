"""JSON schemas of what a peer says and takes, from the types that read and write it (msgspec.json.schema_components)."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import msgspec

TEMPLATE: Final = "#/components/schemas/{name}"
"""Where OpenAPI and AsyncAPI both have their schemas."""


def schemas_of(types: Iterable[Any]) -> tuple[list[Any], dict[str, Any]]:  # Any: types, or unions of some; JSON Schema
    """The schema of each type, and those that they refer to, by name."""
    found, components = msgspec.json.schema_components(list(types), ref_template=TEMPLATE)
    return [*map(_on_one_line, found)], {name: _on_one_line(schema) for name, schema in components.items()}


def _on_one_line(schema: Any) -> Any:  # Any: JSON Schema
    """A schema whose descriptions, which are docstrings, have no line breaks."""
    if isinstance(schema, dict):
        made = {name: _on_one_line(each) for name, each in schema.items()}
        if isinstance(said := made.get("description"), str):
            made["description"] = " ".join(inspect.cleandoc(said).split())
        return made
    return [*map(_on_one_line, schema)] if isinstance(schema, list) else schema


def about() -> dict[str, str]:
    """What both documents say of the router."""
    try:
        known = version("gsg-router")
    except PackageNotFoundError:
        known = "0"  # run from its sources, without being installed
    return {
        "title": "Global Semantic Graph router",
        "version": known,
        "description": "A peer: publish facts and events, and subscribe to standing queries.",
    }
