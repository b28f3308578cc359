"""Tests that a text contains another: each part is asked for only in texts that have its rarest three characters.

A text of n characters has at most n - 2 different triples; each names the parts that wait under it, and only those are searched
for. (Trigram index; Zobel, Moffat and Sacks-Davis, "Searching large lexicons for partially specified terms using compressed
inverted files", 1993.) What many parts have is taken to be frequent in texts as well. Parts of fewer than three characters are
searched for in each text, and so are all where they are few beside the characters of a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

GRAM = 3
"""Characters under which a part waits."""
CHARACTERS = 2
"""Of a text, that take as long to be looked up as one part to be searched for."""
Gram: TypeAlias = tuple[str, ...]
"""Characters one by one: zip makes them of a text without a text for each."""


class Substrings:
    """Sets of bits by the part that is asked for."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._under: dict[Gram, dict[str, None]] = {}
        """The parts that wait under three characters, or under none."""
        self._gram_of: dict[str, Gram] = {}
        self._parts_with: dict[Gram, int] = {}
        """How many parts have three characters."""

    def insert(self, part: str, bits: int) -> None:
        """Let these wait for texts that contain a part."""
        if part not in self._bits:
            self._bits[part] = 0
            grams = set(grams_of(part))
            for each in grams:
                self._parts_with[each] = self._parts_with.get(each, 0) + 1
            gram = self._gram_of[part] = min(grams, key=self._crowd, default=())
            self._under.setdefault(gram, {})[part] = None
        self._bits[part] |= bits

    def _crowd(self, gram: Gram) -> tuple[int, Gram]:
        return self._parts_with[gram] + len(self._under.get(gram, ())), gram

    def remove(self, part: str, bits: int) -> None:
        """Let these wait no more. Raises KeyError for a part that nobody asks for."""
        self._bits[part] &= ~bits
        if not self._bits[part]:
            del self._bits[part]
            for each in set(grams_of(part)):
                self._parts_with[each] -= 1
                if not self._parts_with[each]:
                    del self._parts_with[each]
            gram = self._gram_of.pop(part)
            del self._under[gram][part]
            if not self._under[gram]:
                del self._under[gram]

    def passed(self, text: str) -> int:
        """Those whose part the text contains."""
        found = 0
        for part in self.texts_of(text):
            found |= self._bits[part]
        return found

    def texts_of(self, text: str) -> list[str]:
        """The parts that the text contains, each once."""
        if CHARACTERS * len(self._bits) <= len(text):
            return [part for part in self._bits if part in text]
        under = self._under
        found = [part for gram in under.keys() & grams_of(text) for part in under[gram] if part in text]
        return found + [part for part in under[()] if part in text] if () in under else found

    def __len__(self) -> int:
        return len(self._bits)


def grams_of(text: str) -> Iterable[Gram]:
    """All runs of three characters of a text, in order."""
    return zip(text, text[1:], text[2:], strict=False)
