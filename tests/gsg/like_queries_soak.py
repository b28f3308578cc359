"""Like queries for longer: `make soak`, or by itself:

    .venv/bin/python tests/gsg/like_queries_soak.py --seconds 1200 --seed 7

Histories of some kinds of queries, each from a seed that makes the same history again. Exits 1 if a query has heard something else
together with others than alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random, SystemRandom

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from like_queries import FAMILIES, History  # after the path to the project

STEPS = 300


def wrong(seed: int) -> list[str]:
    """What went wrong in the history of a seed."""
    rng = Random(seed)
    families = rng.sample(list(FAMILIES), rng.randrange(1, 4))
    history = History(families, seed)
    history.play(STEPS)
    found = [f"seed {seed}: {text} answers something else alone" for text in history.differing()]
    return found if history.close() else [*found, f"seed {seed}: something is left of {', '.join(families)}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1_200.0, help="begin no more histories after that (default: %(default)g)")
    parser.add_argument("--seed", type=int, help="of the first history; the next have the numbers that follow")
    options = parser.parse_args()
    first = SystemRandom().randrange(2**32) if options.seed is None else options.seed
    began_s, done, failed = time.monotonic(), 0, 0
    while time.monotonic() - began_s < options.seconds:
        found = wrong(first + done)
        done, failed = done + 1, failed + bool(found)
        for line in found:
            print(line, flush=True)
        if done % 100 == 0:
            print(f"{done:,} histories from seed {first} on, {failed} wrong, {time.monotonic() - began_s:,.0f} s", flush=True)
    print(f"{done:,} histories from seed {first} on, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
