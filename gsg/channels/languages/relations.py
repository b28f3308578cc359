"""Named relations between a value and texts: those of the language, and those that an application registers.

A relation is made ready once, from its constants, for one subscription; it is then called with the value, which is neither missing
nor checked for its kind. With several constants it holds if it does for one of them: ``(contains path "/etc" "/root")``. The names
that end in ``-ci`` compare without regard to case (Unicode's case folding).

Every relation takes time linear in its text: a wildcard is a search for each of its pieces in turn, a regular expression is RE2's.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from socket import AF_INET, AF_INET6, inet_pton
from types import MappingProxyType
from typing import Any, Final, TypeAlias

log = logging.getLogger(__name__)

Holds: TypeAlias = Callable[[object], bool]
Make: TypeAlias = Callable[[Sequence[Any]], Holds]
"""From the constants of a relation to what it says of a value. Raises BadConstant."""

MAX_PATTERN: Final = 2_000
"""Characters of a regular expression or wildcard; a longer one is refused."""
MAX_PATTERN_BYTES: Final = 512 * 1024
"""Memory of one compiled regular expression; one that needs more is refused."""
MANY: Final = 40
"""Texts of one relation from which on they are one regular expression, which takes as long for a thousand as for one."""
MAX_MANY_CHARACTERS: Final = 10_000
"""Of those texts together; with more they are tried one by one, as the expression would not fit into its memory."""
MAX_MANY_BYTES: Final = 4 * 1024 * 1024
"""Memory of one regular expression made of several; where they need more, they are tried one after another."""
CI: Final = "-ci"
RESERVED: Final = frozenset(
    {"and", "or", "not", "exists", "in", "any", "all", "exactly", "true", "false", "null", "env", "field", "it"}
) | {"mod", "min", "max", "abs", "event", "test", "where", "eq", "absent", "last", "within"}
"""Operators and words of the languages, which are no names of relations."""


class BadConstant(ValueError):
    """A constant that a relation cannot use, by its number; the message says what was expected."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(problem)
        self.number = number


def _texts(constants: Sequence[Any]) -> list[str]:
    for number, one in enumerate(constants):
        if type(one) is not str:
            raise BadConstant(number, f'{one!r} is no text; expected one in quotes, such as "{one}"')
    return list(constants)


def _contains(constants: Sequence[Any]) -> Holds:
    texts = _texts(constants)
    if len(texts) >= MANY and sum(map(len, texts)) <= MAX_MANY_CHARACTERS:
        search = _search_for_any(tuple(map(_escaped, texts)))
        if search is not None:
            return lambda value: type(value) is str and search(value)

    def holds(value: object) -> bool:
        if type(value) is str:
            for each in texts:  # a loop: an event passes here often, and any() is half as fast
                if each in value:
                    return True
        return False

    return holds


def _folded(make: Make) -> Make:
    def of_folded(constants: Sequence[Any]) -> Holds:
        holds = make([one.casefold() for one in _texts(constants)])
        return lambda value: type(value) is str and holds(value.casefold())

    return of_folded


def _ends(make: Callable[[tuple[str, ...]], Holds]) -> Make:
    return lambda constants: make(tuple(_texts(constants)))


def _is_one_of(constants: Sequence[Any]) -> Holds:
    texts = frozenset(_texts(constants))
    return lambda value: type(value) is str and value in texts


def _wildcards(constants: Sequence[Any]) -> Holds:
    tests = []
    for number, pattern in enumerate(_texts(constants)):
        if len(pattern) > MAX_PATTERN:
            raise BadConstant(number, f"a wildcard of {len(pattern):,} characters; expected at most {MAX_PATTERN:,}")
        tests.append(wildcard(pattern))
    return lambda value: type(value) is str and any(test(value) for test in tests)


def wildcard(pattern: str) -> Callable[[str], bool]:
    """Whether a text is as a pattern says, in which ``*`` is any text, ``?`` any character, and ``\\`` quotes what follows."""
    pieces = pieces_of(pattern)
    first, *rest = [_piece(piece) for piece in pieces]
    if not rest:
        whole = re.compile("".join(pieces[0]), re.DOTALL)
        return lambda text: whole.fullmatch(text) is not None
    *middle, _last = rest
    end = re.compile("".join(pieces[-1]) + r"\Z", re.DOTALL)
    length = len(pieces[-1])

    def matches(text: str) -> bool:
        found = first.match(text)
        if found is None:
            return False
        at = found.end()
        for piece in middle:
            found = piece.search(text, at)
            if found is None:
                return False
            at = found.end()
        return len(text) - at >= length and end.match(text, len(text) - length) is not None

    return matches


def pieces_of(pattern: str) -> list[list[str]]:
    """What stands between the ``*`` of a wildcard: for each piece, its characters as regular expressions of one character."""
    pieces: list[list[str]] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == "*":
            pieces.append([])
        elif character == "?":
            pieces[-1].append(".")
        else:
            pieces[-1].append(re.escape(next(characters, "\\") if character == "\\" else character))
    return pieces


def literals_of(pattern: str) -> list[str]:
    """Texts that are contained, one behind the other, in each text that is as a wildcard says."""
    texts = [""]
    characters = iter(pattern)
    for character in characters:
        if character in "*?":
            texts.append("")
        else:
            texts[-1] += next(characters, "\\") if character == "\\" else character
    return texts


def _piece(characters: list[str]) -> re.Pattern[str]:
    return re.compile("".join(characters), re.DOTALL)


def _regular_expressions(flags: str) -> Make:
    def make(constants: Sequence[Any]) -> Holds:
        searches = []
        for number, pattern in enumerate(_texts(constants)):
            if len(pattern) > MAX_PATTERN:
                raise BadConstant(number, f"a regular expression of {len(pattern):,} characters; expected at most {MAX_PATTERN:,}")
            searches.append(_search(flags + pattern, number))
        whole = _search_for_any(tuple(flags + pattern for pattern in constants)) if len(searches) > 1 else searches[0]
        if whole is not None:
            return lambda value: type(value) is str and whole(value)
        return lambda value: type(value) is str and any(search(value) for search in searches)

    return make


def _search(pattern: str, number: int) -> Callable[[str], bool]:
    import re2  # heavy, and needed only here

    try:
        return _compiled(pattern)
    except re2.error as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise BadConstant(
            number, f"a regular expression that RE2 does not take: {said}; it has no look-around and no back-references"
        ) from None


def _search_for_any(patterns: tuple[str, ...]) -> Callable[[str], bool] | None:
    """Whether one of some patterns is found, by one search; None where they are too large together, or have groups of one name."""
    import re2

    if any(r"\Q" in pattern for pattern in patterns):
        return None  # what follows \Q is taken literally, the next pattern too
    try:
        return _compiled("|".join(f"(?:{pattern})" for pattern in patterns), MAX_MANY_BYTES)
    except re2.error:
        return None


def _escaped(text: str) -> str:
    return re.sub(r"([^\w\s]|\0)", lambda found: f"\\x{{{ord(found[1]):x}}}", text)


@lru_cache(maxsize=64)
def _compiled(pattern: str, max_bytes: int = MAX_PATTERN_BYTES) -> Callable[[str], bool]:
    import re2

    options = re2.Options()
    options.max_mem = max_bytes
    options.log_errors = False
    options.dot_nl = True
    search = re2.compile(pattern, options=options).search

    return lambda text: search(text) is not None


def _networks(constants: Sequence[Any]) -> Holds:
    networks = [network_of(text, number) for number, text in enumerate(_texts(constants))]

    def holds(value: object) -> bool:
        address = address_of(value)
        return address is not None and any(bits == address[1] and address[0] >> shift == prefix for prefix, shift, bits in networks)

    return holds


def address_of(value: object) -> tuple[int, int] | None:
    """An IPv4 or IPv6 address as a number, and how many bits it has; None for what is none."""
    if type(value) is not str or len(value) > 45:
        return None
    try:
        packed = inet_pton(AF_INET6 if ":" in value else AF_INET, value)
    except (OSError, ValueError):
        return None
    return int.from_bytes(packed, "big"), 8 * len(packed)


def network_of(text: str, number: int = 0) -> tuple[int, int, int]:
    """A network such as 10.0.0.0/8: the leading bits as a number, how many bits follow them, and how many an address has
    (RFC 4632).

    Raises BadConstant for what is none, or has bits after its prefix.
    """
    address, _, length = text.partition("/")
    found = address_of(address)
    if found is None or not (not length or (length.isascii() and length.isdigit() and int(length[:4]) <= found[1])):
        raise BadConstant(number, f'{text!r} is no network; expected one such as "10.0.0.0/8" or "fd00::/8"')
    value, bits = found
    shift = bits - int(length) if length else 0
    if value & ((1 << shift) - 1):
        raise BadConstant(number, f"{text!r} has bits after its first {length}; expected zeros there")
    return value >> shift, shift, bits


def _guarded(name: str, make: Make) -> Make:
    def guarded(constants: Sequence[Any]) -> Holds:
        holds = make(constants)

        def never_raises(value: object) -> bool:
            try:
                return bool(holds(value))
            except Exception:  # whatever an application's own code raises must not end the channel of others
                log.exception("the relation %s failed", name)
                return False

        return never_raises

    return guarded


def _plain() -> dict[str, Make]:
    prefix = _ends(lambda texts: lambda value: type(value) is str and value.startswith(texts))
    suffix = _ends(lambda texts: lambda value: type(value) is str and value.endswith(texts))
    cased = {"contains": _contains, "prefix": prefix, "suffix": suffix, "wildcard": _wildcards}
    folded = {name + CI: _folded(make) for name, make in cased.items()}
    equal = {"=" + CI: _folded(_is_one_of)}
    return {
        **cased,
        **folded,
        **equal,
        "regex": _regular_expressions(""),
        "regex" + CI: _regular_expressions("(?i)"),
        "cidr": _networks,
    }


class Relations:
    """The relations that a channel knows: the standard ones, and its application's."""

    def __init__(self) -> None:
        self._makes: dict[str, Make] = dict(STANDARD)

    def register(self, name: str, make: Make) -> None:
        """Let subscriptions say ``(name field constant ...)``. ``make`` is given the constants, raises BadConstant for what it
        cannot use, and returns what is called with a value. It is called at each event: it is to be quick. What it raises is
        logged, and the relation does not hold.

        Raises ValueError for the name of another relation or operator.
        """
        if name in self._makes or name in RESERVED or not re.fullmatch(r"[A-Za-z][\w-]*", name):
            raise ValueError(f"a relation called {name!r}; expected a name of letters, digits, - and _ that is not taken yet")
        self._makes[name] = _guarded(name, make)

    def __contains__(self, name: object) -> bool:
        return name in self._makes

    def names(self) -> list[str]:
        """All of them, sorted."""
        return sorted(self._makes)

    def make(self, name: str, constants: Sequence[Any]) -> Holds:
        """What a relation says of a value. Raises BadConstant."""
        return self._makes[name](constants)


STANDARD: Final[Mapping[str, Make]] = MappingProxyType(_plain())
