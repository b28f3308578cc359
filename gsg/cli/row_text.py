"""A row from its text: as ``gsg subscribe`` prints it, ``?x=a ?n=1``, or a JSON object as of ``--jsonl``. Any part will do."""

from __future__ import annotations

import json
import re

from ..errors import BadText, LocalError
from ..languages import Insert, parse_script
from ..languages.rows import Row

_BINDING = re.compile(
    r"""\s*\?(?P<name>[\w-]+)\s*=\s*
    (?P<term> "(?:[^"\\]|\\.)*" (?:@[\w-]+ | \^\^<[^>]*>)? | '(?:[^'\\]|\\.)*' | <[^>]*> | [^\s"'<?][^\s]* )
    (?=\s|$)""",
    re.VERBOSE,
)


def read_row(text: str) -> Row:
    """The names and terms of a text. Raises LocalError."""
    stripped = text.strip()
    if stripped == str(Row({})):
        return Row({})
    pairs = _json(stripped) if stripped.startswith("{") else _plain(stripped)
    return Row({name: _term(name, term) for name, term in pairs.items()})


def _plain(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    position = 0
    while position < len(text):
        found = _BINDING.match(text, position)
        if found is None:
            raise LocalError(f'a row is expected to be like ?x=a ?y="b c" ?n=1, and this is not: {text[position:].strip():.60}')
        pairs[found["name"]] = found["term"]
        position = found.end()
    return pairs


def _json(text: str) -> dict[str, str]:
    try:
        made = json.loads(text)
    except ValueError as error:
        raise LocalError(f"a row that begins with a brace is expected to be a JSON object: {error}") from None
    # A whole line of `gsg subscribe --jsonl` will do as well.
    made = made["row"] if isinstance(made.get("row"), dict) else made
    return {str(name).removeprefix("?"): value if isinstance(value, str) else json.dumps(value) for name, value in made.items()}


def _term(name: str, text: str) -> object:
    try:
        (block,) = parse_script(f"INSERT {{ ({text}, x) }}")
    except (BadText, ValueError):
        block = None
    if not isinstance(block, Insert) or len(block.tuples) != 1 or len(block.tuples[0]) != 2:
        raise LocalError(f'?{name}={text:.60} has no term; expected one such as a, "text", 1, <http://example.org/iri>')
    return block.tuples[0][0]
