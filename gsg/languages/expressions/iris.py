"""References against a base (RFC 3986, section 5, as SPARQL 1.1 takes it in section 4.1.1)."""

from __future__ import annotations

import re

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)


def resolve(base: str, reference: str) -> str:
    """A reference against a base; a reference stays as it is where there is no base."""
    if not base:
        return reference
    scheme, authority, path, query, fragment = _split(reference)
    if scheme is not None:
        return reference  # SPARQL normalises no IRI (section 4.1.1.1): its dots, too, are its own
    base_scheme, base_authority, base_path, base_query, _ = _split(base)
    if authority is not None:
        path = _without_dots(path)
    else:
        authority = base_authority
        if not path:
            path = base_path
            query = base_query if query is None else query
        elif path.startswith("/"):
            path = _without_dots(path)
        else:
            directory = base_path[: base_path.rfind("/") + 1]
            path = _without_dots(("/" if base_authority is not None and not base_path else directory) + path)
    return _joined(base_scheme, authority, path, query, fragment)


def _split(iri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    found = _PARTS.fullmatch(iri)
    assert found is not None  # every part is optional
    return found[1], found[2], found[3], found[4], found[5]


def _joined(scheme: str | None, authority: str | None, path: str, query: str | None, fragment: str | None) -> str:
    made = f"{scheme}:" if scheme is not None else ""
    made += f"//{authority}" if authority is not None else ""
    made += path
    made += f"?{query}" if query is not None else ""
    return made + (f"#{fragment}" if fragment is not None else "")


def _without_dots(path: str) -> str:
    kept: list[str] = []
    parts = path.split("/")
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "..":
            if len(kept) > 1:
                kept.pop()
            if last:
                kept.append("")
        elif part == ".":
            if last:
                kept.append("")
        else:
            kept.append(part)
    return "/".join(kept)
