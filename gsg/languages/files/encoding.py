"""The text that the bytes of a file are: UTF-8, whether a byte order mark stands before it or not.

Editors on Windows write the mark (EF BB BF), and some of them UTF-16: the mark is no part of the text, and what is no UTF-8 is
refused by its name, since a parser's complaint about its first character would show nothing. All that reads texts of users reads
them by this.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import LocalError

MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""A byte order mark, once it is decoded (The Unicode Standard, section 23.8)."""
MARK_BYTES = MARK.encode()

HEAD_BYTES = 10
"""So much of a file tells what it is."""

_WIDE = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
_PACKED = (
    (b"\x1f\x8b", "gzip", "gunzip"),
    (b"PK\x03\x04", "zip", "unzip"),
    (b"\xfd7zXZ\0", "xz", "unxz"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
)


def foreign(head: bytes) -> str:
    """What a file is that begins with these bytes and is no text in UTF-8, and what to do then; empty for one that may be."""
    wide = next((name for mark, name in _WIDE if head.startswith(mark)), "")
    if not wide and len(head) >= 4 and (head[0] == head[2] == 0 or head[1] == head[3] == 0) and any(head[:4]):
        # Without a mark: of the letters, digits and signs that texts begin with every other byte is zero.
        wide = "UTF-16"
    if wide:
        return f"it is {wide}; save it as UTF-8, or convert it (iconv -f {wide} -t UTF-8)"
    packed = next(((name, tool) for mark, name, tool in _PACKED if head.startswith(mark)), None)
    if packed is None and head.startswith(b"BZh") and head[4:10] == b"1AY&SY":
        packed = ("bzip2", "bunzip2")
    return "" if packed is None else f"it is packed by {packed[0]}; unpack it first ({packed[1]})"


def decoded(data: bytes, name: str) -> str:
    """The text, without its mark. Raises LocalError for UTF-16 and what is packed, BadText for a byte that is no UTF-8."""
    problem = foreign(data[:HEAD_BYTES])
    if problem:
        raise LocalError(f"cannot read {name}: {problem}")
    try:
        return data.decode("utf-8").removeprefix(MARK)
    except UnicodeDecodeError as error:
        from ..bad_text import bad_text

        position = len(data[: error.start].decode("utf-8"))
        raise bad_text(data.decode("utf-8", "replace"), position, no_utf8(data, error.start), what=name) from None


def no_utf8(data: bytes, at: int, before: int = 0) -> str:
    """What is wrong with a byte; ``before`` are the bytes of the file that stand before this data."""
    return (
        f"byte {data[at]:02X} is no UTF-8; expected a text in UTF-8 "
        f"({before + at:,} bytes stand before it; if they are Latin-1, iconv -f latin1 -t utf-8 converts them)"
    )


def read_text(file: Path) -> str:
    """The text of a file. Raises OSError, and LocalError as :func:`decoded` does."""
    return decoded(file.read_bytes(), str(file))
