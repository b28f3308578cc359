"""The options of ``gsg peer`` by which a door for clients speaks TLS: the same three for each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..arguments import AnyCommand
from ..filenames import FileName

if TYPE_CHECKING:
    from ...doors.tls import DoorTls


def tls_options(door: str, clients: str) -> list[Callable[[AnyCommand], AnyCommand]]:
    """The options of a door, whose names begin with it, for such clients."""
    file = FileName(dir_okay=False, path_type=Path)
    return [
        click.option(
            f"--{door}-cert",
            type=file,
            metavar="FILE",
            help=f"Speak TLS with {clients}, with this certificate; gsg cert makes one.",
        ),
        click.option(f"--{door}-key", type=file, metavar="FILE", help=f"The key of --{door}-cert."),
        click.option(
            f"--{door}-client-ca",
            type=file,
            metavar="FILE",
            help=f"Serve only {clients} that show a certificate which this CA has signed.",
        ),
    ]


def door_tls(door: str, certificate: Path | None, key: Path | None, client_ca: Path | None) -> DoorTls | None:
    """The TLS of a door, None where no option asks for it. Raises click's usage error where files lack, or hold no certificate."""
    from ...doors.tls import DoorTls
    from ...errors import LocalError

    if certificate is None and key is None:
        if client_ca is not None:
            raise click.UsageError(
                f"--{door}-client-ca asks clients for certificates, which takes TLS; add --{door}-cert and --{door}-key"
            )
        return None
    if certificate is None or key is None:
        given, lacking = ("cert", "key") if key is None else ("key", "cert")
        raise click.UsageError(
            f"--{door}-{given} without --{door}-{lacking}; a certificate has a key, expected both (`gsg cert DIR` makes them)"
        )
    tls = DoorTls(certificate, key, client_ca)
    try:
        tls.server_context()
    except LocalError as error:
        raise click.UsageError(str(error)) from None
    return tls
