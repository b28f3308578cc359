"""Names of files, as options take them, and what short files of an option hold."""

from __future__ import annotations

import re
from pathlib import Path
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


def read_option_file(file: Path, option: str, next_step: str) -> str:
    """The text of a file that an option names. Raises click's usage error, with the next step where there is no such file."""
    from ..errors import LocalError
    from ..languages.files.encoding import read_text

    try:
        return read_text(file)
    except FileNotFoundError:
        raise click.BadParameter(f"there is no file {file}; {next_step}", param_hint=option) from None
    except OSError as error:
        raise click.BadParameter(f"{file} cannot be read: {error}", param_hint=option) from None
    except LocalError as error:
        # Its first line alone: the others show what stands there, which may be a secret.
        raise click.BadParameter(str(error).splitlines()[0], param_hint=option) from None
