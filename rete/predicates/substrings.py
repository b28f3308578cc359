"""Tests that a text contains another: each part is asked for only in texts that have its rarest three characters.

A text of n characters has at most n - 2 different triples; each names the parts that wait under it, and only those are searched
for. (Trigram index; Zobel, Moffat and Sacks-Davis, "Searching large lexicons for partially specified terms using compressed
inverted files", 1993.) Parts of fewer than three characters are searched for in each text.
"""

from __future__ import annotations

GRAM = 3
"""Characters under which a part waits."""


class Substrings:
    """Sets of bits by the part that is asked for."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._under: dict[str, dict[str, None]] = {}
        """The parts that wait under three characters, or under none."""
        self._gram_of: dict[str, str] = {}

    def insert(self, part: str, bits: int) -> None:
        """Let these wait for texts that contain a part."""
        if part not in self._bits:
            self._bits[part] = 0
            gram = min(grams_of(part), key=lambda each: (len(self._under.get(each, ())), each), default="")
            self._gram_of[part] = gram
            self._under.setdefault(gram, {})[part] = None
        self._bits[part] |= bits

    def remove(self, part: str, bits: int) -> None:
        """Let these wait no more. Raises KeyError for a part that nobody asks for."""
        self._bits[part] &= ~bits
        if not self._bits[part]:
            del self._bits[part]
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
        under = self._under
        known = under.keys() & grams_of(text) if len(text) < len(under) else [each for each in under if each and each in text]
        found = [part for gram in known for part in under[gram] if part in text]
        return found + [part for part in under[""] if part in text] if "" in under else found

    def __len__(self) -> int:
        return len(self._bits)


def grams_of(text: str) -> set[str]:
    """All runs of three characters of a text."""
    return {text[at : at + GRAM] for at in range(len(text) - GRAM + 1)}
