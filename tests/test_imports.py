"""The house's order: who may import whom, what is public, what is loaded when, and that every dependency is accounted for."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]

MAY_IMPORT = {
    "rete": set[str](),
    "dht": set[str](),
    "gsg": {"rete", "dht"},
    "pedro_compat": {"gsg", "rete", "dht"},
    "simulations": {"gsg", "rete", "dht", "pedro_compat"},
}
"""HOUSE_STYLE section 1. ``gsg/cli`` may also import doors and the simulation, inside functions."""

HEAVY = (
    "rdflib",
    "pyspark",
    "pyoxigraph",
    "lark",
    "starlette",
    "uvicorn",
    "numpy",
    "pandas",
    "networkx",
    "pyarrow",
    "cryptography",
    "kademlia",
)


class Import(NamedTuple):
    path: Path
    line: int
    package: str
    inside_function: bool


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports(path: Path) -> Iterator[Import]:
    """Every absolute import of a module, wherever it stands."""

    def walk(node: ast.AST, inside_function: bool) -> Iterator[Import]:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
        for name in names:
            yield Import(path, node.lineno, name.partition(".")[0], inside_function)  # type: ignore[attr-defined]  # a statement
        # What stands under TYPE_CHECKING is imported as little as what stands in a function that is not called.
        for_types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        inside_function = inside_function or for_types or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside_function)

    return walk(ast.parse(path.read_text("utf-8")), False)


def forbidden(found: Import) -> bool:
    importer = found.path.relative_to(ROOT).parts
    if found.package not in MAY_IMPORT or found.package == importer[0] or found.package in MAY_IMPORT[importer[0]]:
        return False
    puts_doors_together = importer[:2] == ("gsg", "cli") and found.package in ("pedro_compat", "simulations")
    return not (puts_doors_together and found.inside_function)


def levels(path: Path) -> list[int]:
    """Of each relative import how many folders up it goes, and 0 of each other one."""
    return [node.level for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_follow_the_arrows(package: str) -> None:
    every = [found for path in modules(package) for found in imports(path)]

    assert every
    assert [f"{found.path.relative_to(ROOT)}:{found.line} imports {found.package}" for found in every if forbidden(found)] == []


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_relative_imports_stay_inside_their_package(package: str) -> None:
    depths = {path.relative_to(ROOT): max(levels(path), default=0) for path in modules(package)}

    assert [str(path) for path, depth in depths.items() if depth > len(path.parts) - 1] == []


def test_a_forbidden_import_is_noticed() -> None:
    cli, peer, chain = ROOT / "gsg" / "cli" / "peer.py", ROOT / "gsg" / "peer.py", ROOT / "rete" / "chain.py"

    assert forbidden(Import(chain, 1, "gsg", False))
    assert forbidden(Import(peer, 1, "pedro_compat", True))
    assert forbidden(Import(peer, 1, "simulations", False))
    assert forbidden(Import(cli, 1, "pedro_compat", False))
    assert not forbidden(Import(cli, 1, "pedro_compat", True))
    assert not forbidden(Import(cli, 1, "simulations", True))
    assert not forbidden(Import(peer, 1, "asyncio", False))


@pytest.mark.parametrize("package", list(MAY_IMPORT))
def test_public_names_exist(package: str) -> None:
    module = importlib.import_module(package)

    missing = [name for name in getattr(module, "__all__", ()) if not hasattr(module, name)]

    assert missing == []
    assert len(set(getattr(module, "__all__", ()))) == len(getattr(module, "__all__", ()))


@pytest.mark.parametrize("package", [package for package in MAY_IMPORT if package != "simulations"])
def test_importing_a_package_loads_nothing_heavy(package: str) -> None:
    code = f"import sys, {package}; print(*sorted({{name.partition('.')[0] for name in sys.modules}} & set({HEAVY!r})))"

    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)

    assert loaded.stdout.split() == []


def dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = [
        project["build-system"]["requires"],
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
    ]
    named = {re.split(r"[<>=!~;\[ ]", requirement)[0] for group in groups for requirement in group}
    # An extra may include another one of ours.
    return sorted(named - {project["project"]["name"]})


def test_every_dependency_has_its_sentence() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")

    assert sorted(re.findall(r"^- \*\*([\w-]+)\*\*: \w", page, re.MULTILINE)) == dependencies()
