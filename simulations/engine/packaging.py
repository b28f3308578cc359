"""Our packages as one zip for spark-submit, and the program that it starts."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

from ..errors import BadParameter
from .places import writing
from .provenance import COMMIT, PACKAGES, commit

EXECUTORS = ("msgspec", "numpy", "pandas", "pyarrow")
"""Packages that the machines need which count: those of all experiments but ``replay``."""
WRITERS = ("websockets",)
"""What the machines need besides which write to peers (simulations/streams/sink); with terms of N-Triples
that are no plain ones also pyoxigraph."""
DRIVER = ("click", "matplotlib", "rich", "scipy")
"""What the machine needs besides which drives the run, and writes the report: in cluster mode one of the cluster's.

A driver that reads a trace, a history, or a file without Spark needs what gsg-router itself needs, and ``replay`` that on all
machines.
"""
RDF_READERS = ("pyoxigraph",)
"""What machines need besides that read Turtle or TriG, or terms of N-Triples that are not plain ones (workload/term_texts.py)."""

PROGRAM = '''"""Starts a simulation under spark-submit; the arguments are those of `gsg simulate`."""

from gsg.cli.simulate import command

command(prog_name="gsg simulate")
'''

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of all that is in a zip, so that the same code makes the same bytes."""


def write_package(file: Path) -> Path:
    """Write the zip, and beside it the program, whose path is returned. Raises BadParameter where that cannot be written."""
    program = file.with_name("gsg_simulate.py")
    with writing(str(file)):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
            for package in PACKAGES:
                folder = _folder_of(package)
                for path in sorted(folder.rglob("*")):
                    if path.is_file() and "__pycache__" not in path.parts:
                        entry = zipfile.ZipInfo(str(Path(package) / path.relative_to(folder)), _EPOCH)
                        made.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
            made.writestr(zipfile.ZipInfo(f"simulations/{COMMIT}", _EPOCH), commit())
        program.write_text(PROGRAM)
    return program


def _folder_of(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise BadParameter(f"the package {package} is not installed as a folder, so it cannot be copied; install it with pip")
    return Path(next(iter(found.submodule_search_locations)))
