"""Token files, and doors that ask for their tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gsg import Peer
from gsg.http.access.tokens import TokenFile
from gsg.http.door import HttpDoor
from gsg.quotas import Quotas

TOKENS = {name: f"{name}-{'x' * 16}" for name in ("reader", "writer", "operator", "both")}
ROLES = {"reader": "read", "writer": "publish", "operator": "admin", "both": "read,publish"}
LINES = [f"{token} {ROLES[name]} {name}" for name, token in TOKENS.items()]


def written(path: Path, lines: Iterable[str] = LINES) -> Path:
    """The path of a file that says these lines, for its owner alone."""
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)
    return path


def bearer(name: str) -> dict[str, str]:
    """The header by which somebody shows a token."""
    return {"authorization": f"Bearer {TOKENS[name]}"}


@asynccontextmanager
async def locked_door(
    folder: Path, lines: Iterable[str] = LINES, *, quotas: Quotas | None = None, **options: Any
) -> AsyncIterator[HttpDoor]:
    """The door of a peer of its own, which asks for these tokens."""
    file = TokenFile(written(folder / "tokens", lines))
    async with Peer(quotas=quotas or Quotas()) as peer, HttpDoor(peer, port=0, tokens=file, **options) as door:
        yield door
