"""Contacts of peers that exist in a test alone, where nobody is dialled."""

from __future__ import annotations

from dht import Contact


def contact(number: int) -> Contact:
    """The peer whose id is a number."""
    return Contact(number.to_bytes(20, "big"), "10.0.0.1", 1 + number % 60_000)


def number_of(peer: bytes) -> int:
    """The number that is the id of such a peer."""
    return int.from_bytes(peer, "big")
