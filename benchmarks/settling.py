"""The time that an overlay takes to settle before it is measured."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from gsg.placement.holders import UNSURE_S

HEARD_S: Final = 35.0
"""How long it may take until each peer has heard of the last one; from then on it is unsure for UNSURE_S."""


async def until_sure() -> None:
    """Until then every peer takes each key for one that may just be changing hands, and asks all others what is posted there."""
    print(f"until peers are sure of their keys: {UNSURE_S + HEARD_S:.0f} s", file=sys.stderr, flush=True)
    await asyncio.sleep(UNSURE_S + HEARD_S)
