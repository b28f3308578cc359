"""Blank nodes of files under labels that stay the same: reading a file again gives the nodes that it gave before.

A label belongs to its file (RDF 1.1 Turtle, section 2.6): a file that has an IRI of its own, or a base, puts a hash of that
behind its labels, so that ``_:b0`` of two files are two nodes. What comes without one, as on standard input, speaks of nodes by
their names in the whole space, as a GSG script and the rows of a subscription do.

A node without a label, Turtle's ``[ ]`` and lists, is named by the text of its statement and by the how manieth in it it is. So
what is added elsewhere in the file does not give a node's name to another one, which would then have the facts of both.
"""

from __future__ import annotations

import uuid
from collections import Counter
from hashlib import blake2b

from ...tuples.terms import BlankNode

DIGEST_BYTES = 10
"""Two of a million million statements have one hash with a probability below one in two."""

MAX_REPEATED = 200_000
"""Statements with nodes without labels that are remembered, some 20 MB, to tell equal ones apart; each later one is told apart from
all others by its number in the file."""


class BlankNodes:
    """The blank nodes of one reading; ``base`` is the IRI of what is read, empty where it has none."""

    def __init__(self, base: str = "", *, fresh: bool = False) -> None:
        self._seed = (uuid.uuid4().hex if fresh else base).encode()
        self._suffix = f".{blake2b(self._seed, digest_size=DIGEST_BYTES).hexdigest()}" if self._seed else ""
        self._statements: Counter[bytes] = Counter()
        self._others = 0

    def labelled(self, label: str) -> BlankNode:
        """The node of a label."""
        return BlankNode(label + self._suffix)

    def statement(self, text: bytes) -> str:
        """What the nodes without labels of the next statement, which has this text, are called before the number of each."""
        digest = blake2b(text, digest_size=DIGEST_BYTES, key=blake2b(self._seed).digest())
        if digest.digest() in self._statements or len(self._statements) < MAX_REPEATED:
            self._statements[digest.digest()] += 1
            again = self._statements[digest.digest()]
            return f"g{digest.hexdigest()}" + (f".{again}" if again > 1 else "")
        self._others += 1
        return f"g{digest.hexdigest()}.n{self._others}"
