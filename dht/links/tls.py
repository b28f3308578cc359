"""TLS 1.3 (RFC 8446) around a link, without I/O: ciphered bytes in, plain bytes out, and the other way.

Each peer has a certificate that it signed itself, of the key that is its identity, so there is no authority to ask: the dialler
compares the key with the id that it dialled. A listener of Python's ``ssl`` cannot ask for a certificate that no authority signed;
who dialled is proved inside, by the handshake (:mod:`dht.links.handshake`). The names and dates of a certificate mean nothing.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509 import CertificateBuilder, Name, NameAttribute, load_der_x509_certificate
from cryptography.x509.oid import NameOID

from ..errors import NoRoomForKey
from ..identity.ids import PeerId
from ..identity.key_pair import Identity, id_of

TLS_RECORD = 0x16
"""The first byte of a TLS connection (RFC 8446, section 5.1); a plain link begins with a zero."""

READ_BYTES = 256 * 1024
"""Deciphered at once; a record has at most 16 KiB, whatever is asked for."""

# RFC 5280, section 4.1.2.5: a certificate without an end.
_FROM, _TO = datetime(2000, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


class TlsFailed(Exception):
    """The other side does not speak TLS as it should; the text is OpenSSL's, in one line."""


class LinkTls:
    """The TLS of one peer: makes a :class:`TlsSession` for each link."""

    def __init__(self, identity: Identity) -> None:
        self._listener = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._dialler = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._dialler.check_hostname = False
        # The chain, of one certificate, proves nothing; the key in it is compared with the id that was dialled.
        self._dialler.verify_mode = ssl.CERT_NONE
        for context in (self._listener, self._dialler):
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Links are few and long: nothing is resumed.
        self._listener.num_tickets = 0
        _load(self._listener, identity)

    def dial(self) -> TlsSession:
        """For a link that this side dialled."""
        return TlsSession(self._dialler, is_listener=False)

    def listen(self) -> TlsSession:
        """For a link that another dialled."""
        return TlsSession(self._listener, is_listener=True)


class TlsSession:
    """One side of one link. After each call, :meth:`outgoing` has what is to be sent."""

    def __init__(self, context: ssl.SSLContext, *, is_listener: bool) -> None:
        # What came and was not deciphered yet: less than a record after each call. What is to be sent is taken after each.
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=is_listener)
        self.established = False
        """Whether both sides have the keys."""
        if not is_listener:
            self._do_handshake()

    def decrypt(self, data: bytes) -> bytes:
        """The plain bytes of ciphered ones that came. Raises TlsFailed."""
        self._in.write(data)
        if not self.established:
            self._do_handshake()
            if not self.established:
                return b""
        pieces = []
        read = self._tls.read
        try:
            while piece := read(READ_BYTES):
                pieces.append(piece)
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            # All that came is read; or the other side said goodbye, and the end of the stream follows.
            pass
        except ssl.SSLError as error:
            raise TlsFailed(_error_text(error)) from None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def encrypt(self, data: bytes) -> bytes:
        """What to send for these plain bytes."""
        view = memoryview(data)
        while view:
            view = view[self._tls.write(view) :]
        return self._out.read()

    def outgoing(self) -> bytes:
        """What the protocol itself has to say."""
        return self._out.read()

    def close_notify(self) -> bytes:
        """What says that nothing more will be sent (RFC 8446, section 6.1)."""
        # It wants to hear the other side's, which nobody waits for.
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        return self._out.read()

    def certified_peer(self) -> PeerId:
        """Whose key is in the listener's certificate. Raises TlsFailed when it is no key of a peer."""
        der = self._tls.getpeercert(binary_form=True)
        try:
            key = None if der is None else load_der_x509_certificate(der).public_key()
        except Exception:
            # Whatever the parser raises for what a stranger made.
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise TlsFailed("its certificate has no Ed25519 key")
        return id_of(key.public_bytes_raw())

    def _do_handshake(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLError as error:
            raise TlsFailed(_error_text(error)) from None
        self.established = True


def _error_text(error: ssl.SSLError) -> str:
    return f"TLS failed ({(error.reason or str(error)).replace('_', ' ').lower()})"


def _load(context: ssl.SSLContext, identity: Identity) -> None:
    """Give the key and its certificate to OpenSSL, which Python lets read them from a file alone."""
    name = Name([NameAttribute(NameOID.COMMON_NAME, identity.id.hex())])
    builder = CertificateBuilder(name, name, identity.private.public_key(), 1, _FROM, _TO)
    certificate = builder.sign(identity.private, None).public_bytes(Encoding.PEM)
    private = identity.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with _secret_file(private + certificate) as path:
        context.load_cert_chain(path)


@contextlib.contextmanager
def _secret_file(secret: bytes) -> Iterator[str]:
    """A path to read a secret from, for a millisecond: in memory where the system has that, else a file for this user alone.

    Whole systems are read-only, and temporary folders full. Raises NoRoomForKey where there is neither.
    """
    descriptor = _in_memory(secret)
    if descriptor is not None:
        try:
            yield _path_of(descriptor)
        finally:
            os.close(descriptor)
        return
    try:
        folder = tempfile.TemporaryDirectory(prefix="gsg-")  # of mode 0700
    except OSError as error:
        raise NoRoomForKey(error) from None
    with folder:
        path = os.path.join(folder.name, "link.pem")
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secret)
        except OSError as error:
            raise NoRoomForKey(error) from None
        yield path


def _in_memory(secret: bytes) -> int | None:
    """The descriptor of a file that is in no file system, with a path: Linux with /proc has that, which a sandbox may lack."""
    try:
        descriptor = os.memfd_create("gsg-link")
    except (AttributeError, OSError):
        return None
    with contextlib.suppress(OSError):
        if os.write(descriptor, secret) == len(secret) and os.access(_path_of(descriptor), os.R_OK):
            return descriptor
    os.close(descriptor)
    return None


def _path_of(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"
