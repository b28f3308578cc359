"""The options of ``gsg peer`` that say which network it belongs to."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..arguments import AnyCommand, with_options
from ..filenames import FileName, read_option_file
from ..messages import say

if TYPE_CHECKING:
    from ...network import Network

SECRET_VARIABLE = "GSG_NETWORK_SECRET"
OTHERS = stat.S_IRGRP | stat.S_IROTH

_FILE = FileName(dir_okay=False, path_type=Path)
SECRET_NEXT = "make one with `(umask 077; openssl rand -hex 32 > {file})`, and copy it to every peer"
ALLOWED_NEXT = "write into it the ids of the peers that may come, one a line, as they say when they start or are refused"
with_network: Callable[[AnyCommand], AnyCommand] = with_options(
    [
        click.option(
            "--secret-file",
            type=_FILE,
            metavar="FILE",
            help=f"The network's secret: peers that do not have the same cannot join. [default: ${SECRET_VARIABLE}, else none]",
        ),
        click.option(
            "--allow-peers",
            type=_FILE,
            metavar="FILE",
            help="Talk with these peers only: their ids, one a line.",
        ),
        click.option(
            "--link-tls",
            type=click.Choice(["on", "off"]),
            default="on",
            show_default=True,
            help="Cipher the links to other peers; off needs off on both sides.",
        ),
        click.option(
            "--peers-per-block",
            type=click.IntRange(0, 1000),
            default=2,
            show_default=True,
            metavar="N",
            help="How many peers of one public address block count among the holders of a key; 0 for no limit. "
            "The same at all peers.",
        ),
        click.option(
            "--ordered",
            multiple=True,
            metavar="PATTERN",
            help="Keep the numbers of a position in their order, such as _,_,0..100/50: those from 0 to 100 of the third of "
            "three, in 50 intervals; a condition with bounds and no constant is then posted at some peers instead of all. "
            "The same at all peers; may be repeated.",
        ),
    ]
)
"""Gives a command these options; :func:`network_of` reads what they say."""


def network_of(
    secret_file: Path | None, allow_peers: Path | None, link_tls: str, peers_per_block: int, ordered: Sequence[str] = ()
) -> Network:
    """The network that was meant. Raises click's usage error, which names the option."""
    from ...errors import BadNetwork
    from ...network import Network, allowed_from

    try:
        Network(ordered=tuple(ordered))
    except BadNetwork as error:
        raise click.BadParameter(str(error), param_hint="--ordered") from None
    secret = None
    if secret_file is not None:
        secret = read_option_file(secret_file, "--secret-file", SECRET_NEXT.format(file=secret_file)).encode()
        mode = stat.S_IMODE(secret_file.stat().st_mode) if os.name == "posix" and secret_file.is_file() else 0
        if mode & OTHERS:
            say(f"gsg: warning: {secret_file} can be read by others (mode {mode:04o}); chmod 600 it", err=True)
    elif (said := os.environ.get(SECRET_VARIABLE)) is not None:
        # Set and empty is a mistake, as of a script that did not find the secret: it is to open no network.
        secret = said.encode()
    try:
        allowed = None if allow_peers is None else allowed_from(read_option_file(allow_peers, "--allow-peers", ALLOWED_NEXT))
    except BadNetwork as error:
        raise click.BadParameter(f"{allow_peers}: {error}", param_hint="--allow-peers") from None
    try:
        network = Network(secret, allowed, link_tls == "on", peers_per_block, tuple(ordered))
        network.check()
    except BadNetwork as error:
        hint = "--secret-file" if secret_file is not None else SECRET_VARIABLE
        raise click.BadParameter(str(error), param_hint=hint) from None
    return network


def ordered_of(network: Network) -> list[str]:
    """Which positions are ordered, for a person to read: a line where there are any."""
    return [f"ordered: {network.attributes}"] if network.attributes else []


def members_of(network: Network) -> str:
    """Whom a peer talks with, for a person to read."""
    count = 0 if network.allowed is None else len(network.allowed)
    allowed = "" if network.allowed is None else f"those of the {count:,} peer{'' if count == 1 else 's'} allowed who "
    if network.secret is not None:
        return f"members: {allowed or 'those who '}have the network's secret"
    if network.allowed is not None:
        return f"members: {allowed}come by, without a secret"
    return "members: everybody who reaches this peer; --secret-file FILE makes the network private"
