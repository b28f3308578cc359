"""The address book on disk: one file, replaced as a whole, so that a crash leaves the old one or the new one."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import Address, BookUnreadable
from .address_book import decode, encode


def read_book(path: Path) -> list[Address]:
    """The addresses in the file; none when there is no file yet. Raises BookUnreadable, and BadBook for one that is damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BookUnreadable(str(path), (error.strerror or str(error)).lower()) from None
    return decode(data)


def write_book(path: Path, addresses: list[Address]) -> None:
    """Replace the file. Raises OSError."""
    part = path.with_name(path.name + ".part")
    # For its owner alone: who is where is nobody else's business.
    with open(part, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(encode(addresses))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
