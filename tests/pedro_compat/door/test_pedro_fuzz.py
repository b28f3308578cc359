"""100,000 random lines through doors, pipelined: each is answered once, and nobody else notices. More of them: `make soak`."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from pedro_doors import doors
from pedro_fuzz import PART, round_of
from pedro_wire import close_all

from pedro_compat import PAPER, V1_14, Dialect

LINES = 25_000


@pytest.fixture(autouse=True)
def _sockets_closed() -> Iterator[None]:
    yield
    close_all()


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=["paper", "1.14"])
async def test_random_lines_are_answered_one_by_one_and_disturb_nobody(
    dialect: Dialect, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with doors(1, dialect=dialect, extensions=True, remember_s=60, admin_host="127.0.0.1") as [(peer, door)]:
        outcome = await round_of(seed, LINES, door)

        assert outcome.strange == []
        assert (outcome.lines, outcome.witnessed) == (LINES, LINES // PART)
        assert min(outcome.accepted, outcome.delivered) > LINES // 10
        assert peer._parts.rendezvous.conditions.tests.failed == 0
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
