"""Texts that each text contains in which a regular expression is found.

As in the prefilters of RE2 (Cox, "Regular expression matching with a trigram index", 2012), but read from left to right: groups,
classes, and whatever may come no time are left out, so what is found is less than what is required, never more. Case is folded, as
the expression may say anywhere that case does not count; for that only ASCII is taken, where RE2 and Python fold alike.
"""

from __future__ import annotations

import re
from typing import Final

_ATOM: Final = re.compile(
    r"""
    (?P<zero_times> [*?] | \{\d+(?:,\d*)?\} )   # what stands before may come no time
    | (?P<class> \[\^?\]? (?: \[:\^?\w+:\] | \\. | [^\]\\] )* \] )
    | (?P<escaped> \\[xpP]\{[\w^]+\} | \\x\w\w | \\[pP]\w | \\[A-Za-z] )
    | \\(?P<quoted> [^\w] )
    | (?P<other> [+.^$)] )
    | (?P<alternative> \| )
    | (?P<literal> [^\\(\[{] )
    """,
    re.VERBOSE | re.DOTALL,
)
"""What stands at one place outside of groups. What it does not match is not read here: octal numbers, and ``{`` as itself."""
_NOT_READ: Final = re.compile(r"\\[QE] | .\(\?[a-zA-Z-]+\)", re.VERBOSE | re.DOTALL)
"""Quoted runs, and flags in the middle: behind these, ``*`` is about what stands before them."""


def required_texts(pattern: str) -> list[str]:
    """Folded texts; none where nothing is known to be required. The pattern is one that RE2 takes."""
    if _NOT_READ.search(pattern):
        return []
    found, text, at = [], "", 0
    while at < len(pattern):
        if pattern[at] == "(":
            kind, character, end = "group", "", _end_of_group(pattern, at)
        else:
            atom = _ATOM.match(pattern, at)
            kind, character, end = (str(atom.lastgroup), atom[0][-1], atom.end()) if atom else ("", "", None)
        if end is None or kind == "alternative":
            return []
        at = end
        if kind in ("literal", "quoted") and character.isascii():
            text += character.lower()
        else:
            found.append(text[:-1] if kind == "zero_times" else text)
            text = ""
    return [each for each in (*found, text) if each]


def _end_of_group(pattern: str, at: int) -> int | None:
    """Behind the bracket that closes a group; None where that is not found."""
    depth = 0
    while at < len(pattern):
        if pattern[at] == "(":
            depth += 1
            at += 1
            continue
        atom = _ATOM.match(pattern, at)
        if atom is None:
            return None
        at = atom.end()
        if atom.lastgroup == "other" and atom[0] == ")":
            depth -= 1
            if not depth:
                return at
    return None
