"""Prints the quickest Python in PATH that has the version of the one that runs this.

A Python that was built without profile-guided optimization, as version managers build them where nobody asks for more, takes a
quarter longer for everything, and the tests are minutes of work for two cores. Each is timed here for a moment, by the time that
it has a core. Another than this one is taken only where it is quicker by more than such a measurement can err, and where it can
make an environment. Whoever names one with make PYTHON=... is not asked.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

QUICKER = 0.92
"""Another Python is taken if it needs at most this share of the time of this one."""
ROUNDS = 9
"""Each is timed so often, in turn: what else runs here changes how quick all are, from second to second."""
GIVEN_S = 10.0
"""For one timing; one that hangs is not taken."""

TIMED = """
import os, sys, time, venv
try: import ensurepip
except ImportError: import pip
class Node:
    def __init__(self, value): self.value = value
    def add(self, other): return Node(self.value + other.value)
def work():
    one, seen, total = Node(1), {}, Node(0)
    for number in range(60_000):
        total = total.add(one)
        seen[number & 255] = (number, total.value)
    return sorted(seen.values(), key=lambda pair: -pair[1])
begun_s = time.process_time()
work()
print(sys.version_info[1], time.process_time() - begun_s, os.path.realpath(sys.executable))
"""


def main() -> int:
    mine = Path(sys.executable).resolve()
    names = ("python3", f"python3.{sys.version_info[1]}")
    others = (Path(folder, name).resolve() for folder in os.get_exec_path() for name in names)
    # A name in PATH may be a script that starts one of several: each says which it is.
    pythons = {mine, *filter(Path.exists, others)}
    rounds: list[dict[Path, float]] = []
    for _ in range(ROUNDS):
        rounds.append(dict(filter(None, map(timed, pythons))))
        pythons = set(rounds[0])
    print(chosen(mine, rounds))
    return 0


def timed(python: Path) -> tuple[Path, float] | None:
    """Which it is, and its seconds of a core for some work; None for one of another version, or that cannot make environments."""
    try:
        done = subprocess.run([python, "-c", TIMED], capture_output=True, text=True, check=True, timeout=GIVEN_S)
        minor, taken_s, which = done.stdout.split(maxsplit=2)
        return (Path(which.strip()), float(taken_s)) if int(minor) == sys.version_info[1] else None
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def chosen(mine: Path, rounds: list[dict[Path, float]]) -> Path:
    """The one that mostly needs the least share of the time of this one; this one where that gains little."""
    everywhere = set.intersection(*map(set, rounds))
    if mine not in everywhere:
        return min(everywhere, default=mine)
    shares = {python: median(each[python] / each[mine] for each in rounds) for python in everywhere}
    best = min(shares, key=shares.__getitem__)
    return best if shares[best] <= QUICKER else mine


if __name__ == "__main__":
    sys.exit(main())
