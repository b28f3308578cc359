"""Where the data lies that comes with the project but not inside it."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("GSG_SHARED", Path(__file__).resolve().parents[2] / "shared"))
"""Beside the project's root, unless the environment's GSG_SHARED names another place."""

FILM_DATA = SHARED / "data" / "films-2008-2014.nt.gz"
"""146,570 triples about films, their directors and actors."""
