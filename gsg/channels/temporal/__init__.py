"""The temporal language: subscriptions to several events together, in order, in a window, and to events that stay away.

What it is not: it knows no channels, consumers or clocks; who calls it says what time it is, and delivers what it finds. Open
grammar.py for the language, then matcher.py: plan.py, memory.py, search.py (whose loops generated.py writes) and absence.py are
its steps, in this order.
"""

from __future__ import annotations

from .grammar import parse
from .matcher import Limits, Match, Stopped, TemporalMatcher
from .query import TemporalQuery

__all__ = ["Limits", "Match", "Stopped", "TemporalMatcher", "TemporalQuery", "parse"]
