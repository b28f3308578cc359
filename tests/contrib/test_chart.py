"""The chart for Kubernetes, rendered as far as that can be done without Helm (chart.py)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from chart import CHART, default_values, render
from options import parameters_of

SET = "StatefulSet/gsg"


def container(objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    [found] = objects[SET]["spec"]["template"]["spec"]["containers"]
    return found


def test_there_are_peers_two_services_and_a_disruption_budget() -> None:
    objects = render(default_values())

    assert sorted(objects) == ["PodDisruptionBudget/gsg", "Service/gsg", "Service/gsg-peers", SET]
    headless = objects["Service/gsg-peers"]["spec"]
    assert (headless["clusterIP"], headless["publishNotReadyAddresses"]) == ("None", True)
    assert objects[SET]["spec"]["serviceName"] == "gsg-peers"
    assert objects["PodDisruptionBudget/gsg"]["spec"]["maxUnavailable"] == 1


def test_whatever_selects_pods_selects_those_that_there_are() -> None:
    objects = render(default_values(), release="other")
    labels = objects["StatefulSet/other"]["spec"]["template"]["metadata"]["labels"]

    selectors = [each["spec"]["selector"] for each in objects.values()]
    assert [each.get("matchLabels", each) for each in selectors] == [labels] * 4


def test_probes_ask_for_what_they_are_named_after() -> None:
    peer = container(render(default_values()))

    asked = {name: peer[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: each["path"] for name, each in asked.items()} == {
        "startup": "/startupz",
        "liveness": "/livez",
        "readiness": "/readyz",
    }
    assert {each["port"] for each in asked.values()} <= {port["name"] for port in peer["ports"]}


def test_the_image_is_that_of_the_version_or_of_the_values() -> None:
    values = default_values()

    assert container(render(values))["image"] == "gsg:0.2.0"
    values["image"]["tag"] = "9"
    assert container(render(values))["image"] == "gsg:9"


def test_a_secret_with_tokens_is_mounted_where_there_is_one_and_else_the_door_is_open() -> None:
    without, secret = render(default_values()), render(default_values() | {"tokens": "ours"})

    def options(objects: dict[str, dict[str, Any]]) -> str:
        return next(each["value"] for each in container(objects)["env"] if each["name"] == "ACCESS")

    assert (options(without), options(secret)) == ("--http-open", "--http-token-file /etc/gsg-tokens/tokens")
    assert [each["name"] for each in container(secret)["volumeMounts"]] == ["data", "tmp", "tokens"]
    volumes = secret[SET]["spec"]["template"]["spec"]["volumes"]
    assert volumes[1]["secret"] == {"secretName": "ours", "defaultMode": 0o400}


def test_a_secret_of_the_network_is_mounted_where_there_is_one() -> None:
    without, secret = render(default_values()), render(default_values() | {"networkSecret": "ours"})

    def mounts(objects: dict[str, dict[str, Any]]) -> list[str]:
        return [each["name"] for each in container(objects)["volumeMounts"]]

    def options(objects: dict[str, dict[str, Any]]) -> str:
        return next(each["value"] for each in container(objects)["env"] if each["name"] == "SECRET")

    assert (mounts(without), options(without)) == (["data", "tmp"], "")
    assert (mounts(secret), options(secret)) == (["data", "tmp", "network-secret"], "--secret-file /etc/gsg/secret")
    volumes = secret[SET]["spec"]["template"]["spec"]["volumes"]
    assert volumes[1]["secret"] == {"secretName": "ours", "defaultMode": 0o400}


@pytest.mark.parametrize(("storage", "expected"), [({}, None), ({"className": "fast"}, "fast")])
def test_storage_is_that_of_the_cluster_or_of_the_values(storage: dict[str, str], expected: str | None) -> None:
    values = default_values()
    values["storage"] |= storage

    [claim] = render(values)[SET]["spec"]["volumeClaimTemplates"]

    assert claim["spec"].get("storageClassName") == expected
    assert claim["spec"]["resources"]["requests"]["storage"] == "10Gi"


@pytest.mark.parametrize(
    ("pod", "known", "joins"),
    [
        ("gsg-0", [], []),
        ("gsg-0", ["gsg-0", "gsg-2"], ["gsg-2"]),
        ("gsg-1", ["gsg-0", "gsg-1"], ["gsg-0"]),
        ("gsg-2", ["gsg-0", "gsg-1", "gsg-2"], ["gsg-0", "gsg-1"]),
        ("gsg-1", ["gsg-2"], ["gsg-2"]),
    ],
    ids=["the first of all", "the first, again", "the second", "the third", "the first one's name never comes"],
)
def test_a_pod_joins_those_whose_names_have_an_address(pod: str, known: list[str], joins: list[str], tmp_path: Path) -> None:
    started = start(pod, known, tmp_path)

    options = parameters_of(started)
    assert started[:1] == ["peer"]
    assert options["joins"] == tuple(f"{name}.gsg-peers:8471" for name in joins)
    assert options["http_hosts"] == ("gsg", f"{pod}.gsg-peers")
    assert (options["listen"], options["log_format"]) == ("10.1.2.3:8471", "json")


def start(pod: str, known: list[str], folder: Path) -> list[str]:
    """What a pod's command starts `gsg` with, where these names have an address."""
    peer = container(render(default_values()))
    names = " ".join(f"{name}.gsg-peers" for name in known)
    said = folder / "said"
    for name, script in {
        "getent": f'for each in {names} none; do [ "$each" = "$2" ] && exit 0; done; exit 2',
        "gsg": f'printf "%s\\n" "$@" > {said}',
        "sleep": "exit 0",
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    environment = {each["name"]: each["value"] for each in peer["env"] if "value" in each}
    environment |= {"POD_NAME": pod, "POD_IP": "10.1.2.3", "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(peer["command"], env=environment, check=True, timeout=60)
    return said.read_text().split()


def test_each_value_is_used() -> None:
    written = "".join(path.read_text("utf-8") for path in (CHART / "templates").iterdir())

    used = {path.partition(".")[0] for path in re.findall(r"\.Values\.([\w.]+)", written)}
    assert used == set(default_values())


@pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not installed")
def test_helm_takes_the_chart() -> None:
    subprocess.run(["helm", "lint", "--strict", str(CHART)], check=True, timeout=60)
    subprocess.run(["helm", "template", "gsg", str(CHART)], check=True, timeout=60, stdout=subprocess.DEVNULL)
