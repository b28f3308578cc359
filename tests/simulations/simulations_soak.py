"""All film data through sixteen peers in a simulated network, by each rule, beside what the simulation says of their trace.

    .venv/bin/python tests/simulations/simulations_soak.py [--every 1] [--rule rarest]

What tests/simulations/load_balance/test_prediction.py holds for a hundredth, for all of it: minutes for each rule, in one
process, whose clock is a virtual one. So no peer is ever too busy to answer, however slow the machine is;
benchmarks/prediction.py is the same with processes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

# The tests' own, and those of whole peers.
TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "simulations"), str(TESTS / "simulations" / "load_balance"), str(TESTS / "gsg")]

from film_queries import SUBSCRIPTIONS, queries_about  # noqa: E402  # found by the above
from test_prediction import FILMS, PEERS, run_peers, simulated  # noqa: E402  # as above

import gsg  # noqa: E402  # as above
from gsg.placement.rules import REPLICAS  # noqa: E402  # as above

RULES = ("rarest", "predicate", "random")


def main() -> None:
    """Each rule in turn; ends with status 1 at the first peer that holds something else than was said."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])  # type: ignore[union-attr]  # it is above
    parser.add_argument("--every", type=int, default=1, help="take one tuple of so many")
    parser.add_argument("--rule", action="append", choices=RULES, help="may be repeated [default: all]")
    asked = parser.parse_args()
    tuples, queries = list(gsg.load(FILMS))[:: asked.every], queries_about(FILMS)
    for rule in asked.rule or RULES:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / "trace"
            copies, templates, kept = run_peers(tuples, queries, trace, rule)
            held = (copies, templates), (kept, templates)
            said = tuple(simulated(trace, name, "--engine", "numpy") for name in (rule, f"{rule}+replicas-{REPLICAS}"))
        seconds = time.perf_counter() - began
        if held != said:
            raise SystemExit(f"{rule}: peers hold {held}\nand the simulation says {said}")
        print(f"{rule}: {len(tuples):,} tuples, {SUBSCRIPTIONS} subscriptions, {PEERS} peers are as simulated, {seconds:.0f} s")


if __name__ == "__main__":
    main()
