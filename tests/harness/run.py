"""Run seeds of the harness and say what they violate.

    python tests/harness/run.py 7 8 9            these seeds
    python tests/harness/run.py 100 --to 200     those from 100 up to 199
    python tests/harness/run.py 7 --strict       also what is not promised while a fault is at work (verdict.excused)
    python tests/harness/run.py 7 --topics       with members of a topic beside the clients
    python tests/harness/run.py 7 --ordered      with numbers that are ordered, and conditions with bounds alone
    python tests/harness/schedule.py 7           what happens in it

A seed gives the same run in every process: the fingerprint at the end of each line says so. Exits 1 if any run is not as promised.
"""

from __future__ import annotations

import argparse
import sys
import time

from history import History
from schedule import schedule
from trial import LATEST_S, history_of
from verdict import settled, violations

SHOWN = 12
"""Violations that are printed of each run."""


def run(
    seed: int, *, rounds: int = 1, strict: bool = False, latest_s: float = LATEST_S, topics: bool = False, ordered: bool = False
) -> tuple[History, list[str]]:
    """What came of a seed, and what of it is not as promised so long after its end."""
    history = history_of(schedule(seed, rounds=rounds, ordered=ordered), settled, latest_s=latest_s, topics=topics)
    return history, violations(history, strict=strict)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seeds", nargs="+", type=int)
    parser.add_argument("--to", type=int, help="all seeds from the first one up to this one")
    parser.add_argument("--rounds", type=int, default=1, help="how often something goes wrong in a run (default: once)")
    parser.add_argument("--strict", action="store_true", help="excuse nothing by the faults that are at work")
    parser.add_argument("--topics", action="store_true", help="let peers use a topic as well")
    parser.add_argument("--ordered", action="store_true", help="let the numbers of one place be ordered")
    options = parser.parse_args()
    seeds = options.seeds if options.to is None else range(options.seeds[0], options.to)
    failed = 0
    for seed in seeds:
        begun_s = time.process_time()
        history, found = run(seed, rounds=options.rounds, strict=options.strict, topics=options.topics, ordered=options.ordered)
        failed += bool(found)
        print(
            f"{seed}: {len(found)} violations, mended {history.mended_s:.0f} s after the end, "
            f"CPU {time.process_time() - begun_s:.2f} s, {history.digest}",
            *(f"    {line}" for line in found[:SHOWN]),
            sep="\n",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
