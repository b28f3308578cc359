"""``gsg cert``: certificates for the doors of a peer and for its clients, signed by a CA of one's own.

A folder holds one CA. It is made where there is none and used again where there is one, so that clients that trust it need nothing
more when a certificate is renewed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import LocalError, reason
from ..connecting import complain
from ..messages import say

if TYPE_CHECKING:
    import datetime

    from ...doors.certificates import Authority, Pair

CA, CA_KEY, CERTIFICATE, KEY = "ca.pem", "ca-key.pem", "cert.pem", "key.pem"
HERE = ("localhost", "127.0.0.1", "::1")
"""What a door is always called besides, by its own machine."""
DAYS = 365
MAX_DAYS = 3650
_FILE_NAME = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_@.+-]{0,63}")
_TAKEN = {"ca", "ca-key", "cert", "key"}


@click.command(short_help="Make certificates for the doors of a peer, and for its clients.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="A name or address that clients call the peer by; localhost is always one.",
)
@click.option(
    "--days",
    type=click.IntRange(1, MAX_DAYS),
    default=DAYS,
    show_default=True,
    metavar="N",
    help="For how long it is valid; never longer than the CA, which is made for ten years.",
)
@click.option("--client", metavar="NAME", help="Make a certificate for this client instead of one for doors.")
@click.option("--force", is_flag=True, help="Make it anew where it is there; the CA stays.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def command(folder: Path, hosts: tuple[str, ...], days: int, client: str | None, force: bool, as_json: bool) -> None:
    """Make a certificate for the doors of a peer, or for a client, and the CA that signs it where DIR has none.

    \b
    ca.pem        the CA, for all clients to trust
    ca-key.pem    its key: keep it where only you can read it, best on no peer at all
    cert.pem      the certificate of the doors, and key.pem its key
    NAME.pem      the certificate of a client, and NAME-key.pem its key

    A peer that runs takes a certificate that is made anew within a second.
    """
    if client is not None and hosts:
        raise click.UsageError("--host is for doors, and --client makes a certificate for a client; give one of them")
    if client is not None and (client in _TAKEN or not _FILE_NAME.fullmatch(client)):
        raise click.BadParameter(
            f"{client!r} cannot be the name of a file there; expected letters, digits and _ @ . + -, and none of "
            f"{', '.join(sorted(_TAKEN))}",
            param_hint="--client",
        )
    try:
        made = _make(folder, list(dict.fromkeys([*hosts, *HERE])), days, client, force)
    except LocalError as error:
        complain(str(error))
        raise SystemExit(2) from None
    except OSError as error:
        complain(f"{error.filename or folder} cannot be written: {reason(error)}")
        raise SystemExit(1) from None
    commands = _commands(folder, client)
    if as_json:
        say(json.dumps({"files": made, "commands": commands}, indent=2))
        return
    for name, what in made.items():
        say(f"{name}  {what}")
    say("\nTry it with:\n" + "\n".join(f"    {each}" for each in commands))


def _make(folder: Path, hosts: list[str], days: int, client: str | None, force: bool) -> dict[str, str]:
    """Make what lacks; the files, and what each is."""
    import datetime

    certificate, key = (CERTIFICATE, KEY) if client is None else (f"{client}.pem", f"{client}-key.pem")
    there = [name for name in (certificate, key) if (folder / name).exists()]
    if there and not force:
        raise LocalError(
            f"{folder / there[0]} is there already, and peers or clients may use it; choose another folder, or make it anew with "
            "--force"
        )
    now = datetime.datetime.now(datetime.UTC)
    folder.mkdir(parents=True, exist_ok=True)
    authority, said = _authority(folder, now)
    if client is None:
        pair = authority.sign_server(hosts, days=days, now=now)
        what = f"the certificate of the doors, for {', '.join(hosts)}"
    else:
        pair, what = authority.sign_client(client, days=days, now=now), f"the certificate of the client {client}"
    _write_pair(folder / certificate, folder / key, pair)
    until = min(now + datetime.timedelta(days=days), authority.certificate.not_valid_after_utc)
    said[str(folder / certificate)] = f"{what}; valid until {until:%Y-%m-%d}"
    said[str(folder / key)] = "its key, for its user alone to read"
    return said


def _authority(folder: Path, now: datetime.datetime) -> tuple[Authority, dict[str, str]]:
    """The CA of a folder, and what is to be said of its files."""
    from ...doors.certificates import Pair, make_authority, read_authority

    ca, key = folder / CA, folder / CA_KEY
    there = [file for file in (ca, key) if file.exists()]
    if not there:
        authority = make_authority(now)
        _write_pair(ca, key, authority.pair)
        until = authority.certificate.not_valid_after_utc
        return authority, {
            str(ca): f"the CA, for all clients to trust; valid until {until:%Y-%m-%d}",
            str(key): "its key: who has it can be any peer or client to them; keep it where you alone can read it",
        }
    if len(there) == 1:
        raise LocalError(
            f"{folder} holds {there[0].name} alone; a CA has {CA} and {CA_KEY}: bring the other one, or choose another folder"
        )
    try:
        return read_authority(Pair(ca.read_bytes(), key.read_bytes())), {str(ca): "the CA, which was there"}
    except LocalError as error:
        raise LocalError(f"{ca} and {key} cannot sign: {error}") from None


def _write_pair(certificate: Path, key: Path, pair: Pair) -> None:
    """The key first: a peer that serves takes both when they belong together."""
    _write(key, pair.key, 0o600)
    _write(certificate, pair.certificate, 0o644)


def _write(file: Path, held: bytes, mode: int) -> None:
    """Write a file whole, or leave what is there; nobody can read a key meanwhile."""
    begun = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(held)
            stream.flush()
            os.fsync(stream.fileno())
        begun.replace(file)
    except BaseException:
        begun.unlink(missing_ok=True)
        raise


def _commands(folder: Path, client: str | None) -> list[str]:
    """How to try what was made."""

    def at(name: str) -> str:
        return shlex.quote(str(folder / name))

    serve = f"gsg peer --http-cert {at(CERTIFICATE)} --http-key {at(KEY)}"
    ask = f"gsg status --peer https://localhost:8470 --ca {at(CA)}"
    if client is None:
        return [serve, ask]
    return [f"{serve} --http-client-ca {at(CA)}", f"{ask} --cert {at(f'{client}.pem')} --key {at(f'{client}-key.pem')}"]
