"""Opens the page of a peer in the browser of whoever starts it."""

from __future__ import annotations

import asyncio
import logging
import webbrowser
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # told apart, and not bound to


def page_url(url: str) -> str:
    """Where a browser of this machine finds the page of a door; one that is bound to all addresses is at loopback too."""
    parts = urlsplit(url)
    host = _EVERYWHERE.get(parts.hostname or "")
    return f"{parts.scheme}://{host}:{parts.port}/" if host else f"{url}/"


async def open_page(url: str) -> None:
    """Open it, where there is a browser with windows; otherwise say where the page is."""
    if not await asyncio.to_thread(_open, url):
        log.warning("no browser with windows was found; the page is at %s", url)


def _open(url: str) -> bool:
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    # A browser of the terminal would take the terminal from the peer, and wait until it is left.
    return type(browser) is not webbrowser.GenericBrowser and browser.open(url)
