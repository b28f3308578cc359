"""The zip for spark-submit."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from simulations.engine.packaging import PACKAGES, write_package
from simulations.errors import BadParameter


def test_the_program_runs_from_the_zip_alone(tmp_path: Path) -> None:
    program = write_package(tmp_path / "ours.zip")

    arguments = [
        "load-balance",
        "--engine",
        "numpy",
        "--peers",
        "5",
        "--tuples",
        "100",
        "--subscriptions",
        "5",
        "--strategy",
        "rarest",
    ]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "ours.zip")}
    ran = subprocess.run(
        [sys.executable, program, *arguments, "--out", tmp_path / "out"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "out" / "report.html").exists()


def test_the_same_code_makes_the_same_zip(tmp_path: Path) -> None:
    write_package(tmp_path / "one.zip")
    write_package(tmp_path / "two.zip")

    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_it_has_all_our_packages_and_nothing_compiled(tmp_path: Path) -> None:
    write_package(tmp_path / "ours.zip")

    with zipfile.ZipFile(tmp_path / "ours.zip") as made:
        names = made.namelist()
    assert {name.partition("/")[0] for name in names} == set(PACKAGES)
    assert not [name for name in names if name.endswith(".pyc")]


def test_a_zip_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match=r"cannot write .*ours\.zip: no such file or directory"):
        write_package(tmp_path / "gone" / "ours.zip")
