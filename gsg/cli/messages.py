"""What the command says, on standard output and standard error, whatever those can take.

Texts hold what strangers chose (names, queries, reasons of peers), so nothing in them speaks to the terminal; and what an encoding
lacks is escaped as GSG script writes it, so that no letter ends a command (:mod:`gsg.tuples.escaping`).
"""

from __future__ import annotations

import io
import sys

import click


def say(text: object, *, err: bool = False) -> None:
    """A line or several. Raises OSError, as where a disk is full or the reader has gone."""
    from ..tuples.escaping import lines

    click.echo(lines(str(text)), file=sys.stderr if err else sys.stdout)


def escape_what_is_lacking() -> None:
    """Let standard output and error take every text, in whatever encoding the terminal or a variable asked for."""
    from ..tuples.escaping import ERRORS

    for stream in (sys.stdout, sys.stderr):
        # Whoever chose how to replace what is lacking keeps that.
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape", "backslashreplace"):
            stream.reconfigure(errors=ERRORS)
