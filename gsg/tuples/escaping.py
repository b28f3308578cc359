"""What is shown to people and to programs that read line by line: one line stays one line, and says nothing to the terminal.

Texts come from strangers, and a terminal obeys some characters: it moves, recolours, retitles, or turns the order of what follows.
Such characters are shown as GSG script, N-Triples, SPARQL and JSON write them, so what is shown reads back as what it was.
"""

from __future__ import annotations

import codecs
import re

SPEAKING = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff"
"""The inside of a class of a regular expression: control characters (C0, DEL, C1), ends of lines and paragraphs, those that turn
the direction of writing (Unicode TR 36, section 2.5), the byte order mark, and the two characters that XML does not have."""

ERRORS = "gsg-escapes"
"""The error handler of texts whose encoding lacks a character: it is escaped."""
JSON_ERRORS = "gsg-json-escapes"
"""The same for JSON, which has no escape of eight digits."""

# With halves of surrogate pairs, which no encoding has.
_speaking = re.compile(rf"[{SPEAKING}\ud800-\udfff]")
_speaking_but_lines = re.compile(rf"(?![\n\t])[{SPEAKING}\ud800-\udfff]")


def escape(character: str) -> str:
    """A character as ``\\u001B`` or ``\\U0001F600``."""
    number = ord(character)
    return f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"


def _escape_found(found: re.Match[str]) -> str:
    return escape(found[0])


def one_line(text: str) -> str:
    """A text of one line, such as a name in a table or a message in a log."""
    return _speaking.sub(_escape_found, text)


def lines(text: str) -> str:
    """A text whose lines are ours, such as a message with the place of a mistake; line ends and tabs stay."""
    return _speaking_but_lines.sub(_escape_found, text)


def json_line(text: str) -> str:
    """JSON without line ends between its parts: what would speak to a terminal can only be inside of its strings."""
    return _speaking.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape_what_is_lacking(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(escape, error.object[error.start : error.end])), error.end


def _escape_for_json(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)), error.end


codecs.register_error(ERRORS, _escape_what_is_lacking)
codecs.register_error(JSON_ERRORS, _escape_for_json)
