"""What ends the run of a benchmark that checks what it measures: a delivery that is wrong, or the user."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class WrongDelivery(Exception):
    """A message or an answer came twice, too early, changed or not at all."""


def run_checked(work: Coroutine[Any, Any, Result]) -> Result:  # Any: as asyncio has it
    """What the work returns. Raises SystemExit, and says why on standard error: with status 1 where a delivery was wrong, and with
    130 where the user stopped it."""
    try:
        return asyncio.run(work)
    except WrongDelivery as error:
        print(f"wrong: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        raise SystemExit(130) from None
