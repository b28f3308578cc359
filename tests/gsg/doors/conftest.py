"""Certificates on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from certified import Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A folder for certificates."""
    return Files.at(tmp_path / "tls")
