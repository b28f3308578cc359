"""The TLS of a door, and of those who ask it: the files that it takes, and the contexts that are made of them.

Whatever is wrong with a file is a LocalError that says which file, what is wrong with it and how to make a right one.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ..errors import LocalError, reason

MAKE = "`gsg cert DIR` makes one"
MAX_PEM_BYTES = 4 * 1024 * 1024
"""The largest file that is read: all certificates that a system trusts are a quarter of a megabyte."""
_CERTIFICATE, _KEY = b"-----BEGIN CERTIFICATE-----", b"PRIVATE KEY-----"


@dataclass(frozen=True, slots=True)
class DoorTls:
    """What a door shows and asks for: ``certificate`` is its own, those that signed it after it, in PEM, ``key`` its private key.
    With ``client_ca`` it serves only clients that show a certificate which one of those in that file has signed."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """All that are read."""
        return (self.certificate, self.key) if self.client_ca is None else (self.certificate, self.key, self.client_ca)

    def server_context(self) -> ssl.SSLContext:
        """The context of the door, of what the files hold now. Raises LocalError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # A client that renegotiates costs the door a handshake each time.
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
        _show(context, self.certificate, self.key)
        if self.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            _trust(context, self.client_ca)
        return context


def client_context(ca: Path | None = None, certificate: Path | None = None, key: Path | None = None) -> ssl.SSLContext:
    """The context of a client: it trusts the CAs in the file ``ca``, without one those of the system, and shows a certificate where
    the door asks for it. Raises LocalError."""
    if (certificate is None) is not (key is None):
        given, lacking = ("certificate", "key") if key is None else ("key", "certificate")
        raise LocalError(f"a client's {given} {certificate or key} without its {lacking}; expected both, or neither")
    context = ssl.create_default_context() if ca is None else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca is not None:
        _trust(context, ca)
    if certificate is not None and key is not None:
        _show(context, certificate, key)
    return context


def _show(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Let the context show a certificate."""
    if _CERTIFICATE not in _read(certificate, "the certificate"):
        raise LocalError(f"the certificate {certificate} holds none; expected PEM, with a line {_CERTIFICATE.decode()}: {MAKE}")
    if _KEY not in _read(key, "the key"):
        raise LocalError(f"the key {key} holds none; expected PEM, with a line -----BEGIN {_KEY.decode()}: {MAKE}")

    def ask_for_password() -> NoReturn:
        # OpenSSL would ask at the terminal, which a service does not have.
        raise LocalError(
            f"the key {key} is encrypted, and a program that starts by itself has nobody to ask for its password; expected a key "
            f"without one, for its user alone to read: `openssl pkey -in {key.name} -out plain-{key.name}` writes it"
        )

    try:
        context.load_cert_chain(certificate, key, ask_for_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise LocalError(
                f"the key {key} is not that of the certificate {certificate}; expected the two that were made together: {MAKE}"
            ) from None
        raise LocalError(
            f"the certificate {certificate} or its key {key} is damaged, or of a kind that OpenSSL does not take "
            f"({error.reason or error}): {MAKE}"
        ) from None
    except OSError as error:
        raise LocalError(f"the certificate {certificate} or its key {key} cannot be read: {reason(error)}") from None


def _trust(context: ssl.SSLContext, ca: Path) -> None:
    """Let the context trust whom the CAs in a file have signed."""
    try:
        context.load_verify_locations(cadata=_read(ca, "the CA").decode("ascii", "replace"))
    except (ssl.SSLError, ValueError) as error:
        raise LocalError(
            f"the CA {ca} holds no certificate that OpenSSL takes ({error}); expected PEM, with a line {_CERTIFICATE.decode()}, "
            "such as the ca.pem that `gsg cert DIR` makes"
        ) from None


def _read(file: Path, what: str) -> bytes:
    try:
        with file.open("rb") as stream:
            held = stream.read(MAX_PEM_BYTES + 1)
    except FileNotFoundError:
        raise LocalError(f"{what} {file} is not there; name the file that holds it, or make one: {MAKE}") from None
    except OSError as error:
        raise LocalError(f"{what} {file} cannot be read: {reason(error)}; let the user that runs this read it") from None
    if len(held) > MAX_PEM_BYTES:
        raise LocalError(f"{what} {file} has more than {MAX_PEM_BYTES} bytes; expected PEM, which has a few thousand: {MAKE}")
    return held
