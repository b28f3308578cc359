"""Files cut into what can be read by itself: lines of N-Triples, statements of Turtle, blocks of a GSG script.

Nothing is parsed here: one regular expression a language tells where strings, IRIs and comments end, so that a dot or a brace in
them ends nothing. A mistake then concerns the statement in which it stands, and what is written in a literal is never read as a
statement. A :class:`Cut` is given bytes as they come, and says where the units end that are there as a whole.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...errors import BadText, LocalError
from ..bad_text import excerpt, printable
from .encoding import HEAD_BYTES, MARK_BYTES, foreign, no_utf8

PIECE_BYTES = 65_536
"""What is asked for at once, and so what a chunk has, unless a statement is longer."""
MAX_UNIT_BYTES = 64 * 1024 * 1024
"""Longest line, statement or block that is waited for; what is longer is refused, whether mistakes are skipped or not."""
_HEAD_SHOWN = 4_096
"""Bytes of a line that are kept for messages about what follows them on it."""


class Cut(ABC):
    """Finds where units end. It goes on where it stopped: a unit of many pieces is not looked at again with each."""

    def __init__(self) -> None:
        self.at = 0
        """Up to here the bytes given were looked at."""

    def ends(self, text: bytes | bytearray, last: bool) -> list[int]:
        """The ends of the units in ``text``, which begins where the last unit ended; if it is the ``last``, its rest is one."""
        found = self._found(text, last)
        end = found[-1] if found else 0
        if last and end < len(text):
            found.append(len(text))
        self.at -= end
        return found

    @abstractmethod
    def _found(self, text: bytes | bytearray, last: bool) -> list[int]:
        """As :meth:`ends`, without what the end of the text ends."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Units that stand one after the other: ``ends`` says where each ends in ``text``; the place is that of its first byte."""

    text: bytes
    ends: list[int]
    line: int = 1
    head: bytes = b""
    """What stands before it on its line, empty where that is long."""
    column: int = 1
    offset: int = 0

    def units(self, ends: list[int] | None = None) -> Iterator[Chunk]:
        """Each unit by itself, as they end by ``ends`` where that is given."""
        start, line, head, column = 0, self.line, self.head, self.column
        for end in self.ends if ends is None else ends:
            text = self.text[start:end]
            yield Chunk(text, [len(text)], line, head, column, self.offset + start)
            line += text.count(b"\n")
            head, column = _line_head(head, column, text)
            start = end

    def mistake(self, at: int, problem: str, *, what: str) -> BadText:
        """The error for a problem at a byte of it."""
        line = self.line + self.text.count(b"\n", 0, at)
        start = self.text.rfind(b"\n", 0, at) + 1
        end = self.text.find(b"\n", at)
        column = len(self.text[start:at].decode("utf-8", "replace")) + (1 if start else self.column)
        shown = (b"" if start else self.head) + self.text[start : end if end >= 0 else len(self.text)][:_HEAD_SHOWN]
        known = start or self.head or self.column == 1
        source_line = excerpt(shown.decode("utf-8", "replace").rstrip("\r"), column) if known else ""
        return BadText(printable(problem), line=line, column=column, source_line=source_line, what=what)

    def undecodable(self, *, what: str) -> BadText | None:
        """The error for the first byte of it that is no UTF-8, if there is one."""
        try:
            self.text.decode()
        except UnicodeDecodeError as error:
            return self.mistake(error.start, no_utf8(self.text, error.start, self.offset), what=what)
        return None


def _line_head(head: bytes, column: int, text: bytes) -> tuple[bytes, int]:
    """What stands before the end of a text on its last line and the column there, where ``head`` stood before the text."""
    start = text.rfind(b"\n") + 1
    column = len(text[start:].decode("utf-8", "replace")) + (1 if start else column)
    head = b"" if start else head
    return (head + text[start:] if len(head) + len(text) - start <= _HEAD_SHOWN else b""), column


def chunks(read: Callable[[int], bytes], cut: Cut, *, name: str) -> Iterator[Chunk]:
    """What ``read`` gives until it gives nothing, in chunks of whole units; a byte order mark at the beginning is left out.

    Raises LocalError for what is no text in UTF-8, and for a unit of more than MAX_UNIT_BYTES.
    """
    pending = bytearray()
    last = False
    # A short line of a pipe that pauses is enough to see that it is a text.
    while not last and len(pending) < HEAD_BYTES and not (len(pending) >= 4 and pending.endswith(b"\n")):
        piece = read(PIECE_BYTES)
        pending += piece
        last = not piece
    problem = foreign(bytes(pending[:HEAD_BYTES]))
    if problem:
        raise LocalError(f"cannot read {name}: {problem}")
    marked = len(MARK_BYTES) if pending.startswith(MARK_BYTES) else 0
    del pending[:marked]
    line, head, column, offset = 1, b"", 1, marked
    at, tried = -1, 0
    while not last:
        # Within one long string the cut gets no further: it is looked at again when there is a quarter more of it.
        if at < cut.at or not 2 * PIECE_BYTES <= len(pending) <= min(tried + tried // 4, MAX_UNIT_BYTES):
            at, tried = cut.at, len(pending)
            ends = cut.ends(pending, False)
            if ends:
                chunk = Chunk(bytes(pending[: ends[-1]]), ends, line, head, column, offset)
                yield chunk
                line, offset = line + chunk.text.count(b"\n"), offset + ends[-1]
                head, column = _line_head(head, column, chunk.text)
                del pending[: ends[-1]]
                at = -1
        if len(pending) > MAX_UNIT_BYTES:
            raise LocalError(
                f"cannot read {name}: what begins in line {line} goes on for more than {MAX_UNIT_BYTES // 2**20} MiB; "
                "expected shorter lines, statements or blocks (is a quote missing, or is it another format?)"
            )
        piece = read(PIECE_BYTES)
        pending += piece
        last = not piece
    if pending:
        yield Chunk(bytes(pending), cut.ends(pending, True), line, head, column, offset)


# --- N-Triples ----------------------------------------------------------------------------------------------------------------

_EOL = re.compile(rb"\r\n|\n|\r")


class WholeLines(Cut):
    """All lines that end there, as one unit: :func:`lines` takes them apart. A line feed, a carriage return or both end a line."""

    def _found(self, text: bytes | bytearray, last: bool) -> list[int]:
        end = max(text.rfind(b"\n", self.at), text.rfind(b"\r", self.at)) + 1
        self.at = len(text)
        return [end] if end and not last else []


def lines(text: bytes) -> list[int]:
    """Lines one by one, each with its end."""
    ends = [found.end() for found in _EOL.finditer(text)]
    if (ends[-1] if ends else 0) < len(text):
        ends.append(len(text))
    return ends


# --- Turtle -------------------------------------------------------------------------------------------------------------------

_BLANK = re.compile(rb"(?:\s|\xef\xbb\xbf)+|#[^\r\n]*[\r\n]")
_ALONE = re.compile(rb"""(?:PREFIX\s+[^\s<>"'#]*\s*|BASE\s*)<[^<>\r\n]*>""", re.IGNORECASE)
"""Directives in the manner of SPARQL, which end without a dot."""
_DIRECTIVE = re.compile(rb"PREFIX\s|BASE[\s<]")
_ALONE_BYTES = 8_192
"""A directive that is longer is taken for one with the statement after it."""
# A dot that characters of words follow is within a number or a name; at worst that joins two statements.
_TURTLE = rb"""
    [^"'<\#.\\]*(?:
        (?P<end> \.+(?= [\s"'<>\#,;()\[\]{}] | \xef\xbb\xbf %b) )
      | \.+(?= [^\s"'<>\#.,;()\[\]{}] )(?! \xef(?: \xbb\xbf | \xbb?\Z ) )
      | <[^<>\r\n]*> | <(?= [^<>\r\n]*[<\r\n] %b)
      | (?P<long> \"\"\" | \'\'\' )
      | "[^"\\\r\n]+" | '[^'\\\r\n]+'
      | "(?! ["] )[^"\\\r\n]*(?: \\[^\r\n][^"\\\r\n]* )*" | '(?! ['] )[^'\\\r\n]*(?: \\[^\r\n][^'\\\r\n]* )*'
      | ""(?= [^"] %b) | ''(?= [^'] %b)
      | (?P<unclosed> (?: "(?!") | '(?!') )[^\r\n]*(?= [\r\n] %b) )
      | \#[^\r\n]*(?= [\r\n] %b)
      | \\[\s\S]
    )"""
_TURTLE_TOKEN, _LAST_TURTLE_TOKEN = (re.compile(_TURTLE.replace(b"%b", at_end), re.VERBOSE) for at_end in (b"", rb"| \Z"))
_CLOSING = {quote: re.compile(rb"\\[\s\S]|" + quote) for quote in (b'"""', b"'''")}


def _may_begin(text: bytes | bytearray, at: int) -> bool:
    """Whether what has come may become a comment, a mark, or a directive that ends without a dot."""
    begin = bytes(text[at : at + 7]).upper()
    if begin.startswith((b"#", b"\xef")):
        return begin != MARK_BYTES and (begin[:1] == b"#" or len(begin) < len(MARK_BYTES))
    if len(begin) < 7 and (b"PREFIX ".startswith(begin) or b"BASE ".startswith(begin)):
        return True
    return _DIRECTIVE.match(begin) is not None and len(text) < at + _ALONE_BYTES and text.find(b">", at) < 0


class Statements(Cut):
    """Statements of Turtle, each with its dot and with the blanks and comments before it.

    A string that its line does not close ends its statement if the line ends in a dot, so that what follows is not lost with it.
    """

    _begins = True

    def _found(self, text: bytes | bytearray, last: bool) -> list[int]:
        ends: list[int] = []
        token = (_LAST_TURTLE_TOKEN if last else _TURTLE_TOKEN).match
        while True:
            if self._begins:
                while found := _BLANK.match(text, self.at):
                    self.at = found.end()
                if self.at == len(text):
                    break
                if text[self.at] in b"PpBb#\xef":
                    if not last and _may_begin(text, self.at):
                        break
                    if found := _ALONE.match(text, self.at, self.at + _ALONE_BYTES):
                        self.at = found.end()
                        ends.append(self.at)
                        continue
                self._begins = False
            found = token(text, self.at)
            if found is None:
                break
            kind = found.lastgroup
            if kind == "long":
                closing = next((each for each in _CLOSING[found[kind]].finditer(text, found.end()) if each[0] == found[kind]), None)
                if closing is None:
                    break
                found = closing
            self.at = found.end()
            if kind == "end" or (kind == "unclosed" and found[kind].rstrip()[-1:] == b"."):
                ends.append(self.at)
                self._begins = True
        return ends


# --- GSG script ---------------------------------------------------------------------------------------------------------------

_SCRIPT_BLANK = re.compile(rb"(?:[\s,]|\xef\xbb\xbf)+|#[^\n]*\n")
_SCRIPT_TOKEN = re.compile(
    rb"""[^"'<\#{}()]*(?:
        (?P<open> [{(] ) | (?P<close> [})] )
      | "[^"\\\n]*(?: \\.[^"\\\n]* )*" | '[^'\\\n]*(?: \\.[^'\\\n]* )*'
      | <[^<>"'\s]*> | <(?= [^<>"'\s]*[<"'\s] )           # braces too: an IRI that has them is one mistake, not two
      | ["'](?= [^\n]*\n ) | \#[^\n]*\n
    )""",
    re.VERBOSE,
)


class Blocks(Cut):
    """Blocks of a GSG script, each to its closing brace, and tuples that stand outside of blocks."""

    _begins, _bare, _depth = True, False, 0

    def _found(self, text: bytes | bytearray, last: bool) -> list[int]:
        ends: list[int] = []
        while True:
            if self._begins:
                while found := _SCRIPT_BLANK.match(text, self.at):
                    self.at = found.end()
                # A comment of which the end has not come, or a part of a mark, may still be followed by a tuple alone.
                if self.at == len(text) or (not last and text[self.at] in b"#\xef"):
                    break
                self._begins, self._bare = False, text[self.at : self.at + 1] == b"("
            found = _SCRIPT_TOKEN.match(text, self.at)
            if found is None:
                break
            self.at = found.end()
            if found.lastgroup == "open":
                self._depth += 1
            elif found.lastgroup == "close":
                self._depth = max(0, self._depth - 1)
                if not self._depth and (self._bare or found["close"] == b"}"):
                    ends.append(self.at)
                    self._begins = True
        return ends
