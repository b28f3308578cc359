"""A real browser: the Chromium of the system, without a window."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.async_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium")


@asynccontextmanager
async def browser(*names: str) -> AsyncIterator[Browser]:
    """One to which these names of hosts mean this machine."""
    from playwright.async_api import async_playwright

    rules = ",".join(f"MAP {name} 127.0.0.1" for name in names)
    async with async_playwright() as driver:
        made = await driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", *([f"--host-resolver-rules={rules}"] if rules else [])]
        )
        try:
            yield made
        finally:
            await made.close()
