"""Closes a transport within a time. One that is closed sends what is unsent first, however long the other side leaves it unread."""

from __future__ import annotations

import asyncio

CLOSE_S = 5.0
"""How long the other side may take for what is unsent, in seconds; beyond, it is lost."""


def close_in_time(transport: asyncio.Transport) -> None:
    """Close a transport; cut it off where it is not gone CLOSE_S later."""
    transport.close()
    if transport.get_write_buffer_size():
        asyncio.get_running_loop().call_later(CLOSE_S, transport.abort)
