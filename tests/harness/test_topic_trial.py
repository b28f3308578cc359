"""The trial of a topic's members notices what it is there to notice; the trial itself is a part of `make soak`."""

from __future__ import annotations

import pytest
import topic_trial

PUBLISHED = [(0, 0), (0, 1), (3, 2)]


@pytest.mark.parametrize(
    ("told", "lost", "said"),
    [
        ([(0, 0), (3, 2), (0, 1)], 0, []),
        ([(0, 0), (3, 2)], 1, []),
        ([(0, 0), (3, 2)], 0, ["it misses 1 events, 0 of them told as a gap: [(0, 1)]"]),
        ([*PUBLISHED, (3, 2)], 0, ["it was told twice of [(3, 2)]"]),
        ([(0, 1), (0, 0), (3, 2)], 0, ["it was told out of order by 0: ['0 after 1']"]),
        ([*PUBLISHED, (4, 3)], 0, ["it was told of what nobody published: [(4, 3)]"]),
    ],
    ids=["as promised", "a gap", "missing", "twice", "out of order", "invented"],
)
def test_what_a_member_was_told_is_judged(told: list[tuple[int, int]], lost: int, said: list[str]) -> None:
    assert list(topic_trial.amiss("it", told, lost, PUBLISHED)) == said


def test_half_are_killed_and_half_of_the_others_stopped() -> None:
    trial = topic_trial.Trial(24, 0.5)

    assert (trial.killed, trial.stopped, trial.shared) == (12, 6, 6)


@pytest.mark.parametrize("wrong", [("--peers", "65"), ("--peers", "3"), ("--killed", "1")])
def test_what_cannot_be_run_is_refused(wrong: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        topic_trial.main(wrong)

    assert f"{wrong[0]}: expected" in capsys.readouterr().err
