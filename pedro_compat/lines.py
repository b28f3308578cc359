"""From the bytes of a data connection to lines.

Each line gets exactly one answer, so a line that cannot be one is still reported, as ``None``: one that is too long (at once when
the limit passes, then dropped up to its newline), blank, or holds NUL, CR or bytes that are no UTF-8.
"""

from __future__ import annotations

DEFAULT_SIZE = 1024
"""The original's ``--Size``: a line has at most SIZE - 1 bytes, its newline included."""

GLUED_BYTES = 4_096
"""The longest beginning of a line that is put before the next read as it is."""


class LineReader:
    """Cuts bytes into lines. Holds at most SIZE - 2 bytes of a line that is not complete."""

    def __init__(self, size: int = DEFAULT_SIZE) -> None:
        self._longest = size - 2
        self._begun = bytearray()
        self._dropping = False

    def feed(self, data: bytes) -> list[str | None]:
        """The lines that these bytes complete, without their newlines; ``None`` for each that is refused."""
        if 0 < len(self._begun) <= GLUED_BYTES:
            data = bytes(self._begun) + data
            self._begun.clear()
        whole = self._whole(data)
        if whole is not None:
            return whole
        lines: list[str | None] = []
        *ended, rest = data.split(b"\n")
        for part in ended:
            if self._dropping:
                self._dropping = False
                continue
            lines.append(self._line(bytes(self._begun) + part if self._begun else part))
            self._begun.clear()
        if not self._dropping:
            self._begun += rest
            if len(self._begun) > self._longest:
                self._begun.clear()
                self._dropping = True
                lines.append(None)
        return lines

    def _whole(self, data: bytes) -> list[str | None] | None:
        """The lines of a read of which there is nothing to refuse but blank ones, at a fraction of the cost; else None."""
        end = data.rfind(b"\n")
        if end < 0 or self._begun or self._dropping or not data.isascii() or b"\r" in data or b"\0" in data:
            return None
        lines = data[:end].decode("ascii").split("\n")
        if len(data) - end - 1 > self._longest or len(max(lines, key=len)) > self._longest:
            return None
        self._begun += data[end + 1 :]
        return [line if line.strip(" \t") else None for line in lines]

    def _line(self, line: bytes) -> str | None:
        if len(line) > self._longest or b"\r" in line or b"\0" in line or not line.strip(b" \t"):
            return None
        try:
            return line.decode()
        except UnicodeDecodeError:
            return None
