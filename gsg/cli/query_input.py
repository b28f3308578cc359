"""The query that a command is given: as an argument, in a file or on standard input, and the language that it is written in."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import click

from ..errors import LocalError, reason
from ..tuples.escaping import one_line
from .arguments import AnyCommand, with_options
from .filenames import FileName

SUFFIXES = {".rq": "sparql", ".sparql": "sparql", ".gsg": "gsg"}
"""Of files that hold a query, and the language that they promise."""

# What may stand before ASK (SPARQL 1.1, Prologue), with blanks and comments.
_ASK = re.compile(
    r"(?:[\s\ufeff]|#[^\n]*\n|PREFIX\s+[^\s:<]*:\s*<[^<>\s]*>|BASE\s*<[^<>\s]*>)*ASK(?![\w-])",
    re.IGNORECASE,
)

with_query: Callable[[AnyCommand], AnyCommand] = with_options(
    [
        click.argument("text", required=False),
        click.option(
            "--file", "file", type=FileName(path_type=Path), help="Read the query from a file instead, or from standard input: -."
        ),
        click.option(
            "--language",
            metavar="[gsg|sparql]",
            help="What the query is written in. [default: what the file's suffix, or else the query's first word says]",
        ),
    ]
)
"""Gives a command these options; :func:`read_query` reads what they say."""


def check_one(text: str | None, file: Path | None) -> None:
    """Raise click's usage error where a query comes by both ways."""
    if text is not None and file is not None:
        raise click.UsageError("give the query as TEXT, or its file with --file, not both")


def read_query(text: str | None, file: Path | None, language: str | None) -> tuple[str, str]:
    """The text of the query and the name of its language. Raises LocalError where it cannot be read."""
    from ..languages import language_of

    if file is not None:
        query = read_file(file)
    else:
        query = text or ""
        if query.endswith(tuple(SUFFIXES)) and "(" not in query and Path(query).is_file():
            raise LocalError(f"{query!r} is the name of a file, and no query; give --file {query}")
    if language is not None:
        return query, language.lower()
    promised = None if file is None else SUFFIXES.get(file.suffix.lower())
    return query, promised or language_of(query)


def asks(text: str, language: str) -> bool:
    """Whether the answer to a query is yes or no."""
    return language == "sparql" and _ASK.match(text) is not None


def read_file(file: Path) -> str:
    """The text of a query's file, or of standard input. Raises LocalError, and BadText for a byte that is no UTF-8."""
    from ..languages.files.encoding import decoded

    is_input, name = str(file) == "-", one_line(str(file))
    try:
        data = sys.stdin.buffer.read() if is_input else file.read_bytes()
    except FileNotFoundError:
        raise LocalError(f"cannot read {name}: there is no such file; write the query into it, or give it as an argument") from None
    except OSError as error:
        raise LocalError(f"cannot read {name}: {reason(error)}; expected a file that holds a query") from None
    return decoded(data, "standard input" if is_input else name)
