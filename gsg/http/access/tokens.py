"""The token file of a door: who may come, and what they may do.

    # token                             roles           name        readers of what it publishes
    8c6f0e...                           read,publish    kitchen
    sha256:e3b0c44298fc1c149afbf4...    admin           operator
    51b2aa...                           publish         meter       ID,ID

Fields are separated by blanks, and what follows a ``#`` does not count. Tokens are secrets of at least 16 characters, such as
``openssl rand -hex 32`` prints; ``sha256:`` and 64 hexadecimal digits stand for a token that the file does not give away. Two
tokens may have one name, while one of them takes the place of the other. What the file says holds from when it is written, without
a restart; a file that cannot be read then leaves what it said before.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from ...doors.file_state import state_of
from ...errors import BadText, LocalError, reason
from ...tuples.audiences import Audience, audience_of
from .principals import Principal, Role

log = logging.getLogger(__name__)

MAX_FILE_BYTES: Final = 1024 * 1024
"""The longest token file; a longer one is refused."""
MIN_CHARACTERS: Final = 16
"""The shortest token: shorter ones can be guessed."""
MAX_CHARACTERS: Final = 1_000
"""The longest: it goes in a header."""
READABLE_BY_OTHERS: Final = stat.S_IRGRP | stat.S_IROTH
WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
EXPECTED: Final = 'expected "TOKEN ROLES NAME", such as the output of `openssl rand -hex 32`, then read,publish and who it is for'
NEXT: Final = 'make one with `(umask 077; echo "$(openssl rand -hex 32) admin me" > {file})`'

_TOKEN = re.compile(r"[!-~]+")
_NAME = re.compile(r"[\w.@-]{1,64}")
_HASHED = "sha256:"


class Tokens:
    """The principals of one door, by the SHA-256 of their tokens."""

    def __init__(self, principals: Mapping[bytes, Principal]) -> None:
        self._principals = principals

    def __len__(self) -> int:
        return len(self._principals)

    def by_digest(self, digest: bytes) -> Principal | None:
        """Who has the token with this SHA-256. How long it takes tells nothing of tokens: nobody can choose a digest."""
        return self._principals.get(digest)


def digest_of(token: str) -> bytes:
    """The SHA-256 of a token."""
    return sha256(token.encode("utf-8", "replace")).digest()


def parse_tokens(text: str) -> Tokens:
    """The tokens that a file says. Raises BadText, which repeats no token, for what is none; LocalError where there is none."""
    found: dict[bytes, Principal] = {}
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        try:
            digest, principal = _read(fields)
        except LocalError as error:
            raise _bad(str(error), number) from None
        if digest in found:
            raise _bad(f"the token of {principal.name} is that of {found[digest].name} too; expected one token for each", number)
        found[digest] = principal
    if not found:
        raise _NoTokens(f"no token in it; {EXPECTED}")
    return Tokens(found)


def _read(fields: list[str]) -> tuple[bytes, Principal]:
    if not 3 <= len(fields) <= 4:
        raise LocalError(f"{len(fields)} fields; {EXPECTED}")
    token, named_roles, name = fields[:3]
    if not _NAME.fullmatch(name):
        raise LocalError(f"{name!r:.80} as a name; expected 1 to 64 letters, digits, and any of . _ - @")
    roles = set()
    for role in named_roles.split(","):
        try:
            roles.add(Role(role))
        except ValueError:
            known = ", ".join(each.value for each in Role)
            raise LocalError(f"{role!r:.80} as a role of {name}; expected {known}, or several with commas between them") from None
    readers: Audience | None = audience_of(fields[3].split(",")) if len(fields) == 4 else None
    digest = _digest(token, name)
    return digest, Principal(name, frozenset(roles), readers, digest)


def _digest(token: str, name: str) -> bytes:
    if token.startswith(_HASHED):
        try:
            digest = bytes.fromhex(token.removeprefix(_HASHED))
        except ValueError:
            digest = b""
        if len(digest) != sha256().digest_size:
            raise LocalError(f"what follows {_HASHED} is no SHA-256 of the token of {name}; expected 64 hexadecimal digits")
        return digest
    if not MIN_CHARACTERS <= len(token) <= MAX_CHARACTERS or not _TOKEN.fullmatch(token):
        raise LocalError(
            f"the token of {name} has {len(token)} characters; expected {MIN_CHARACTERS} to {MAX_CHARACTERS} that are printable "
            "ASCII, such as the output of `openssl rand -hex 32`"
        )
    return digest_of(token)


def _bad(problem: str, line: int) -> BadText:
    return BadText(problem, line=line, what="token file")


class TokenFile:
    """The file, which is read again when it has changed. Raises LocalError where it cannot be read, or others may write to it, and
    what :func:`parse_tokens` raises."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_stale = False
        """Whether the file says something else than what holds, since that cannot be read."""
        self._seen = state_of(path)
        """The file as it was when it was looked at last, before it was read."""
        self._is_empty = False
        """Whether it had no token then."""
        self.tokens = _load(path)
        mode = stat.S_IMODE(path.stat().st_mode)
        if os.name == "posix" and mode & READABLE_BY_OTHERS:
            log.warning("%s can be read by others (mode %04o); chmod 600 it", path, mode)

    def refresh(self) -> None:
        """Read it again if it has changed. One that cannot be read is logged, once for each change, and leaves what it said before;
        one that has no token at two looks lets nobody in."""
        state = state_of(self.path)
        if state == self._seen and not self._is_empty:
            return
        # What is written between this and reading is seen at the next look.
        self._seen, was_empty = state, self._is_empty and state == self._seen
        self._is_empty = False
        try:
            self.tokens = _load(self.path)
        except _NoTokens as error:
            # As while it is written anew: what is cut off first is there again at the next look.
            if was_empty:
                self.tokens, self.is_stale = Tokens({}), False
                log.warning("nobody is let in any more: %s", error)
            else:
                self._is_empty = True
        except (LocalError, OSError) as error:
            self.is_stale = True
            log.error("the tokens stay as they were: %s", reason(error) if isinstance(error, OSError) else error)
        else:
            self.is_stale = False
            log.info("%s has changed: %d tokens are taken now", self.path, len(self.tokens))


class _NoTokens(LocalError):
    """A file that says nothing."""


def _load(path: Path) -> Tokens:
    try:
        with path.open("rb") as file:
            _check_owner(path, os.fstat(file.fileno()))
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise LocalError(f"{path} is longer than a token file may be, {MAX_FILE_BYTES:,} bytes")
        return parse_tokens(content.decode())
    except OSError as error:
        raise LocalError(f"{path}: {reason(error)}; {NEXT.format(file=path)}") from None
    except UnicodeDecodeError:
        raise LocalError(f"{path} is no text in UTF-8; {NEXT.format(file=path)}") from None
    except BadText as error:
        raise BadText(error.problem, line=error.line, what=str(path)) from None
    except _NoTokens as error:
        raise _NoTokens(f"{path}: {error}") from None


def _check_owner(path: Path, found: os.stat_result) -> None:
    """Raises LocalError where somebody else could write tokens into it."""
    if os.name != "posix":
        return
    if stat.S_IMODE(found.st_mode) & WRITABLE_BY_OTHERS:
        raise LocalError(f"{path} can be written by others (mode {stat.S_IMODE(found.st_mode):04o}); chmod 600 it")
    if found.st_uid not in (0, os.geteuid()):
        raise LocalError(
            f"{path} is another user's (uid {found.st_uid}), who could write into it; expected one of your own, or root's"
        )
