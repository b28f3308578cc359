"""Commands whose names were not quite right."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from gsg.cli import main
from gsg.cli.groups import LazyGroup, nearest

KNOWN = ["peer", "publish", "subscribe", "explain", "status", "simulate"]
RUNS = ["load-balance", "sweep", "churn", "subscribers", "routing", "dissemination", "replay", "package"]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("statsu", KNOWN, ["status"]),
        ("pubish", KNOWN, ["publish"]),
        ("sub", KNOWN, ["subscribe"]),
        ("STATUS", KNOWN, ["status"]),
        ("p", KNOWN, []),
        ("pe", KNOWN, ["peer"]),
        ("lb", RUNS, ["load-balance"]),
        ("load", RUNS, ["load-balance"]),
        ("loadbalance", RUNS, ["load-balance"]),
        ("chrun", RUNS, ["churn"]),
        ("nothing", KNOWN, []),
    ],
)
def test_a_name_is_near_to_what_was_meant(name: str, known: list[str], meant: list[str]) -> None:
    assert nearest(name, known) == meant


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["statsu"], "No such command 'statsu'. Did you mean 'status'?"),
        (["simulate", "lb"], "No such command 'lb'. Did you mean 'load-balance'?"),
        (
            ["simulate", "xyzzy"],
            "Expected one of load-balance, sweep, churn, subscribers, routing, dissemination, replay, package.",
        ),
        (["xyzzy"], "Expected one of peer, publish, subscribe, channel, topics, explain, ls, status, check, cert, simulate."),
        (["status", "--jsn"], "No such option '--jsn'. Did you mean '--json'?"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_there_is_not_ends_with_what_there_is(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["status", "--help"]])
def test_ctrl_c_ends_the_command_alike_wherever_it_was(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*ignored: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LazyGroup, "format_commands", interrupted)
    monkeypatch.setattr(LazyGroup, "get_command", interrupted)

    result = CliRunner().invoke(main, arguments)

    assert (result.exit_code, result.output) == (130, "")
