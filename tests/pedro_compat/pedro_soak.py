"""Random lines through Pedro's door for longer: `make soak`, or by itself:

    .venv/bin/python tests/pedro_compat/pedro_soak.py --lines 10000000 --seed 7

Rounds of fresh lines, each from a seed that is printed and makes the same lines again. Exits 1 if one has shown something strange.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pedro_doors import doors  # after the path to the project
from pedro_fuzz import round_of
from pedro_wire import close_all

from pedro_compat import PAPER, V1_14

ROUND = 50_000


class _Errors(logging.Handler):
    """Counts what was logged as an error; an exception that nobody handled is."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(self.format(record))


async def _round(seed: int, count: int) -> list[str]:
    dialect = (PAPER, V1_14)[seed % 2]
    async with doors(1, dialect=dialect, extensions=True, remember_s=60, admin_host="127.0.0.1") as [(peer, door)]:
        outcome = await round_of(seed, count, door)
        failed = peer._parts.rendezvous.conditions.tests.failed
    return outcome.strange + [f"seed {seed}: {failed} tests failed with an exception"] * bool(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=1_000_000, help="stop after so many (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the first round; the next have the numbers that follow")
    options = parser.parse_args()
    logging.getLogger("pedro_compat").setLevel(logging.ERROR)
    errors = _Errors()
    logging.getLogger().addHandler(errors)
    first = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    begun, done, strange = time.monotonic(), 0, 0
    while done < options.lines:
        seed = first + done // ROUND
        found = asyncio.run(_round(seed, min(ROUND, options.lines - done))) + errors.seen
        close_all()
        errors.seen.clear()
        strange += bool(found)
        done += ROUND
        print(
            *found[:20],
            f"seed {seed}: {done:,} lines in {time.monotonic() - begun:,.0f} s, {strange} rounds strange",
            sep="\n",
            flush=True,
        )
    return 1 if strange else 0


if __name__ == "__main__":
    sys.exit(main())
