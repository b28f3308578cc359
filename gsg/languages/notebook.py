"""What a notebook shows of rows and texts (IPython, "Rich display"): HTML. They are from strangers, and all of it is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ..tuples.terms import Term, Variable, n3

MOST_CHARACTERS = 200
"""Of one term in a table; of a longer one the beginning is shown, and an ellipsis."""


def text(said: object) -> str:
    """A text of several lines as it is."""
    return f"<pre>{escape(str(said))}</pre>"


def table(names: Sequence[str], rows: Iterable[Sequence[Term | None]]) -> str:
    """Rows below the names of their variables, terms as GSG script writes them; empty where a name is unbound."""
    head = "".join(f"<th>{escape(Variable(name).n3())}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Term | None) -> str:
    shown = "" if value is None else n3(value)
    return escape(shown if len(shown) <= MOST_CHARACTERS else shown[: MOST_CHARACTERS - 1] + "…")
