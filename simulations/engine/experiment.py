"""An experiment that is a few sweeps over parameters: from what was asked for to what it leaves in a folder.

Each experiment has a function ``experiment(request)``, which refuses what makes no sense before anything is started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .provenance import Provenance, made_by
from .results import Results, prepare_folder, save
from .sweep import Player, Sweep


@dataclass(frozen=True, slots=True)
class Experiment:
    """What was asked for, the sweeps that answer it, and how their rows are reported."""

    configuration: dict[str, object]
    sweeps: Mapping[str, Sweep[Any, Any]]  # Any: each sweep has cases and rows of its own
    """By the title of the part that each is, in the order in which they are played."""
    report: Callable[..., Results]
    """Makes the results from the rows of each sweep, one argument for each."""


def run(
    experiment: Experiment,
    player: Callable[[], Player],
    out: Path,
    title: Callable[[str], None] = lambda _: None,
    provenance: Provenance = made_by,
) -> Results:
    """Play all sweeps and leave the results in a folder; one that cannot be written is refused before ``player`` starts anything.

    Raises SimulationError.
    """
    prepare_folder(out)
    play = player()
    rows = []
    for name, sweep in experiment.sweeps.items():
        title(name)
        rows.append(play(sweep))
    results = experiment.report(*rows)
    save(out, results, {**experiment.configuration, **provenance()})
    return results
