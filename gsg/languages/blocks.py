"""What a GSG script says, block by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ..tuples.terms import Tuple
from .query import Query


@dataclass(frozen=True, slots=True)
class Insert:
    """``INSERT { ... }``: these facts hold from now on."""

    tuples: tuple[Tuple, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """``DELETE { ... }``: these facts hold no longer."""

    tuples: tuple[Tuple, ...]


@dataclass(frozen=True, slots=True)
class Notify:
    """``NOTIFY { ... }``: these events happen now."""

    tuples: tuple[Tuple, ...]


@dataclass(frozen=True, slots=True)
class Subscribe:
    """``SUBSCRIBE ... { ... }``: a standing query, and the text that says it, which a peer can be sent."""

    query: Query
    text: str = field(default="", compare=False)


Block: TypeAlias = Insert | Delete | Notify | Subscribe
