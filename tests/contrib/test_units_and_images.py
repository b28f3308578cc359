"""What runs peers by itself: the unit of systemd, the image and what compose starts."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from options import parameters_of

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "contrib" / "systemd" / "gsg@.service"
DOCKERFILE = ROOT / "contrib" / "docker" / "Dockerfile"
COMPOSE = ROOT / "contrib" / "docker" / "compose.yml"


def has_compose() -> bool:
    return (
        shutil.which("docker") is not None and not subprocess.run(["docker", "compose", "version"], capture_output=True).returncode
    )


@pytest.fixture
def unit() -> RawConfigParser:
    read = RawConfigParser(strict=False)
    read.optionxform = str  # type: ignore[assignment,method-assign]  # names are written as they are
    read.read_string(UNIT.read_text("utf-8"))
    return read


def test_the_unit_is_told_by_the_peer_how_it_is(unit: RawConfigParser) -> None:
    service = unit["Service"]

    assert {name: service[name] for name in ("Type", "NotifyAccess", "WatchdogSec", "DynamicUser", "StateDirectory")} == {
        "Type": "notify",
        "NotifyAccess": "main",
        "WatchdogSec": "30s",
        "DynamicUser": "yes",
        "StateDirectory": "gsg/%i",
    }


def test_the_unit_starts_a_peer_with_options_that_there_are(unit: RawConfigParser) -> None:
    words = shlex.split(unit["Service"]["ExecStart"].replace("$GSG_OPTIONS", "--join 192.0.2.1:8471"))

    assert words[:3] == ["/usr/bin/env", "gsg", "peer"]
    assert parameters_of(words[2:])["data"] == Path("${STATE_DIRECTORY}")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit() -> None:
    verified = subprocess.run(["systemd-analyze", "verify", str(UNIT)], capture_output=True, text=True, timeout=60, check=False)

    assert (verified.returncode, verified.stderr) == (0, "")


def instructions() -> list[tuple[str, str]]:
    text = DOCKERFILE.read_text("utf-8").replace("\\\n", " ")
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in text.splitlines()) if word.isupper()]


def test_the_image_runs_without_a_root_user_and_says_how_it_is() -> None:
    told = dict(instructions())

    assert int(told["USER"]) > 0
    assert yaml.safe_load(told["ENTRYPOINT"]) == ["gsg"]
    started = parameters_of(yaml.safe_load(told["CMD"]))
    # A door beyond loopback is asked who may come, or does not stand.
    assert (started["http"], started["http_open"]) == ("0.0.0.0:8470", True)
    asked = yaml.safe_load(told["HEALTHCHECK"].partition("CMD")[2])
    assert asked[:2] == ["gsg", "check"]
    assert parameters_of(asked[1:])["timeout_s"] == 5.0


def test_the_image_has_every_package() -> None:
    copied = {rest.split()[0] for word, rest in instructions() if word == "COPY"}
    wheel = re.search(r"^packages = (\[.*\])$", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    let_in = (DOCKERFILE.with_name("Dockerfile.dockerignore")).read_text("utf-8").splitlines()

    assert wheel is not None
    assert set(yaml.safe_load(wheel[1])) <= copied
    assert [path for path in yaml.safe_load(wheel[1]) if f"!{path}" not in let_in] == []


@pytest.fixture
def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(COMPOSE.read_text("utf-8"))
    return read


def test_compose_starts_three_peers_that_know_each_other(compose: dict[str, Any]) -> None:
    peers = {name: service for name, service in compose["services"].items() if service["image"] == "gsg"}

    started = {name: parameters_of(shlex.split(service["command"])) for name, service in peers.items()}
    assert list(started) == ["gsg-0", "gsg-1", "gsg-2"]
    assert {address.partition(":")[0] for each in started.values() for address in each["joins"]} <= set(started)
    assert [each["joins"] for each in started.values()].count(()) == 1
    assert all(each["http_open"] for each in started.values())
    # A door answers to its own names alone, and Prometheus asks by that of the service.
    assert {name: each["http_hosts"] for name, each in started.items()} == {name: (name,) for name in started}
    scraped = yaml.safe_load((ROOT / "contrib" / "prometheus" / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    assert scraped[0]["static_configs"][0]["targets"] == [f"{name}:8470" for name in started]


def test_what_compose_mounts_is_there(compose: dict[str, Any]) -> None:
    mounted = [volume.split(":")[0] for service in compose["services"].values() for volume in service.get("volumes", [])]

    assert [path for path in mounted if path.startswith("..") and not (COMPOSE.parent / path).exists()] == []
    assert {path for path in mounted if not path.startswith("..")} == set(compose["volumes"])


@pytest.mark.skipif(not has_compose(), reason="docker compose is not installed")
def test_compose_takes_the_file() -> None:
    subprocess.run(["docker", "compose", "--file", str(COMPOSE), "config", "--quiet"], check=True, timeout=60)
