"""The equivalence test for longer: `make soak ARGS="--seconds 3600"`, or so many examples.

    .venv/bin/python tests/conformance/conformance_soak.py --examples 50000 --seed 7

Rounds of fresh examples, each from a seed that is printed. A failure is shrunk and printed with what reproduces it: the round's
seed, and the line `@reproduce_failure(...)` to be put above the test. Exits 1 if any round has failed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

# The project, the naive matcher, and what simulates peers.
sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("..", "rete", "gsg")]

from hypothesis import HealthCheck, given, seed, settings  # noqa: E402  # after the path to the project
from test_oracle_equivalence import examples, run  # noqa: E402  # as above

ROUND = 1_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, help="stop after so many (default: 20,000, or what --seconds allows)")
    parser.add_argument("--seconds", type=float, help="begin no round after so long")
    parser.add_argument("--seed", type=int, help="of the first round; the next have the numbers that follow")
    options = parser.parse_args()
    wanted = options.examples or (None if options.seconds else 20_000)
    first = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    begun, done, failed = time.monotonic(), 0, 0
    while (wanted is None or done < wanted) and (options.seconds is None or time.monotonic() - begun < options.seconds):
        number = first + done // ROUND
        count = min(ROUND, ROUND if wanted is None else wanted - done)
        failed += not _round(number, count)
        done += count
        print(f"seed {number}: {done:,} examples in {time.monotonic() - begun:,.0f} s, {failed} rounds failed", flush=True)
    return 1 if failed else 0


def _round(number: int, count: int) -> bool:
    @seed(number)
    @settings(max_examples=count, deadline=None, database=None, print_blob=True, suppress_health_check=list(HealthCheck))
    @given(examples)
    def test(drawn):  # type: ignore[no-untyped-def]  # what `examples` draws
        run(*drawn)

    try:
        test()
    except Exception as error:
        print(f"seed {number} failed: {type(error).__name__}: {error}", *getattr(error, "__notes__", ()), sep="\n", flush=True)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
