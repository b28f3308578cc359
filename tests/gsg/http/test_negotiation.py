"""Content negotiation (RFC 9110, section 12.5.1)."""

from __future__ import annotations

import pytest

from gsg.http.negotiation import MAX_RANGES, accepted

OFFERED = ["application/json", "text/csv", "text/tab-separated-values"]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/*", "text/csv"),
        ("TEXT/CSV", "text/csv"),
        ("text/csv, application/json", "application/json"),
        ("text/csv;q=0.9, application/json;q=0.8", "text/csv"),
        ("application/json;q=0, */*", "text/csv"),
        ("text/*;q=0.2, text/tab-separated-values", "text/tab-separated-values"),
        ("*/*;q=0.1, text/tab-separated-values; charset=utf-8; q=0.2", "text/tab-separated-values"),
        ("image/png", None),
        ("*/*;q=0", None),
        ("text/csv;q=abc", None),
        ("text/csv;q=7", None),
        ("nonsense", None),
        ("image/png," * MAX_RANGES + "text/csv", None),
    ],
)
def test_the_best_liked_of_those_offered_is_taken(accept: str, expected: str | None) -> None:
    assert accepted(accept, OFFERED) == expected
