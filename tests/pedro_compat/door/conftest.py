"""What tests of Pedro's door have in common."""

from __future__ import annotations

import logging

import pytest

from dht.log_rate import LogRate


@pytest.fixture(autouse=True)
def _refusals_are_logged_however_many_other_tests_brought_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pedro_compat.door.door._refused", LogRate(logging.getLogger("pedro_compat.door.door")))
