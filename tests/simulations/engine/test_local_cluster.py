"""On a cluster as it is: executors with bare environments, one of which is killed, and Spark Connect, which has no SparkContext."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyarrow import parquet
from test_bare_machines import entries, required

from simulations.engine.packaging import EXECUTORS, write_package
from simulations.engine.spark import java_home
from simulations.load_balance.balance import InOneThread
from simulations.load_balance.experiments import BalanceRequest, balance

ASKED = BalanceRequest(peers=50, tuples=400_000, subscriptions=300, strategies=("rarest", "hot-split-1"))
OPTIONS = ["--peers", "50", "--tuples", "400000", "--subscriptions", "300", "--strategy", "rarest", "--strategy", "hot-split-1"]
PATIENCE_S = 300
LOOK_S = 0.05
SPARK_HOME = str(Path(pyspark.__file__).parent)


def bare_python(folder: Path) -> Path:
    """A Python that has what executors are told to have, and what Spark hands to it."""
    site = folder / "site"
    site.mkdir()
    for name in {name for package in EXECUTORS for name in required(package)}:
        for entry in entries(name):
            (site / entry.name).symlink_to(entry)
    # What the driver's environment has is not on other machines: -S leaves out what is installed.
    command = folder / "python"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{site}" exec {sys.executable} -S "$@"\n')
    command.chmod(0o755)
    return command


def processes_with(text: str) -> list[int]:
    """Running processes in whose command line this stands."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:  # it has ended since
            continue
    return found


def children_of(process: int) -> list[int]:
    """What a process has started."""
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def in_one_thread(folder: Path) -> list[dict[str, object]]:
    """What the run comes to without Spark."""
    return balance(ASKED, InOneThread, folder).summary()


def peers_of(folder: Path, strategy: str) -> dict[str, list[object]]:
    """What each peer has."""
    found: dict[str, list[object]] = parquet.read_table(folder / "peers" / f"strategy={strategy}").sort_by("peer").to_pydict()
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found in /proc")
def test_bare_executors_count_the_same_though_one_is_killed(tmp_path: Path) -> None:
    program = write_package(tmp_path / "ours.zip")
    mark = f"-Dgsg.test={os.getpid()}"
    settings = {
        "spark.pyspark.python": str(bare_python(tmp_path)),
        "spark.pyspark.driver.python": sys.executable,
        "spark.executor.extraJavaOptions": mark,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    submit = [
        f"{SPARK_HOME}/bin/spark-submit",
        "--master=local-cluster[2,1,1024]",
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
        f"--py-files={tmp_path / 'ours.zip'}",
        str(program),
        "load-balance",
        *OPTIONS,
        "--partitions=16",
        f"--out={tmp_path / 'out'}",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": SPARK_HOME}

    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(submit, stdout=log, stderr=log, env=environment, cwd=tmp_path) as ran,
    ):
        killed = None
        while killed is None and ran.returncode is None:
            # One that has started Python has a task.
            killed = next((process for process in processes_with(mark) if children_of(process) and _is_executor(process)), None)
            with contextlib.suppress(subprocess.TimeoutExpired):
                ran.wait(LOOK_S)
        if killed is not None:
            os.kill(killed, signal.SIGKILL)
        ran.wait(PATIENCE_S)

    assert killed is not None, (tmp_path / "log").read_text()[-3_000:]
    assert ran.returncode == 0, (tmp_path / "log").read_text()[-3_000:]
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == in_one_thread(tmp_path / "alone")
    for strategy in ASKED.strategies:
        assert peers_of(tmp_path / "out", strategy) == peers_of(tmp_path / "alone", strategy)


def _is_executor(process: int) -> bool:
    try:
        return b"ExecutorBackend" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


CONNECT = f"""
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from simulations.engine.spark import send_packages
from simulations.load_balance.balance import OnSpark
from simulations.load_balance.experiments import BalanceRequest, balance

spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
send_packages(spark)
said = []
balance({ASKED!r}, lambda: OnSpark(spark, progress=lambda done, of: said.append((done, of))), Path(sys.argv[1]))
assert said
"""


def test_a_session_of_spark_connect_counts_the_same(tmp_path: Path) -> None:
    environment = os.environ | {
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_TESTING": "1",  # Spark's own way to a port that is free
    }

    command = [sys.executable, "-c", CONNECT, str(tmp_path / "out")]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=PATIENCE_S,
    )

    assert ran.returncode == 0, ran.stderr[-3_000:]
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == in_one_thread(tmp_path / "alone")
    for strategy in ASKED.strategies:
        assert peers_of(tmp_path / "out", strategy) == peers_of(tmp_path / "alone", strategy)
