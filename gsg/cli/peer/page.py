"""Opens the page of a peer in the browser of whoever starts it."""

from __future__ import annotations

import logging
import os
import threading
import webbrowser
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # told apart, and not bound to


def page_url(url: str) -> str:
    """Where a browser of this machine finds the page of a door; one that is bound to all addresses is at loopback too."""
    parts = urlsplit(url)
    host = _EVERYWHERE.get(parts.hostname or "")
    return f"{parts.scheme}://{host}:{parts.port}/" if host else f"{url}/"


def open_page(url: str) -> threading.Thread:
    """Open it in a thread that nobody waits for: some browsers take seconds to answer."""
    opening = threading.Thread(target=_open, args=(url,), daemon=True)
    opening.start()
    return opening


def _open(url: str) -> None:
    try:
        browser = webbrowser.get()
        # One of the terminal would take that from the peer, and wait until it is left: those are neither in the background nor ask
        # a window to show a page. What BROWSER names was chosen.
        in_terminal = type(browser) is webbrowser.GenericBrowser or getattr(browser, "background", True) is False
        in_terminal = in_terminal and "BROWSER" not in os.environ
        if not in_terminal and browser.open(url):
            return
    except (webbrowser.Error, OSError) as error:
        log.debug("no browser: %s", error)
    log.warning("no browser with windows was found; the page is at %s", url)
