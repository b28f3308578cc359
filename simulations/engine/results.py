"""What an experiment came to, and how that is left behind: rows, numbers, configuration and report in one folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..drawing.plots import Drawn, Line, lines_plot
from ..errors import BadParameter
from .findings import Finding
from .html_page import Figure, Table, page, write_page
from .places import writing, written_to
from .sweep import arrow_table

if TYPE_CHECKING:
    import pyarrow

Number = TypeVar("Number", int, float)

CONFIGURATION, SUMMARY, REPORT = "configuration.json", "summary.json", "report.html"
"""What a run leaves in its folder beside rows."""
FILES = "files"
"""Under which a configuration has the names of the others."""
MAX_VALUES = 100
"""Values of one option: each is a line of some plot, or a point of all."""


@dataclass(frozen=True, slots=True)
class Results:
    """The results of one experiment; ``rows`` is all that was counted, by kind."""

    title: str
    lead: str
    notes: str
    tables: list[Table]
    figures: list[Figure]
    summary: list[dict[str, object]]
    rows: dict[str, Sequence[object]]
    findings: Sequence[Finding] = ()
    """What the report says first."""
    pictures: dict[str, str] = field(default_factory=dict)
    """Pictures for other pages than ours, as SVG, by the names of their files without the end."""


def prepare_folder(folder: Path) -> None:
    """Make a folder for results if it is not there, and remove those that an earlier run says it wrote there; other files stay.

    Raises BadParameter, before a run rather than after it, where it cannot be written to.
    """
    written_to(str(folder))
    with writing(f"to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        configuration = folder / CONFIGURATION
        # Whatever of an earlier run this one does not write would be taken for its own.
        for stale in _written(configuration):
            if stale.is_dir():
                shutil.rmtree(stale)
            else:
                stale.unlink()
        if not configuration.exists():
            # That it can be written is known then, and a run that fails leaves no empty one.
            configuration.touch()
            configuration.unlink()


def _written(configuration: Path) -> list[Path]:
    """The files and folders beside a configuration of which it says that its run wrote them; none where it is no configuration of
    ours."""
    try:
        found = json.loads(configuration.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return []
    names = found.get(FILES) if isinstance(found, dict) else None
    # A run writes into its own folder alone: a name that leads elsewhere is none of its files.
    own = [name for name in names if isinstance(name, str) and name == Path(name).name] if isinstance(names, list) else []
    found = map(configuration.parent.joinpath, own)
    return [path for path in found if (path.is_file() and path != configuration) or _is_partitioned(path)]


def _is_partitioned(folder: Path) -> bool:
    """Whether it is a folder of rows that a run wrote: of nothing but partitions or parts, and no link to another one."""
    return folder.is_dir() and not folder.is_symlink() and all(map(_is_part, folder.iterdir()))


def _is_part(path: Path) -> bool:
    # Spark writes marks beside the partitions, such as _SUCCESS.
    return path.is_dir() if "=" in path.name else path.name.startswith((".", "_", "part-")) and path.is_file()


def write_configuration(folder: Path, configuration: dict[str, object], files: Sequence[str]) -> None:
    """Say what was asked for, and which other files the run leaves in its folder: the next run there removes those.

    Before the files themselves, so that one that fails while it writes them leaves none that is not told. Raises OSError.
    """
    (folder / CONFIGURATION).write_text(json.dumps({**configuration, FILES: list(files)}, indent=2) + "\n")


def save(folder: Path, results: Results, configuration: dict[str, object]) -> None:
    """Write rows, numbers, configuration and report.html. Raises BadParameter."""
    rows = {name: arrow_table(rows) for name, rows in results.rows.items() if rows}
    pictures = {f"{name}.svg": svg for name, svg in results.pictures.items()}
    save_numbers(folder, rows, results.summary, configuration, others=tuple(pictures))
    for name, svg in pictures.items():
        write_page(folder / name, f"{svg}\n")
    shown = (results.title, results.lead, results.tables, results.notes, results.figures, configuration)
    text = page(*shown, findings=results.findings)
    write_page(folder / REPORT, text)


def save_numbers(
    folder: Path,
    rows: dict[str, pyarrow.Table],
    summary: list[dict[str, object]],
    configuration: dict[str, object],
    others: Sequence[str] = (),
) -> None:
    """Write rows (Parquet, a file for each kind), numbers and configuration (JSON); a report is to follow, and files of the names
    ``others``. Raises BadParameter."""
    from pyarrow import parquet

    with writing(f"to {folder}"):
        write_configuration(folder, configuration, [*(f"{name}.parquet" for name in rows), SUMMARY, REPORT, *others])
        for name, table in rows.items():
            parquet.write_table(table, folder / f"{name}.parquet")
        (folder / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n")


def line_figure(
    identity: str,
    lines: Sequence[Line],
    *,
    x: str,
    y: str,
    caption: str,
    log_x: bool = False,
    log_y: bool = False,
    diagonal: bool = False,
) -> Figure:
    """A plot of lines; ``identity`` tells it from others on the same page, and the first sentence of the caption is its name."""
    name = first_sentence(caption)
    return figure_of(lines_plot(identity, lines, title=name, x=x, y=y, log_x=log_x, log_y=log_y, diagonal=diagonal), caption)


def figure_of(drawn: Drawn, caption: str) -> Figure:
    """A plot with what it shows, and what it cannot."""
    return Figure(drawn.svg, f"{caption} {drawn.remark}".strip(), drawn.legend, drawn.looks)


def first_sentence(caption: str) -> str:
    """What a figure is called."""
    return caption.partition(". ")[0].rstrip(".")


def parse_numbers(text: str, option: str, number: type[Number]) -> tuple[Number, ...]:
    """Numbers between commas, each once and the smallest first. Raises BadParameter."""
    kind = "whole numbers" if number is int else "numbers"
    try:
        found = sorted({number(part) for part in text.split(",")})
    except ValueError:
        raise BadParameter(f"{option} {text!r}; expected {kind} between commas") from None
    if len(found) > MAX_VALUES:
        raise BadParameter(f"{option} has {len(found)} values; expected {MAX_VALUES} at most")
    return tuple(found)


def parse_pair(text: str, option: str) -> tuple[float, float]:
    """Two numbers between commas, as they stand. Raises BadParameter."""
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        raise BadParameter(f"{option} {text!r}; expected two numbers between commas") from None
    return first, second
