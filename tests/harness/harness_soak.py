"""The harness for longer: `make soak`, so many seeds, or for as long as told, on all cores.

    python tests/harness/harness_soak.py --seeds 10000 --first 200
    python tests/harness/harness_soak.py --seconds 3600

Each seed that is not as promised is printed with the command that repeats it. Exits 1 if there is any.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import TypeAlias

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from run import run  # noqa: E402  # after the path to the project

SEEDS = 10_000
FIRST = 200
"""Those before are run by the test suite."""
ROUNDS = (1, 2, 3)
"""The runs of a soak are longer, in turn."""
AHEAD = 8
"""So many seeds for each core are given out before the first of them has been told: one that takes long keeps no core idle."""
TOLD_EVERY = 100

Judged: TypeAlias = tuple[int, list[str]]


def has_topics(seed: int) -> bool:
    """Whether peers use a topic as well in the run of a seed: in every second one."""
    return seed % 2 == 1


def is_ordered(seed: int) -> bool:
    """Whether numbers are ordered in the run of a seed: in every fourth one."""
    return seed % 4 == 2


def how(seed: int) -> str:
    """By what options of run.py the run of a seed is repeated."""
    return f"--rounds {ROUNDS[seed % len(ROUNDS)]}{' --topics' * has_topics(seed)}{' --ordered' * is_ordered(seed)}"


def judge(seed: int) -> Judged:
    """A seed, and what is not as promised: a run that cannot go on is not, either."""
    rounds = ROUNDS[seed % len(ROUNDS)]
    try:
        return seed, run(seed, rounds=rounds, topics=has_topics(seed), ordered=is_ordered(seed))[1]
    except Exception as error:
        return seed, [f"the run ends by {type(error).__name__}: {error}"]


def judged(seeds: Iterator[int], ends_s: float) -> Iterator[Judged]:
    """All of them in turn, until there are no more or the time is over."""
    cores = os.cpu_count() or 1
    # Ctrl-C is for the soak itself: what runs is run to its end, and nothing more is begun.
    with ProcessPoolExecutor(cores, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        given: deque[Future[Judged]] = deque(pool.submit(judge, seed) for seed in itertools.islice(seeds, AHEAD * cores))
        try:
            while given:
                yield given.popleft().result()
                if time.monotonic() < ends_s:
                    given.extend(pool.submit(judge, seed) for seed in itertools.islice(seeds, 1))
                else:
                    given = deque(one for one in given if not one.cancel())
        finally:
            pool.shutdown(cancel_futures=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run seeds of the harness, so many or for as long as told, on all cores.",
        epilog=f"Seed s has {', '.join(map(str, ROUNDS))} rounds, in turn: ROUNDS[s % {len(ROUNDS)}]. "
        "A seed that fails is printed with the command that repeats it, run.py SEED --rounds N, with the same seed and rounds; "
        "schedule.py SEED --rounds N prints what happens in it. In odd seeds peers use a topic "
        "as well: repeat these with --topics; in every fourth one, numbers are ordered: --ordered.",
    )
    parser.add_argument("--seeds", type=int, help=f"stop after so many (default: {SEEDS:,}, or what --seconds allows)")
    parser.add_argument("--seconds", type=float, help="begin nothing after so long")
    parser.add_argument("--first", type=int, default=FIRST, help=f"the first seed (default: {FIRST})")
    options = parser.parse_args()
    begun_s = time.monotonic()
    count = options.seeds or (None if options.seconds else SEEDS)
    seeds = itertools.count(options.first) if count is None else iter(range(options.first, options.first + count))
    done = failed = 0
    stopped = False
    try:
        for seed, found in judged(seeds, begun_s + (options.seconds or float("inf"))):
            done += 1
            if found:
                failed += 1
                print(f"seed {seed} fails; {sys.executable} {Path(__file__).with_name('run.py')} {seed} {how(seed)}")
                print(*(f"    {line}" for line in found), sep="\n", flush=True)
            if not done % TOLD_EVERY:
                print(f"{done:,} seeds in {time.monotonic() - begun_s:,.0f} s, {failed} failed", flush=True)
    except KeyboardInterrupt:
        stopped = True
    print(f"{done:,} seeds in {time.monotonic() - begun_s:,.0f} s, {failed} failed{', stopped' if stopped else ''}")
    return 130 if stopped else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
