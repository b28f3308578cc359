"""The errors of Pedro's door, as branches of the peer's own tree.

gsg.LocalError
├── gsg.BadText
│   └── BadLine         a line that is no Pedro term: has column and a caret
└── BadSubscription     a term that is no valid subscription: the client gets 0
"""

from __future__ import annotations

from gsg.errors import BadText, LocalError

SHOWN_CHARACTERS = 120
"""How much of a long line an error shows, so that a refused line of a megabyte does not fill the log."""


class BadLine(BadText):
    """A line does not parse as a Pedro term.

    Attributes: those of :class:`gsg.errors.BadText`; ``column`` counts characters of the whole line from 1.
    """

    def __init__(self, problem: str, *, text: str, column: int) -> None:
        start = max(0, column - 1 - SHOWN_CHARACTERS // 2)
        shown = text[start : start + SHOWN_CHARACTERS]
        super().__init__(problem, line=1, column=column - start, source_line=shown, what="Pedro")
        self.column = column


class BadSubscription(LocalError):
    """A head, goal or rock that the manual's section 5 does not allow."""
