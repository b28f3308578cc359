"""Which matcher of event channels is best: events a second of each, on workloads along the axes of published generators.

    python -m benchmarks.channels                    all parts, a quarter of an hour
    python -m benchmarks.channels --quick            does it work at all? some seconds
    python -m benchmarks.channels --only trees       workloads with this in their names
    python -m benchmarks.channels --part calls       throughput, calls, memory, rules or rivals; may be repeated
    python -m benchmarks.channels --matcher compile --matcher bitmap
    python -m benchmarks.channels --part throughput --plot docs/channels.svg

A workload has so many conditions of five tests each, on fields drawn from a hundred by Zipf's law, with a share of equalities;
events have twenty fields, values are drawn from a thousand by Zipf's law. Beside each figure stands the ratio to *rarest*: a dict
on the rarest equality of each condition, and a compiled closure for the rest of it. Events are new ones all the time, unless a
workload says otherwise; channel_measures.py says how it is measured.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from benchmarks.channel_measures import ADAPTING, FLOOR, LARGE, Calls, Make, Measured, Sizes, called, compared, memory_bytes
from benchmarks.channel_rivals import rivals
from benchmarks.channel_rules import rules
from benchmarks.channel_workloads import QUICK, WORKLOADS, Rarest, Workload
from benchmarks.machine import machine
from gsg.channels.matchers.auto import Auto
from gsg.channels.matchers.bitmap import Bitmap
from gsg.channels.matchers.compile import Compile
from gsg.channels.matchers.lattice import Lattice
from gsg.channels.matchers.memo import Memo
from gsg.channels.matchers.rete import Rete
from gsg.channels.matchers.scan import Scan
from gsg.channels.matchers.sig import Sig

MATCHERS: dict[str, Make] = {
    "scan": Scan,
    "sig": Sig,
    "memo": Memo,
    "lattice": Lattice,
    "compile": Compile,
    "bitmap": Bitmap,
    "rete": Rete,
    "auto": Auto,
}
PARTS = ("throughput", "calls", "memory", "rules", "rivals")


def _print_measured(each: Measured) -> None:
    chosen = f"  {each.chosen}: {each.why}" if each.chosen else ""
    print(f"{each.workload:45} {each.matcher:8} {each.events_per_s:10,.0f} events/s {each.ratio:6.2f} x rarest{chosen}", flush=True)


def _print_calls(each: Calls) -> None:
    print(
        f"{each.workload:45} {each.matcher:8} insert {each.insert_us:6.1f} us, worst {each.insert_worst_ms:6.2f} ms,"
        f" {each.inserts_over_1_ms:3} over 1 ms;"
        f" remove {each.remove_us:6.1f} us, worst {each.remove_worst_ms:6.2f} ms; match worst {each.match_worst_ms:6.2f} ms;"
        f" longest collection of garbage {each.garbage_ms:.1f} ms",
        flush=True,
    )


def _plot(measured: Sequence[Measured], path: Path) -> None:
    """Events a second by number of conditions, and beside the floor by workload."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "channels"})
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5.5), layout="constrained")
    plain = {f"{each.conditions:,}": each.conditions for each in WORKLOADS if each == Workload(each.conditions)}
    for name in [FLOOR, *MATCHERS]:
        points = [(plain[each.workload], each.events_per_s) for each in measured if each.matcher == name and each.workload in plain]
        if points:
            left.loglog(*zip(*points, strict=True), marker="o", label=name)
    left.set(xlabel="subscriptions", ylabel="events a second", title="20 of 100 fields, 60 % equalities, new events")
    left.legend() if left.lines else None
    names = list(dict.fromkeys(each.workload for each in measured))
    for name in ("compile", "bitmap", "rete", "auto"):
        found = {each.workload: each.ratio for each in measured if each.matcher == name}
        right.plot([found.get(each) for each in names], range(len(names)), "o", label=name)
    right.axvline(1.0, color="grey", linewidth=1)
    right.set(xscale="log", xlabel="times the dict on the rarest equality", yticks=range(len(names)), yticklabels=names)
    right.invert_yaxis()
    right.legend()
    figure.savefig(path, metadata={"Date": None})


@click.command(help=__doc__.split("\n")[0] if __doc__ else None)
@click.option("--quick", is_flag=True, help="Small sizes: does it work at all?")
@click.option("--only", default="", help="Only workloads with this in their names.")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Only this part; may be repeated.")
@click.option("--matcher", "matchers", multiple=True, type=click.Choice(list(MATCHERS)), help="Only this one; may be repeated.")
@click.option("--json", "as_json", type=click.Path(path_type=Path), help="Write what was measured of throughput and calls here.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the throughput as SVG (needs matplotlib).")
def main(
    quick: bool, only: str, parts: tuple[str, ...], matchers: tuple[str, ...], as_json: Path | None, plot: Path | None
) -> None:
    chosen = {name: make for name, make in MATCHERS.items() if not matchers or name in matchers}
    workloads = [each for each in (QUICK if quick else WORKLOADS) if only in each.name]
    sizes = Sizes(warm=40, turns=2, events=20, calls=40) if quick else Sizes()
    parts = parts or PARTS
    measured: list[Measured] = []
    calls: list[Calls] = []
    print(machine())
    if "throughput" in parts:
        for workload in workloads:
            for each in compared(workload, chosen, sizes):
                if isinstance(each, str):
                    print(each, flush=True)
                else:
                    measured.append(each)
                    _print_measured(each)
    if "calls" in parts:
        for workload in [each for each in workloads if each == Workload(each.conditions) or each.trees]:
            for name, make in {FLOOR: Rarest, **chosen}.items():
                if name in (FLOOR, *ADAPTING) and (name != "bitmap" or workload.conditions <= LARGE):
                    calls.append(called(workload, name, make, sizes))
                    _print_calls(calls[-1])
    if "memory" in parts:
        for workload in [each for each in workloads if each == Workload(each.conditions) and (quick or each.conditions > 1_000)]:
            for name, make in {FLOOR: Rarest, **chosen}.items():
                if name in (FLOOR, "compile", "auto") or workload.conditions <= LARGE:
                    first, then = memory_bytes(workload, make, 5 if name == "scan" else 20 if quick else 300)
                    print(f"{workload.name:45} {name:8} {first:8,.0f} bytes a condition, {then:8,.0f} after events", flush=True)
    if "rules" in parts and not only:
        for line in rules({name: make for name, make in chosen.items() if name in ADAPTING}, quick):
            print(line, flush=True)
    if "rivals" in parts and not only:
        for line in rivals(*((20, 5) if quick else (1_000, 50))):
            print(line, flush=True)
    if as_json is not None:
        found = {"machine": machine(), "measured": [*map(asdict, measured)], "calls": [*map(asdict, calls)]}
        as_json.write_text(json.dumps(found, indent=2))
    if plot is not None:
        _plot(measured, plot)


if __name__ == "__main__":
    main()
