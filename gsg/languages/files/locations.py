"""Whether a path is one of this machine, or the name of a place on another file system that would be taken for a folder here."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Two letters at least, for a drive of Windows has one; one slash at least, which is left of two when a Path is made of them.
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def scheme_of(path: str | Path) -> str | None:
    """The scheme of a URI such as ``s3://bucket/name`` or ``dbfs:/name``; None for a path of this machine, ``file:`` included.

    A folder whose name looks so is written as ``./s3:/name``.
    """
    found = _URI.match(str(path))
    return None if found is None or found[1].lower() == "file" else found[1]


def path_of(text: str) -> Path:
    """The path that a text names, ``file:`` included, of one whose :func:`scheme_of` is None."""
    return Path(unquote(urlsplit(text).path)) if _URI.match(text) else Path(text)
