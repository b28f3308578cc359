"""The Python that `make` takes for its environment."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

QUICKEST = runpy.run_path(str(Path(__file__).parent.parent / ".ci" / "quickest.py"))
MINE, OTHER = Path("mine"), Path("other")


@pytest.mark.parametrize(
    ("rounds", "taken"),
    [
        pytest.param([{MINE: 1.0, OTHER: 0.7}, {MINE: 2.0, OTHER: 1.5}, {MINE: 1.0, OTHER: 1.9}], OTHER, id="mostly quicker"),
        pytest.param([{MINE: 1.0, OTHER: 0.95}] * 3, MINE, id="hardly quicker"),
        pytest.param([{MINE: 1.0}, {MINE: 1.0}], MINE, id="the only one"),
        pytest.param([{MINE: 1.0, OTHER: 0.5}, {MINE: 1.0}], MINE, id="the other fails now and then"),
        pytest.param([{OTHER: 3.0}, {OTHER: 3.0}], OTHER, id="the one asked cannot make environments"),
        pytest.param([{}, {}], MINE, id="none can"),
    ],
)
def test_another_build_of_python_is_taken_where_it_is_quicker_for_certain(rounds: list[dict[Path, float]], taken: Path) -> None:
    assert QUICKEST["chosen"](MINE, rounds) == taken
