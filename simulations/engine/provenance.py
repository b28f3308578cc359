"""What made a result: the version and the commit of this code, what counted, and when, so that a report stands by itself."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

from gsg import __version__

Provenance: TypeAlias = Callable[[], dict[str, object]]
"""Says what made a result, once that is there."""

PACKAGES = ("rete", "dht", "gsg", "pedro_compat", "simulations")
"""Where a change makes this another code."""
COMMIT = "commit.txt"
"""A file beside this one in the zip of a cluster, which has neither a repository nor what pip knows."""
UNKNOWN = "unknown"
_GIT_S = 10.0


def made_by(engine: str = "", *, at: datetime | None = None) -> dict[str, object]:
    """The version, the commit, the engine where one is named, and the date in UTC.

    ``at`` is now by default, or what SOURCE_DATE_EPOCH says: pages that are made again are the same then (reproducible-builds.org).
    """
    if at is None:
        at = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()), UTC)
    told = {"version": __version__, "commit": commit(), "engine": engine, "date": f"{at:%Y-%m-%d %H:%M} UTC"}
    return {name: value for name, value in told.items() if value}


def commit() -> str:
    """The commit of this code: of the repository that it runs from, of the one that it was installed from, or UNKNOWN."""
    packed = files("simulations") / COMMIT
    if packed.is_file():
        return packed.read_text().strip()
    folder = Path(__file__).parent
    # A virtual environment may lie in somebody's repository: this file has to be one of those.
    if folder.is_dir() and _git(folder, "ls-files", "--error-unmatch", Path(__file__).name) is not None:
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", *(f":/{package}" for package in PACKAGES))
        return f"{_git(folder, 'rev-parse', '--short=12', 'HEAD')}{' with changes' if changed else ''}"
    return _installed_from() or UNKNOWN


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says, None where it is not there or fails."""
    try:
        ran = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=_GIT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None


def _installed_from() -> str:
    """The commit that pip has noted (PEP 610)."""
    try:
        noted = Distribution.from_name("gsg-router").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    found = json.loads(noted or "{}").get("vcs_info", {}).get("commit_id", "")
    return found[:12] if isinstance(found, str) else ""
