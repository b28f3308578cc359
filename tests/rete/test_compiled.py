"""The matcher as C extensions, an optional build, passes the tests of the matcher in Python."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]


def has_compiler() -> bool:
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return False
    try:
        return subprocess.run([COMPILER, "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


# The build is optional, and a machine without a compiler cannot have it, so that there is nothing to test.
@pytest.mark.long
@pytest.mark.skipif(not has_compiler(), reason=f"no C compiler {COMPILER} with the headers of this Python")
def test_the_matcher_in_c_passes_the_tests_of_the_matcher(tmp_path: Path) -> None:
    build = f"from hatchling.build import build_wheel; build_wheel({str(tmp_path)!r})"
    made = subprocess.run(
        [sys.executable, "-c", build],
        cwd=ROOT,
        # What it does is the same without the minutes that a compiler takes to make it quick.
        env=os.environ | {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1", "MYPYC_OPT_LEVEL": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-2_000:]
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")

    # -P, for -m and -c would put the folder of the project first.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(tmp_path / "installed")

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    where = ran("-c", "import rete.operators.join; print(rete.operators.join.__file__)").stdout.strip()
    tested = ran(
        "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-profile=brief", "tests/rete", f"--ignore={__file__}"
    )

    assert where.startswith(str(tmp_path))
    assert where.endswith(tuple(EXTENSION_SUFFIXES))
    assert tested.returncode == 0, tested.stdout[-4_000:] + tested.stderr[-2_000:]
