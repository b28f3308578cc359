"""Searches of a text for one of several, in functions that are called often.

What the relation itself does is right for a few tries of short texts. Where a condition is tried again and again, it is worth to
look first whether it can hold at all, and to make one regular expression of many texts for those values that are long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from ..languages.relations import CI, BadConstant, Relations
from ..languages.source import Source
from .text_tests import looked_up

TEXTS: Final = 12
"""From so many texts on, a long value is searched for all of them at once."""
LONG: Final = 256
"""Characters of a value from which on that is as quick as a search for each."""
WORTH: Final = 16
"""Long values that are searched for each text before it is worth an expression, which takes some 0.2 ms to make."""
Search = Callable[[str], bool]


class SearchSource(Source):
    """Writes the searches of this module in the place of ``contains`` with several texts."""

    def __init__(self, relations: Relations) -> None:
        super().__init__(relations)
        self._known = relations

    def _holds(self, name: str, constants: list[Any]) -> str:  # Any: as in Source
        if name.removesuffix(CI) != "contains":
            return super()._holds(name, constants)
        key = "search", name, *constants
        return self._made.get(key) or self._name(key, search_for(name, constants, self._known))


def search_for(name: str, texts: list[str], relations: Relations) -> Search:
    """Whether a text contains one of some, for ``contains`` and ``contains-ci``."""
    holds = relations.make(name, texts)
    folded = [looked_up(name, text) for text in texts]
    if not any(map(str.isascii, folded)):
        return lambda value: not value.isascii() and holds(value)
    if len(texts) < TEXTS:
        return holds
    return _LongSearch(holds, name, folded, relations)


class _LongSearch:
    """Searches long values for all texts at once, when there were some of these."""

    def __init__(self, holds: Search, name: str, folded: list[str], relations: Relations) -> None:
        self._holds = holds
        self._is_folded = name.endswith(CI)
        self._texts = folded
        self._relations = relations
        self._left = WORTH
        self._search: Search | None = None

    def __call__(self, value: str) -> bool:
        if len(value) < LONG:
            return self._holds(value)
        if self._left:
            self._left -= 1
            if not self._left:
                self._search = _expression(self._texts, self._relations)
        if self._search is None:
            return self._holds(value)
        return self._search(value.casefold() if self._is_folded else value)


def _expression(texts: list[str], relations: Relations) -> Search | None:
    """One regular expression that is found where one of some texts is; None where they are too large together."""
    try:
        return relations.make("regex", ["|".join(map(_escaped, texts))])
    except BadConstant:
        return None


def _escaped(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", lambda found: f"\\x{{{ord(found[0]):x}}}", text)
