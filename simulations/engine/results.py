"""What an experiment came to, and how that is left behind: rows, numbers, configuration and report in one folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..errors import BadParameter
from .html_page import Figure, page, table, write_page
from .places import written_to
from .plots import Line, lines_plot, named
from .sweep import table_of

Number = TypeVar("Number", int, float)
RowT = TypeVar("RowT")

MAX_SEED = (1 << 63) - 1
CONFIGURATION, SUMMARY, REPORT = "configuration.json", "summary.json", "report.html"
"""What a run leaves in its folder beside rows."""
FILES = "files"
"""Under which a configuration has the names of the others."""
MAX_VALUES = 100
"""Values of one option: each is a line of some plot, or a point of all."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A table of texts."""

    columns: tuple[str, ...]
    cells: Sequence[tuple[str, ...]]

    @classmethod
    def of(cls, columns: Sequence[tuple[str, Callable[[RowT], str]]], rows: Iterable[RowT]) -> Shown:
        """Rows of anything, by the heading of each column and what stands in it; the first column names the row."""
        return cls(tuple(heading for heading, _ in columns), [tuple(shown(row) for _, shown in columns) for row in rows])


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of one experiment; ``rows`` is all that was counted, by kind."""

    title: str
    lead: str
    notes: str
    tables: list[Shown]
    figures: list[Figure]
    summary: list[dict[str, object]]
    rows: dict[str, Sequence[object]]


def made(folder: Path) -> Path:
    """A folder for results, made if it is not there, without those that an earlier run says it wrote; other files stay.

    Raises BadParameter, before a run rather than after it, where it cannot be written to.
    """
    written_to(str(folder))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        configuration = folder / CONFIGURATION
        # Whatever of an earlier run this one does not write would be taken for its own.
        for stale in _written(configuration):
            stale.unlink()
        configuration.touch()
    except OSError as error:
        raise BadParameter(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}") from None
    return folder


def _written(configuration: Path) -> list[Path]:
    """The files beside a configuration of which it says that its run wrote them; none where it is no configuration of ours."""
    try:
        found = json.loads(configuration.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return []
    names = found.get(FILES) if isinstance(found, dict) else None
    # A run writes into its own folder alone: a name that leads elsewhere is none of its files.
    own = [name for name in names if isinstance(name, str) and name == Path(name).name] if isinstance(names, list) else []
    return [file for file in map(configuration.parent.joinpath, own) if file.is_file() and file != configuration]


def write_configuration(folder: Path, configuration: dict[str, object], files: Sequence[str]) -> None:
    """Say what was asked for, and which other files the run leaves in its folder: the next run there removes those.

    Before the files themselves, so that one that fails while it writes them leaves none that is not told. Raises OSError.
    """
    (folder / CONFIGURATION).write_text(json.dumps({**configuration, FILES: list(files)}, indent=2) + "\n")


def save(folder: Path, findings: Findings, configuration: dict[str, object]) -> None:
    """Write rows (Parquet, a file for each kind), numbers and configuration (JSON) and report.html. Raises BadParameter."""
    from pyarrow import parquet

    try:
        write_configuration(folder, configuration, [*(f"{name}.parquet" for name in findings.rows), SUMMARY, REPORT])
        for name, rows in findings.rows.items():
            parquet.write_table(table_of(rows), folder / f"{name}.parquet")
        (folder / SUMMARY).write_text(json.dumps(findings.summary, indent=2) + "\n")
    except OSError as error:
        raise BadParameter(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}") from None
    shown = "\n".join(table(one.columns, one.cells) for one in findings.tables)
    write_page(folder / REPORT, page(findings.title, findings.lead, shown, findings.notes, findings.figures, configuration))


def drawn(
    identity: str, lines: Sequence[Line], *, x: str, y: str, caption: str, log_x: bool = False, log_y: bool = False
) -> Figure:
    """A plot of lines with its legend; ``identity`` tells it from others on the same page."""
    return Figure(lines_plot(identity, lines, x=x, y=y, log_x=log_x, log_y=log_y), caption, named(lines))


def numbers(text: str, option: str, number: type[Number]) -> tuple[Number, ...]:
    """Numbers between commas, each once and the smallest first. Raises BadParameter."""
    kind = "whole numbers" if number is int else "numbers"
    try:
        found = sorted({number(part) for part in text.split(",")})
    except ValueError:
        raise BadParameter(f"{option} {text!r}; expected {kind} between commas") from None
    if len(found) > MAX_VALUES:
        raise BadParameter(f"{option} has {len(found)} values; expected {MAX_VALUES} at most")
    return tuple(found)


def two_numbers(text: str, option: str) -> tuple[float, float]:
    """Two numbers between commas, as they stand. Raises BadParameter."""
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        raise BadParameter(f"{option} {text!r}; expected two numbers between commas") from None
    return first, second


def check_seed(seed: int) -> None:
    """Raises BadParameter for one that is none."""
    if not 0 <= seed <= MAX_SEED:
        raise BadParameter(f"seed {seed}; expected 0 to {MAX_SEED}")
