"""Ctrl-C while Spark runs: the command ends at once, and whoever called it has its own way of Ctrl-C back."""

from __future__ import annotations

import os
import signal

import click
import pytest

import simulations.engine.spark
from gsg.cli.simulate.running import start_spark


def test_ctrl_c_ends_a_run_on_spark_at_once_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(simulations.engine.spark, "session", lambda name, master, conf: None)
    monkeypatch.setattr(os, "_exit", ended.append)
    before = signal.getsignal(signal.SIGINT)

    with click.Context(click.Command("run")):
        start_spark(lambda title: None, None, ())
        signal.raise_signal(signal.SIGINT)

    assert ended == [130]
    assert signal.getsignal(signal.SIGINT) is before
