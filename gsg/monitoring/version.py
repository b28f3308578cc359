"""Which version this is, as peers tell each other; that of pyproject.toml."""

from __future__ import annotations

__version__ = "0.2.0"
