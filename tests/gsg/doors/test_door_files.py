"""The files of a certificate: what is wrong with them is said, and what changes is taken by whoever connects next."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import pytest
from certified import Files, authority, now
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from gsg import LocalError
from gsg.doors.certificates import CA_DAYS, Pair, make_authority, read_authority
from gsg.doors.renewal import LOOK_S, RenewedContext
from gsg.doors.tls import client_context


class Clock:
    """Seconds that a test lets pass."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_whatever_is_wrong_with_a_file_is_said_with_the_file(files: Files) -> None:
    tls = files.server()
    text = files.folder / "text.pem"
    text.write_text("hello\n")
    damaged = files.folder / "damaged.pem"
    damaged.write_bytes(tls.certificate.read_bytes()[:200] + b"\n-----END CERTIFICATE-----\n")
    other = files.folder / "other-key.pem"
    other.write_bytes(authority().sign_client("x", days=1, now=now()).key)
    encrypted = files.folder / "encrypted-key.pem"
    key = load_pem_private_key(tls.key.read_bytes(), None)
    encrypted.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))
    wrong = [
        (replace(tls, certificate=files.folder / "none.pem"), r"the certificate .*none\.pem is not there; .*gsg cert DIR"),
        (replace(tls, key=files.folder / "none.pem"), r"the key .*none\.pem is not there"),
        (replace(tls, certificate=files.folder), "the certificate .* cannot be read: is a directory"),
        (replace(tls, certificate=text), r"the certificate .*text\.pem holds none; expected PEM"),
        (replace(tls, key=tls.certificate), r"the key .*cert\.pem holds none"),
        (replace(tls, certificate=damaged), r"damaged\.pem or its key .* is damaged"),
        (replace(tls, key=other), r"the key .*other-key\.pem is not that of the certificate .*cert\.pem"),
        (replace(tls, key=encrypted), "is encrypted, .* expected a key without one, .*`openssl pkey"),
        (replace(tls, client_ca=text), r"the CA .*text\.pem holds no certificate"),
    ]

    for case, said in wrong:
        with pytest.raises(LocalError, match=said):
            case.server_context()


def test_a_client_has_a_certificate_with_its_key_or_none(files: Files) -> None:
    with pytest.raises(LocalError, match=r"a client's certificate .* without its key; expected both, or neither"):
        client_context(files.ca, files.ca)
    with pytest.raises(LocalError, match=r"a client's key .* without its certificate"):
        client_context(files.ca, None, files.ca)


def test_a_certificate_that_changes_is_taken_for_whoever_comes_next(files: Files) -> None:
    clock = Clock()
    renewed = RenewedContext(files.server(), clock)
    first = renewed.current()

    files.server("localhost", "gsg.example.org")
    at_once = renewed.current()
    clock.now_s += LOOK_S
    later = renewed.current()

    assert at_once is first
    assert later is not first
    assert renewed.current() is later


def test_a_broken_certificate_leaves_the_one_from_before_and_is_said_once(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    tls = files.server()
    renewed = RenewedContext(tls, clock)
    first = renewed.current()

    tls.certificate.write_text("-----BEGIN CERTIFICATE-----\n")
    contexts = []
    for _ in range(3):
        clock.now_s += LOOK_S
        contexts.append(renewed.current())
    tls.certificate.unlink()
    clock.now_s += LOOK_S
    contexts.append(renewed.current())
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    files.server()
    clock.now_s += LOOK_S

    assert contexts == [first] * 4
    assert len(said) == 2
    assert "the one from before is still shown" in said[0]
    assert renewed.current() is not first


def test_a_certificate_names_hosts_and_addresses_and_ends_with_its_ca() -> None:
    made = x509.load_pem_x509_certificate(
        authority().sign_server(["gsg.example.org", "10.0.0.7", "[::1]"], days=CA_DAYS * 2, now=now()).certificate
    )
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert names.get_values_for_type(x509.DNSName) == ["gsg.example.org"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.7", "::1"]
    assert made.not_valid_after_utc == authority().certificate.not_valid_after_utc
    made.verify_directly_issued_by(authority().certificate)


@pytest.mark.parametrize("host", ["", "a b", "http://x", "x:8470", "a..b", "é" * 70, "x" * 64])
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(LocalError, match="is no name or address of a host"):
        authority().sign_server([host], days=1, now=now())


@pytest.mark.parametrize("name", ["", "x" * 65, "a\nb"])
def test_what_is_no_name_of_a_client_is_refused(name: str) -> None:
    with pytest.raises(LocalError, match="is no name of a client"):
        authority().sign_client(name, days=1, now=now())


def test_a_ca_is_read_again_and_what_is_none_is_refused() -> None:
    pair, other = authority().pair, make_authority(now()).pair

    assert read_authority(pair).pair == pair
    with pytest.raises(LocalError, match="the key is not that of the CA"):
        read_authority(Pair(pair.certificate, other.key))
    with pytest.raises(LocalError, match="they hold no CA with its key"):
        read_authority(Pair(b"", b""))


def test_a_ca_that_is_over_signs_nothing() -> None:
    with pytest.raises(LocalError, match="it was valid until"):
        authority().sign_server(["localhost"], days=1, now=now() + datetime.timedelta(days=CA_DAYS + 1))


def test_a_file_that_is_too_long_is_none(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.doors.tls.MAX_PEM_BYTES", 10)

    with pytest.raises(LocalError, match="has more than 10 bytes"):
        client_context(Path(files.ca))
