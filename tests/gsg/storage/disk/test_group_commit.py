"""Group commit: whoever waits for the disk is told, whatever goes wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import dht
import gsg.storage.disk.group_commit
from gsg.errors import Refused
from gsg.storage.clock import HybridClock
from gsg.storage.disk.data_directory import DataDirectory
from gsg.storage.disk.group_commit import GroupCommit
from gsg.storage.disk.journal import Group, Journal
from gsg.storage.facts_by_key import FactsByKey

FACT = ("a",)


@pytest.mark.parametrize(
    ("owner", "name"), [(DataDirectory, "commit"), (Journal, "take")], ids=["writing", "choosing what to write"]
)
async def test_a_defect_is_told_to_whoever_waits_and_the_change_is_written_later(
    owner: type, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.storage.disk.group_commit, "RETRY_S", 0.0)
    failures = [TypeError("a defect")]
    work = getattr(owner, name)

    def fail_once(self: DataDirectory | Journal, *group: Group) -> object:
        if failures:
            raise failures.pop()
        return work(self, *group)

    keeping, entries = GroupCommit(tmp_path / "data"), FactsByKey()
    await keeping.open(None, lambda: dht.Identity(bytes(32)))
    await keeping.resume(entries, HybridClock(lambda: 1))
    monkeypatch.setattr(owner, name, fail_once)
    running = asyncio.create_task(keeping.run())
    async with asyncio.timeout(30):
        entries.enter((1, 0, "a"), FACT, 1)
        refused, kept = keeping.until_kept(), None
        assert refused is not None
        with pytest.raises(
            Refused,
            match=r"^it failed itself while it wrote to its disk \(TypeError: a defect\), of which its log says more; nothing is ",
        ):
            await refused()

        kept = keeping.until_kept()
        assert kept is not None
        await kept()

    running.cancel()
    await asyncio.wait([running])
    await keeping.close()
    assert running.cancelled()


async def test_a_life_that_ends_at_once_keeps_the_next_one_from_repeating_its_numbers(tmp_path: Path) -> None:
    begun_at = []
    for _ in range(3):
        keeping, versions = (
            GroupCommit(tmp_path / "data"),
            HybridClock(lambda: 1),
        )  # a clock that stands, far behind what others have told
        identity = await keeping.open(None, lambda: dht.Identity(bytes(32)))
        await keeping.resume(FactsByKey(), versions)
        await keeping.begin_life(identity.id, 1)
        begun_at.append(versions.latest)
        keeping.abandon()

    assert begun_at[0] < begun_at[1] < begun_at[2]
