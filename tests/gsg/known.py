"""What a holder knows of a key, in one list."""

from __future__ import annotations

from gsg.storage.facts_by_key import FactsByKey
from gsg.tuples.features import Key
from gsg.tuples.long_constants import Remains


def history_of(held: FactsByKey, key: Key) -> list[tuple[int, Remains, int]]:
    """The facts under a key as (1, fact, stamp), and what remains of those that went as (-1, remains, stamp)."""
    present: list[tuple[int, Remains, int]] = [(1, fact, stamp) for fact, stamp in held.under(key).items()]
    return present + [(-1, remains, stamp) for remains, stamp in held.buried.under(key).items()]
