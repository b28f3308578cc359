"""Run seeds of the harness and say what they violate.

python tests/harness/run.py 7 8 9         these seeds
python tests/harness/schedule.py 7        what happens in one of them
"""

from __future__ import annotations

import argparse
import time

from schedule import schedule
from verdict import violations
from world import history_of

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", nargs="+", type=int)
    parser.add_argument("--to", type=int, help="all seeds from the first one up to this one")
    parser.add_argument("--digest", action="store_true", help="say nothing but a fingerprint of each run")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--without", nargs="*", default=[])
    options = parser.parse_args()
    seeds = options.seeds if options.to is None else range(options.seeds[0], options.to)
    for seed in seeds:
        begun = time.process_time()
        history = history_of(schedule(seed, without=frozenset(options.without)))
        found = violations(history, strict=options.strict)
        if options.digest:
            print(seed, history.digest)
            continue
        print(f"{seed}: {len(found)} violations, {time.process_time() - begun:.2f} s, {history.digest}", flush=True)
        for line in found[:12]:
            print("   ", line[:1500])
