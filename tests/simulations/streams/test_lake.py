"""The example: a lake that follows a query, and means that go back into the space."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from loopback_peer import LoopbackPeer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.waits, pytest.mark.long]

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "lake.py"


def test_the_lake_has_each_change_once_and_the_space_the_means_of_now(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("lake", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    lake = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lake)

    with LoopbackPeer() as peer:
        lake.run(spark, peer.url, tmp_path)

    first, means, _, then, new_means = capsys.readouterr().out.splitlines()
    assert sorted(first.removeprefix("lake: ").split(", ")) == ["+s1 20.0", "+s2 23.0", "+s3 11.5"]
    assert means == "space: cellar 11.5, kitchen 21.5"
    assert then == f"{first}, -s1 20.0, +s1 22.0"
    assert new_means == "space: cellar 11.5, kitchen 22.5"
