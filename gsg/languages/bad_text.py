"""From an offset in a text to an error that shows the place."""

from __future__ import annotations

import re

from ..errors import BadText, Unsupported

WIDEST = 160
"""Characters of a source line that a message shows: a line may be megabytes long, and a caret further right helps nobody."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Mistake(Exception):
    """Something that does not parse or has no meaning, by its offset in the text."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(problem)
        self.position = position
        self.problem = problem


class Refusal(Mistake):
    """Something that is understood and not supported."""


def error_at(text: str, mistake: Mistake, *, what: str) -> BadText | Unsupported:
    """The error for a mistake in a text, or for what is refused there."""
    error = bad_text(text, mistake.position, mistake.problem, what=what)
    if not isinstance(mistake, Refusal):
        return error
    return Unsupported(
        f"{error.problem} (line {error.line}, column {error.column})",
        line=error.line,
        column=error.column,
        source_line=error.source_line,
    )


def bad_text(text: str, position: int, problem: str, *, what: str) -> BadText:
    """The error for a mistake at an offset of a text whose lines end at ``\\n`` only."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    column = position - start + 1
    source_line = excerpt(text[start : end if end >= 0 else len(text)].removesuffix("\r"), column)
    if not source_line and column > WIDEST:
        problem = f"{problem} (after ...{printable(text[position - 30 : position])})"
    return BadText(problem, line=text.count("\n", 0, position) + 1, column=column, source_line=source_line, what=what)


def excerpt(source_line: str, column: int) -> str:
    """The line as a message shows it: cut where it is long, empty where the column is far beyond."""
    if column > WIDEST:
        return ""
    return printable(source_line if len(source_line) <= WIDEST else source_line[:WIDEST] + "...")


def printable(text: str) -> str:
    """The text with control characters and surrogates replaced one for one: a terminal shall obey us, not the file in question."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
