"""The matcher as C extensions, compiled by mypyc as the wheel is built: HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 pip install .

Off unless that is asked for: Python as it is stays the default. What is compiled is a copy, so that a clone has no extensions
beside its files, which Python would take instead of these however old they are. So an editable installation has none either.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILED = (
    "activation.py",
    "alpha.py",
    "bag.py",
    "index.py",
    "last_condition.py",
    "narrowed.py",
    "production.py",
    "waiting_tokens.py",
    "compile/parameters.py",
    "operators/*.py",
    "predicates/*.py",
)
"""What is on the way of a fact. Classes of nodes are all among it: one in Python cannot be a subclass of one in C."""
IN_PYTHON = ("__init__.py", "requirements.py")
_BUILD = """
import os
import sys
from mypyc.build import mypycify
from setuptools import setup

extensions = mypycify(["--ignore-missing-imports", *sys.argv[1:]], opt_level=os.environ.get("MYPYC_OPT_LEVEL", "3"))
setup(name="rete", packages=[], ext_modules=extensions, script_args=["-q", "build_ext", "--inplace"])
"""


class CompiledMatcher(BuildHookInterface):  # type: ignore[type-arg]  # of any configuration
    """Puts the extensions into the wheel, beside the files that they are compiled from."""

    _folder = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # Any: as hatchling has it
        """Compile. Raises RuntimeError with what the compiler says where it fails."""
        if version == "editable":
            self.app.display_warning("an editable installation runs the matcher in Python, as it is in the folder")
            return
        self._folder = tempfile.mkdtemp()
        copy = Path(self._folder)
        shutil.copytree(Path(self.root) / "rete", copy / "rete", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
        found = sorted(path for pattern in COMPILED for path in (copy / "rete").glob(pattern) if path.name not in IN_PYTHON)
        modules = [str(path.relative_to(copy)) for path in found]
        made = subprocess.run([sys.executable, "-c", _BUILD, *modules], cwd=copy, capture_output=True, text=True, check=False)
        if made.returncode:
            shutil.rmtree(copy)
            said = made.stdout + made.stderr
            raise RuntimeError(f"the matcher does not compile; leave HATCH_BUILD_HOOK_ENABLE_CUSTOM out, or see: {said}")
        for extension in (*copy.glob("*.so"), *copy.glob("*.pyd"), *copy.glob("rete/**/*.so"), *copy.glob("rete/**/*.pyd")):
            build_data["force_include"][str(extension)] = str(extension.relative_to(copy))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # Any: as above
        """Remove the copy, whose extensions are in the wheel by now."""
        if self._folder:
            shutil.rmtree(self._folder)
