"""A peer's identity on disk: one PEM file (PKCS #8, RFC 8410), for its owner alone, made once and never replaced.

Above the key stands the id that it makes, as RFC 7468 (section 2) lets us: else a wrong bit would make another peer of this one. A
file of an earlier version, or from elsewhere, has none.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from ..errors import BadIdentity
from .key_pair import Identity

MAX_FILE_BYTES = 4096
"""An Ed25519 key takes 119; whatever is longer is something else."""


def read_identity(path: Path) -> Identity | None:
    """The identity in the file; None when there is no file. Raises BadIdentity for a file that is damaged, foreign or too open."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadIdentity(f"the identity {path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    if os.name == "posix" and mode & 0o077:
        raise BadIdentity(
            f"the identity {path} can be read by others (mode {mode:04o}); expected 0600; "
            "if nobody has read it, chmod 600 it; else remove it, and the peer gets another id"
        )
    return _decode(data, path)


def write_identity(path: Path, identity: Identity) -> None:
    """Make the file. Raises BadIdentity when it cannot be made, or there is one already."""
    data = _head(identity) + identity.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    part = path.with_name(path.name + ".part")
    try:
        # Left by a start that was killed; nobody ever was this peer.
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # A link never replaces: two peers that start in one directory do not overwrite each other's key.
        os.link(part, path)
        part.unlink()
    except OSError as error:
        raise BadIdentity(
            f"the identity {path} cannot be written: {(error.strerror or str(error)).lower()}; expected a directory with room"
        ) from None


def _decode(data: bytes, path: Path) -> Identity:
    advice = "expected a PEM file with an unencrypted Ed25519 key; restore it, or remove it, and the peer gets another id"
    if len(data) > MAX_FILE_BYTES:
        raise BadIdentity(f"the identity {path} is longer than {MAX_FILE_BYTES} bytes; {advice}")
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm, InternalError):
        # The package's own words are many and name no file.
        raise BadIdentity(f"the identity {path} is damaged; {advice}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadIdentity(f"the identity {path} holds a key of another kind, {type(key).__name__.lstrip('_')}; {advice}")
    identity = Identity(key.private_bytes_raw())
    if not data.startswith(b"-----BEGIN") and not data.startswith(_head(identity) + b"-----BEGIN"):
        raise BadIdentity(f"the identity {path} is damaged: its key is not of the peer that it names, or it names none; {advice}")
    return identity


def _head(identity: Identity) -> bytes:
    return b"gsg peer " + identity.id.hex().encode() + b"\n"
