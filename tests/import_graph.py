"""Which module of ours imports which, wherever the import stands, and which room each module is in."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rete", "dht", "gsg", "pedro_compat", "simulations")


class Import(NamedTuple):
    """One import: where it stands, and the module of ours that it brings; ``later`` is one in a function or for types alone."""

    importer: str
    line: int
    imported: str
    later: bool


def name_of(path: Path) -> str:
    """A module's name, from its file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def files() -> dict[str, Path]:
    """All modules of ours by name."""
    return {name_of(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


@cache
def imports() -> tuple[Import, ...]:
    """All imports of modules of ours by modules of ours."""
    return tuple(found for name, path in files().items() for found in imports_of(name, path))


def imports_of(name: str, path: Path) -> Iterator[Import]:
    """The imports of one module, in functions and under TYPE_CHECKING too."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]

    def walk(node: ast.AST, later: bool) -> Iterator[Import]:
        named: list[str] = []
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            named = [whole if (whole := f"{origin}.{alias.name}") in files() else origin for alias in node.names]
        for each in dict.fromkeys(named):
            if each in files() and each != name:
                yield Import(name, node.lineno, each, later)  # type: ignore[attr-defined]  # a statement
        for_types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        later = later or for_types or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, later)

    return walk(ast.parse(path.read_text("utf-8")), False)


def room_of(name: str) -> str:
    """The folder of a package that a module is in, such as ``gsg/feeds``; ``gsg`` for what lies beside the rooms."""
    parts = files()[name].relative_to(ROOT).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def arrows() -> dict[str, dict[str, list[Import]]]:
    """The imports that lead from one room to another, by both."""
    found: dict[str, dict[str, list[Import]]] = defaultdict(lambda: defaultdict(list))
    for each in imports():
        if (importer := room_of(each.importer)) != (imported := room_of(each.imported)):
            found[importer][imported].append(each)
    return found


def table() -> str:
    """The rooms, how many files and lines each has, and where its arrows lead with how many imports, as text."""
    rooms: dict[str, list[Path]] = defaultdict(list)
    for name, path in files().items():
        rooms[room_of(name)].append(path)
    lines = []
    for room, paths in rooms.items():
        length = sum(len(path.read_text("utf-8").splitlines()) for path in paths)
        leads = ", ".join(f"{to} {len(each)}" for to, each in sorted(arrows()[room].items()))
        lines.append(f"{room:<28}{len(paths):>3} files {length:>6} lines  -> {leads}")
    return "\n".join(lines)
