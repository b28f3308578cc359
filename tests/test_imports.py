"""The house's order: who may import whom, what is public, what is loaded when, and that every dependency is accounted for."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib

import networkx
import pytest
from import_graph import ROOT, Import, arrows, files, imports, room_of, table

MAY_IMPORT = {
    "rete": set[str](),
    "dht": set[str](),
    "gsg": {"rete", "dht"},
    "pedro_compat": {"gsg", "rete", "dht"},
    "simulations": {"gsg", "rete", "dht", "pedro_compat"},
}
"""HOUSE_STYLE section 1. ``gsg/cli`` may also import doors and the simulation, inside functions."""

ROOMS: dict[str, set[str]] = {
    "rete/operators": {"rete/predicates"},
    "rete/compile": {"rete/operators"},
    "rete/explain": {"rete/operators", "rete/compile"},
    "rete/predicates": set(),
    "dht/identity": set(),
    "dht/datagrams": {"dht/identity"},
    "dht/liveness": {"dht/identity", "dht/datagrams"},
    "dht/overlay": {"dht/identity", "dht/datagrams", "dht/liveness"},
    "dht/links": {"dht/identity", "dht/datagrams", "dht/liveness", "dht/overlay"},
    "dht/simnet": set(),
    "gsg/tuples": set(),
    "gsg/wire": {"gsg/tuples"},
    "gsg/languages": {"gsg/tuples"},
    "gsg/placement": {"gsg/tuples", "gsg/wire"},
    "gsg/storage": {"gsg/tuples", "gsg/wire"},
    "gsg/rendezvous": {"gsg/tuples", "gsg/wire", "gsg/languages", "gsg/placement", "gsg/storage"},
    "gsg/feeds": {"gsg/tuples", "gsg/wire", "gsg/languages", "gsg/placement", "gsg/rendezvous"},
    "gsg/publisher": {"gsg/tuples", "gsg/wire", "gsg/placement", "gsg/storage", "gsg/rendezvous"},
    "gsg/replication": {"gsg/tuples", "gsg/wire", "gsg/placement", "gsg/storage", "gsg/rendezvous"},
    "gsg/churn": {"gsg/tuples", "gsg/wire", "gsg/placement", "gsg/storage", "gsg/rendezvous", "gsg/publisher", "gsg/replication"},
    "gsg/explain": {"gsg/tuples", "gsg/languages"},
    "gsg/subscriptions": {"gsg/tuples", "gsg/wire", "gsg/languages", "gsg/placement", "gsg/rendezvous", "gsg/feeds", "gsg/explain"},
    "gsg/topics": {"gsg/tuples", "gsg/wire", "gsg/placement", "gsg/languages", "gsg/publisher", "gsg/subscriptions"},
    "gsg/channels": {"gsg/tuples", "gsg/wire", "gsg/languages", "gsg/feeds"},
    "gsg/monitoring": {
        "gsg/tuples",
        "gsg/wire",
        "gsg/languages",
        "gsg/placement",
        "gsg/storage",
        "gsg/rendezvous",
        "gsg/feeds",
        "gsg/publisher",
        "gsg/explain",
        "gsg/subscriptions",
    },
    "gsg/experiments": {"gsg/wire", "gsg/placement", "gsg/topics", "gsg/monitoring"},
    "gsg/doors": set(),
    "gsg/http": {
        "gsg/doors",
        "gsg/tuples",
        "gsg/wire",
        "gsg/languages",
        "gsg/explain",
        "gsg/subscriptions",
        "gsg/channels",
        "gsg/topics",
        "gsg/monitoring",
    },
    "gsg/cli": {
        "gsg/tuples",
        "gsg/wire",
        "gsg/languages",
        "gsg/explain",
        "gsg/monitoring",
        "gsg/channels",
        "gsg/topics",
        "gsg/experiments",
        "gsg/doors",
        "gsg/http",
    },
    "pedro_compat/terms": set(),
    "pedro_compat/goals": {"pedro_compat/terms"},
    "pedro_compat/door": {"pedro_compat/terms", "pedro_compat/goals"},
    "pedro_compat/client": {"pedro_compat/terms", "pedro_compat/goals", "pedro_compat/door"},
    "simulations/drawing": set(),
    "simulations/engine": {"simulations/drawing"},
    "simulations/workload": {"simulations/engine"},
    "simulations/load_balance": {"simulations/engine", "simulations/workload", "simulations/drawing"},
    "simulations/churn": {"simulations/engine", "simulations/workload", "simulations/load_balance", "simulations/drawing"},
    "simulations/routing": {"simulations/engine", "simulations/drawing"},
    "simulations/dissemination": {"simulations/engine", "simulations/drawing"},
    "simulations/replay": {"simulations/engine", "simulations/workload"},
    "simulations/subscribers": {
        "simulations/engine",
        "simulations/workload",
        "simulations/load_balance",
        "simulations/routing",
        "simulations/drawing",
    },
}
"""The rooms of each package, and which others of it each may import; files beside the rooms put them together."""

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
    "opentelemetry",
    "prometheus_client",
)


def forbidden(found: Import) -> bool:
    """Whether an import leads where MAY_IMPORT has no arrow."""
    importer, imported = found.importer.partition(".")[0], found.imported.partition(".")[0]
    if imported == importer or imported in MAY_IMPORT[importer]:
        return False
    puts_doors_together = found.importer.startswith("gsg.cli") and imported in ("pedro_compat", "simulations")
    return not (puts_doors_together and found.later)


def said(found: Import) -> str:
    return f"{files()[found.importer].relative_to(ROOT)}:{found.line} imports {found.imported}"


def test_packages_import_along_the_arrows() -> None:
    assert imports()
    assert [said(found) for found in imports() if forbidden(found)] == []


def test_a_forbidden_import_is_noticed() -> None:
    assert forbidden(Import("rete.chain", 1, "gsg", False))
    assert forbidden(Import("gsg.peer", 1, "pedro_compat", True))
    assert forbidden(Import("gsg.peer", 1, "simulations", False))
    assert forbidden(Import("gsg.cli.peer", 1, "pedro_compat", False))
    assert not forbidden(Import("gsg.cli.peer", 1, "pedro_compat", True))
    assert not forbidden(Import("gsg.cli.peer", 1, "simulations", True))
    assert not forbidden(Import("gsg.peer", 1, "dht", False))


def test_rooms_import_along_the_arrows() -> None:
    wrong = [
        said(found)
        for room, leads in arrows().items()
        for to, every in leads.items()
        if room in ROOMS and to.partition("/")[0] == room.partition("/")[0] and to in ROOMS and to not in ROOMS[room]
        for found in every
    ]

    assert wrong == []


def test_every_room_is_in_the_table() -> None:
    rooms = {room_of(name) for name in files()}

    assert {room for room in rooms if "/" in room} == set(ROOMS)


def test_the_table_has_no_circle() -> None:
    assert list(networkx.simple_cycles(networkx.DiGraph(ROOMS))) == []


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = networkx.DiGraph((found.importer, found.imported) for found in imports())

    assert [sorted(circle) for circle in networkx.strongly_connected_components(graph) if len(circle) > 1] == []


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


if __name__ == "__main__":
    print(table())
