"""A result says what made it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gsg import __version__
from simulations.engine import provenance
from simulations.engine.packaging import write_package
from simulations.engine.provenance import UNKNOWN, made_by

SAY = "import sys; sys.path.insert(0, sys.argv[1]); from simulations.engine.provenance import commit; print(commit())"


def test_all_of_it_is_told() -> None:
    told = made_by("an engine", at=datetime(2024, 2, 29, 23, 59, tzinfo=UTC))

    assert told == {"version": __version__, "commit": provenance.commit(), "engine": "an engine", "date": "2024-02-29 23:59 UTC"}


def test_the_date_is_the_one_of_reproducible_builds_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")

    assert made_by()["date"] == "1970-01-01 00:00 UTC"


def test_the_commit_is_the_one_of_the_repository_and_changes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"ls-files": "provenance.py", "status": "", "rev-parse": "0123456789ab"}
    monkeypatch.setattr(provenance, "_git", lambda _, command, *__: said[command])
    clean = provenance.commit()
    said["status"] = " M simulations/load_balance/plan.py"

    assert (clean, provenance.commit()) == ("0123456789ab", "0123456789ab with changes")


def test_somebody_elses_repository_around_an_installed_package_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "_git", lambda _, command, *__: None if command == "ls-files" else "theirs")
    monkeypatch.setattr(provenance, "_installed_from", lambda: "")

    assert provenance.commit() == UNKNOWN


def test_where_there_is_no_git_nothing_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert re.fullmatch(r"unknown|[0-9a-f]{7,12}", provenance.commit())


@pytest.mark.parametrize(
    ("noted", "found"),
    [
        (None, ""),
        ({"url": "file:///somewhere", "dir_info": {"editable": True}}, ""),
        ({"url": "git+https://example.org/gsg", "vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}}, "0123456789ab"),
    ],
    ids=["an index", "a folder", "a repository"],
)
def test_what_pip_has_noted_is_the_commit(noted: object, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Noted:
        def read_text(self, _: str) -> str | None:
            return None if noted is None else json.dumps(noted)

    monkeypatch.setattr(provenance.Distribution, "from_name", lambda _: Noted())

    assert provenance._installed_from() == found


def test_the_zip_of_a_cluster_knows_its_commit(tmp_path: Path) -> None:
    write_package(tmp_path / "ours.zip")

    with zipfile.ZipFile(tmp_path / "ours.zip") as made:
        packed = made.read("simulations/commit.txt").decode()
    ran = subprocess.run(
        [sys.executable, "-c", SAY, tmp_path / "ours.zip"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert ran.stdout.strip() == packed == provenance.commit()
