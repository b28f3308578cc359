"""What counts as a line of code."""

from __future__ import annotations

from code_lines import code_lines

TEXT = '''"""A docstring
of two lines."""

import os  # a comment behind code


def name(
    one: int,
) -> str:
    """What it does."""
    # A comment alone.
    text = """a string
    that is used"""
    return text + os.sep
'''


def test_blanks_comments_and_docstrings_are_no_code() -> None:
    assert code_lines(TEXT) == 7
