"""Names of files, as options take them."""

from __future__ import annotations

import re
from typing import Any

import click

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class FileName(click.Path):
    """As click has it; a URL is refused as it was given, since as a path it would lose a slash."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # Any: as click has it
        """As in click.Path."""
        if isinstance(value, str) and _URL.match(value):
            self.fail(f"{value} is a URL; expected the name of a file: fetch it first, such as with curl -O {value}", param, ctx)
        return super().convert(value, param, ctx)
