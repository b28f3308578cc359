"""Things by tests on one text: that it begins with, ends with, contains or is (whatever the case) another.

The indexes are those of rete/predicates; here is only which of them a relation of the predicate language needs, and how the text is
written for it.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from rete.predicates import Prefixes, Substrings
from rete.predicates.substrings import GRAM

from ..languages.relations import CI
from .memory import Memory, entry_bytes, is_worth_remembering

Thing = TypeVar("Thing")
TEXT_TESTS: Final = frozenset({"prefix", "suffix", "contains", "prefix-ci", "suffix-ci", "contains-ci", "=-ci"})
"""Relations that can be looked up."""
PRESENT: Final = 1
"""The set of bits that an index holds for each text: what waits for it is found by the text itself, however many there are."""
REMEMBERED_BYTES: Final = 8 * 1024 * 1024
"""Of texts of which it is remembered what they pass, over all tables of a matcher together: names of programs and users come again
and again. Beyond, all are forgotten; texts longer than MAX_CHARACTERS are never remembered (memory.py)."""


def looked_up(relation: str, text: str) -> str:
    """A text as it is looked up for a relation: folded, where case does not count."""
    return text.casefold() if relation.endswith(CI) else text


def is_rare(relation: str, text: str) -> bool:
    """Whether few texts pass: what is shorter than an index of parts looks up is in most of them."""
    return len(text) >= (GRAM if relation.startswith("contains") else 1) or relation == "=-ci"


class TextTests(Generic[Thing]):
    """One thing for each relation and text. Texts are given as :func:`looked_up` says."""

    __slots__ = ("_indexes", "_memory", "_remembered")

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._remembered: dict[str, list[Thing]] = {}
        """What texts passed that came lately, until a test comes or goes; limit: that of the memory."""
        self._indexes: dict[str, tuple[bool, bool, Prefixes | Substrings | None, dict[str, Thing]]] = {}
        """By relation: whether texts are folded, whether they are reversed, the index (none for equality), and what is found."""

    def insert(self, relation: str, text: str, thing: Thing) -> None:
        """Let a thing be found by texts that pass a test for which there is none yet."""
        self._forget_all()
        index = self._indexes.get(relation)
        if index is None:
            texts = Substrings() if relation.startswith("contains") else None if relation == "=-ci" else Prefixes()
            index = self._indexes[relation] = (relation.endswith(CI), relation.startswith("suffix"), texts, {})
        _, is_reversed, texts, things = index
        text = text[::-1] if is_reversed else text
        things[text] = thing
        if texts is not None:
            texts.insert(text, PRESENT)

    def remove(self, relation: str, text: str) -> None:
        """Forget the thing of a test. Raises KeyError for a test that has none."""
        self._forget_all()
        _, is_reversed, texts, things = self._indexes[relation]
        text = text[::-1] if is_reversed else text
        del things[text]
        if texts is not None:
            texts.remove(text, PRESENT)
        if not things:
            del self._indexes[relation]

    def get(self, relation: str, text: str) -> Thing | None:
        """The thing of a test."""
        index = self._indexes.get(relation)
        return None if index is None else index[3].get(text[::-1] if index[1] else text)

    def passed(self, text: str) -> list[Thing]:
        """The things of all tests that a text passes. Not to be changed by whoever is given it."""
        remembered = self._remembered.get(text)
        if remembered is not None:
            return remembered
        found = self._passed(text)
        if is_worth_remembering(text):
            self._remembered[text] = found
            self._memory.take(self, entry_bytes(text, found))
        return found

    def forget(self) -> None:
        """Remember nothing of texts that came."""
        self._remembered.clear()

    def _forget_all(self) -> None:
        if self._remembered:
            self._remembered.clear()
            self._memory.give_back(self)

    def _passed(self, text: str) -> list[Thing]:
        found = []
        folded = ""
        for is_folded, is_reversed, texts, things in self._indexes.values():
            if is_folded:
                folded = folded or text.casefold()
            value = folded if is_folded else text
            if texts is None:
                thing = things.get(value)
                if thing is not None:
                    found.append(thing)
            else:
                found += [things[each] for each in texts.texts_of(value[::-1] if is_reversed else value)]
        return found

    def __bool__(self) -> bool:
        return bool(self._indexes)
