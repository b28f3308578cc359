"""What ends a benchmark is said, and is its status."""

from __future__ import annotations

import pytest

from benchmarks.deliveries import WrongDelivery, run_checked


@pytest.mark.parametrize(
    ("problem", "status", "said"),
    [(WrongDelivery("event 7 came twice"), 1, "wrong: event 7 came twice\n"), (KeyboardInterrupt(), 130, "stopped\n")],
    ids=["wrong", "stopped"],
)
def test_what_ends_a_run_is_its_status(problem: BaseException, status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        raise problem

    with pytest.raises(SystemExit) as ended:
        run_checked(work())

    assert (ended.value.code, capsys.readouterr().err) == (status, said)
