"""Certificates for tests, made once for all: what `gsg cert` writes, by name."""

from __future__ import annotations

import datetime
import ssl
from dataclasses import dataclass
from pathlib import Path

from gsg.doors.certificates import Authority, Pair, make_authority
from gsg.doors.tls import DoorTls, client_context

DAYS = 30
_MADE: list[Authority] = []


def now() -> datetime.datetime:
    """The time that certificates begin at."""
    return datetime.datetime.now(datetime.UTC)


def authority(number: int = 0) -> Authority:
    """One of some CAs."""
    while len(_MADE) <= number:
        _MADE.append(make_authority(now()))
    return _MADE[number]


@dataclass(frozen=True, slots=True)
class Files:
    """A folder with a CA, and what it signs."""

    folder: Path
    ca: Path

    @classmethod
    def at(cls, folder: Path, number: int = 0) -> Files:
        """With the CA of this number."""
        folder.mkdir(exist_ok=True)
        ca = folder / "ca.pem"
        ca.write_bytes(authority(number).pair.certificate)
        return cls(folder, ca)

    def write(self, name: str, pair: Pair) -> tuple[Path, Path]:
        """The files of a certificate and its key."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}-key.pem"
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        return certificate, key

    def server(self, *hosts: str, number: int = 0, client_ca: Path | None = None) -> DoorTls:
        """The TLS of a door with these names, those of this machine where none is given."""
        pair = authority(number).sign_server(list(hosts) or ["localhost", "127.0.0.1"], days=DAYS, now=now())
        return DoorTls(*self.write("cert", pair), client_ca)

    def client(self, name: str = "", number: int = 0) -> ssl.SSLContext:
        """The context of a client, with a certificate of its own where it has a name."""
        if not name:
            return client_context(self.ca)
        return client_context(self.ca, *self.write(name, authority(number).sign_client(name, days=DAYS, now=now())))
