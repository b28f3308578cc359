"""House rules that rot easily. The import arrows, public names and dependencies are held by test_imports.py."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rete", "dht", "gsg", "pedro_compat", "simulations")

MAX_LINES, MEDIAN_LINES = 450, 150
"""Lines of one file, and of the file in the middle (HOUSE_STYLE section 1)."""
MAX_FILES = 20
"""Files of one room."""
BESIDE_ROOMS = 12
"""Files of gsg that lie beside its rooms."""

SAY_NOTHING = {"utils", "util", "helpers", "helper", "misc", "common", "manager", "base"}
"""Names of modules and folders that do not tell what is in them."""

CODE_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def pages() -> list[Path]:
    return [
        path
        for pattern in ("*.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "benchmarks/*.md")
        for path in sorted(ROOT.glob(pattern))
    ]


def test_no_module_is_too_long() -> None:
    long = [path for path in modules(*PACKAGES) if len(path.read_text("utf-8").splitlines()) > MAX_LINES]

    assert names(long) == []


def test_most_modules_are_short() -> None:
    lengths = [len(path.read_text("utf-8").splitlines()) for path in modules(*PACKAGES)]

    assert median(lengths) <= MEDIAN_LINES


def test_no_room_is_too_full() -> None:
    rooms = Counter(path.parent for path in modules(*PACKAGES))

    assert {str(room.relative_to(ROOT)): count for room, count in rooms.items() if count > MAX_FILES} == {}
    assert rooms[ROOT / "gsg"] <= BESIDE_ROOMS


def test_no_name_says_nothing() -> None:
    nameless = [
        path for path in modules(*PACKAGES, "tests", "benchmarks", "examples") if SAY_NOTHING & set(path.with_suffix("").parts)
    ]

    assert names(nameless) == []


@pytest.mark.parametrize("folder", [*PACKAGES, "tests", "benchmarks", "examples"])
def test_every_module_says_what_it_is(folder: str) -> None:
    texts = {path: path.read_text("utf-8") for path in modules(folder)}

    assert names([path for path, text in texts.items() if text and not ast.get_docstring(ast.parse(text))]) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exception_from_a_check_names_its_code(package: str) -> None:
    bare = re.compile(r"#\s*(?:type: ignore(?!\[)|noqa(?!: [A-Z])).*")

    assert [(names([path]), found) for path in modules(package) for found in bare.findall(path.read_text("utf-8"))] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text("utf-8")
    return set(re.findall(r"^([a-z]+):", text, re.MULTILINE))


def test_make_alone_lists_every_target_with_a_sentence() -> None:
    said = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert set(re.findall(r"^  make ([a-z]+) +\S", said, re.MULTILINE)) == targets()
    assert {"demo", "test", "check", "bench"} <= targets()


def test_the_gate_can_be_run_and_is_what_a_developer_types() -> None:
    gate = ROOT / ".ci" / "run"

    assert os.access(gate, os.X_OK)
    assert re.findall(r"^make (\w+)$", gate.read_text("utf-8"), re.MULTILINE) == ["check", "test"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_the_gate_can_be_run_in_a_fresh_clone() -> None:
    staged = subprocess.run(["git", "ls-files", "--stage", ".ci/run"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert staged.startswith("100755 ")


def test_modules_of_tests_have_names_of_their_own() -> None:
    # They are imported by these names alone, from whichever folder comes first.
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py")

    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_line_of_prose_holds_one_sentence(page: Path) -> None:
    prose = [line for line in CODE_FENCE.sub("", page.read_text("utf-8")).splitlines() if not line.startswith("|")]

    assert [line for line in prose if re.search(r"[a-z)`”\"][.?!] +[A-Z]", line)] == []


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", CODE_FENCE.sub("", page.read_text("utf-8")))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_changelog_begins_with_what_is_not_released() -> None:
    versions = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)

    assert versions[0] == "Unreleased"
