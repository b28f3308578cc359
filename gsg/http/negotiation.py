"""Which of several representations a client gets: its Accept header (RFC 9110, section 12.5.1)."""

from __future__ import annotations

from collections.abc import Sequence

MAX_RANGES = 64
"""Media ranges of one header that are looked at; what stands behind them is as if it were not said."""


def accepted(accept: str, offered: Sequence[str]) -> str | None:
    """The media type that the client likes best of those offered, of equal ones the first; None where it takes none of them.

    Without a header anything will do. A range that cannot be read accepts nothing.
    """
    ranges = [one for one in map(_range, accept.split(",")[:MAX_RANGES]) if one is not None]
    if not accept.strip():
        return offered[0]
    best, liked = None, 0.0
    for media_type in offered:
        quality = _quality(media_type, ranges)
        if quality > liked:
            best, liked = media_type, quality
    return best


def _range(text: str) -> tuple[str, float] | None:
    media_range, *parameters = (part.strip().lower() for part in text.split(";"))
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = float(value)
            except ValueError:
                return None
    return (media_range, quality) if "/" in media_range and 0 <= quality <= 1 else None


def _quality(media_type: str, ranges: Sequence[tuple[str, float]]) -> float:
    """That of the range that is most specific of those that it is in."""
    family = media_type.partition("/")[0]
    for wanted in (media_type, f"{family}/*", "*/*"):
        found = [quality for media_range, quality in ranges if media_range == wanted]
        if found:
            return max(found)
    return 0.0
