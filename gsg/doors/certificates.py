"""Makes certificates for doors and for their clients: a CA of one's own, and what it signs.

Keys are on P-256, which every client of TLS 1.2 and 1.3 knows, and leave this module as PEM without a password.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ..errors import LocalError

CA_DAYS = 3650
"""How long a CA is valid; a certificate that it signs is not valid for longer."""
EARLIER = datetime.timedelta(hours=1)
"""So much before it is made a certificate begins to be valid: clocks differ."""
MAX_NAME_CHARACTERS = 64
"""The longest common name (RFC 5280, appendix A.1)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA: whoever trusts its certificate trusts those that :meth:`sign_server` and :meth:`sign_client` make."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pair(self) -> Pair:
        """It, in PEM."""
        return _pair(self.certificate, self.key)

    def sign_server(self, hosts: list[str], *, days: int, now: datetime.datetime) -> Pair:
        """The certificate of a door that clients call by these names and addresses. Raises LocalError for what is neither."""
        alternatives = x509.SubjectAlternativeName([_alternative(host) for host in hosts])
        return self._sign(hosts[0][:MAX_NAME_CHARACTERS], days, now, ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def sign_client(self, name: str, *, days: int, now: datetime.datetime) -> Pair:
        """The certificate of a client, which is called so. Raises LocalError for a name that is none."""
        if not 0 < len(name) <= MAX_NAME_CHARACTERS or not name.isprintable():
            raise LocalError(f"{name!r:.100} is no name of a client; expected 1 to {MAX_NAME_CHARACTERS} printable characters")
        return self._sign(name, days, now, ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _sign(
        self,
        name: str,
        days: int,
        now: datetime.datetime,
        usage: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None,
    ) -> Pair:
        if now >= self.certificate.not_valid_after_utc:
            raise LocalError(
                f"it was valid until {self.certificate.not_valid_after_utc:%Y-%m-%d}; make another CA in an empty folder, and "
                "give it to all clients"
            )
        key = ec.generate_private_key(ec.SECP256R1())
        until = min(now + datetime.timedelta(days=days), self.certificate.not_valid_after_utc)
        made = (
            _builder(name, self.certificate.subject, key, now, until)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        if alternatives is not None:
            made = made.add_extension(alternatives, critical=False)
        return _pair(made.sign(self.key, SHA256()), key)


def make_authority(now: datetime.datetime) -> Authority:
    """A CA that nobody has yet."""
    key = ec.generate_private_key(ec.SECP256R1())
    # Its number tells two of them apart that were made on one day.
    name = f"gsg CA {x509.random_serial_number():x}"[:24]
    made = (
        _builder(name, _name(name), key, now, now + datetime.timedelta(days=CA_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
    )
    return Authority(made.sign(key, SHA256()), key)


def read_authority(pair: Pair) -> Authority:
    """A CA that was made before. Raises LocalError for what is none that can sign."""
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = load_pem_private_key(pair.key, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or certificate.public_key() != key.public_key():
            raise LocalError("the key is not that of the CA; expected the two that were made together")
        certificate.verify_directly_issued_by(certificate)
    except (ValueError, TypeError, InvalidSignature) as error:
        raise LocalError(f"they hold no CA with its key, in PEM and without a password: {error}") from None
    return Authority(certificate, key)


def _builder(
    name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime.datetime, until: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host.removeprefix("[").removesuffix("]")))
    except ValueError:
        pass
    try:
        name = host.encode("idna").decode() if not host.isascii() else host
        labels = name.removesuffix(".").removeprefix("*.").split(".")
        fits = len(name) <= 253 and all(
            0 < len(label) < 64 and label.replace("-", "").replace("_", "").isalnum() for label in labels
        )
    except UnicodeError:
        fits = False
    if not fits:
        raise LocalError(f"{host!r:.300} is no name or address of a host; expected one as in the URL, such as gsg.example.org")
    return x509.DNSName(name)


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(certificate.public_bytes(Encoding.PEM), key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
