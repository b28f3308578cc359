"""The options of ``gsg peer`` that concern its door for Pedro's clients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ..arguments import AnyCommand, with_options
from ..filenames import FileName, read_option_file
from .door_tls import door_tls, tls_options

if TYPE_CHECKING:
    from ...peer import Peer

MAX_SIZE = 1024 * 1024
"""A line is held in memory whole. Its tokens bound how long it keeps a peer from all else (pedro_compat/terms/syntax.py)."""

SECRET_NEXT = "write what Pedro clients are to say into its first line, for this user alone to read"
with_pedro: Callable[[AnyCommand], AnyCommand] = with_options(
    [
        click.option(
            "--pedro",
            default=None,
            metavar="HOST:PORT",
            help="The door for Pedro clients (Pedro's own port is 4550). [default: none]",
        ),
        click.option(
            "--pedro-dialect",
            type=click.Choice(["paper", "1.14"]),
            default="paper",
            show_default=True,
            help="Pedro as its paper and manual say, or as its server 1.14 behaves.",
        ),
        click.option(
            "--pedro-size",
            type=click.IntRange(64, MAX_SIZE),
            default=1024,
            show_default=True,
            metavar="BYTES",
            help="A line of a Pedro client is shorter than this; whatever its length, one of more than 5,000 tokens is refused.",
        ),
        click.option("--pedro-admin", metavar="HOST", help="Where the client called admin hears everything. [default: nowhere]"),
        click.option(
            "--pedro-allow",
            multiple=True,
            metavar="CIDR",
            help="Serve Pedro clients of this network only; may be given several times.",
        ),
        click.option(
            "--pedro-secret",
            type=FileName(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="What Pedro clients must say first, the first line of the file.",
        ),
        click.option("--pedro-extensions", is_flag=True, help="Let Pedro subscriptions ask for more than Pedro has."),
        click.option(
            "--pedro-remember",
            type=click.FloatRange(0, 86_400),
            default=0.0,
            metavar="SECONDS",
            help="Remember notifications so long, for Pedro subscriptions that ask for them; brings --pedro-extensions with it.",
        ),
        *tls_options("pedro", "Pedro clients"),
    ]
)
"""Gives a command these options; :class:`PedroOptions` has what they say."""


def refuse_without_door(context: click.Context) -> None:
    """Raise click's usage error when an option says something about a door that there is not to be."""
    for name in context.params:
        if name.startswith("pedro_") and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(
                f"{option} says something about the door for Pedro clients, and there is none; add --pedro HOST:PORT"
            )


@dataclass(frozen=True, slots=True)
class PedroOptions:
    """What was said on the command line."""

    dialect: str = "paper"
    size: int = 1024
    admin: str | None = None
    allow: tuple[str, ...] = ()
    secret: Path | None = None
    extensions: bool = False
    remember: float = 0.0
    cert: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None

    def check(self) -> None:
        """Raise click's usage error, which names the option, for a network, a secret or a certificate that is none."""
        from gsg.errors import LocalError
        from pedro_compat.door.access import Allowed, checked_secret

        door_tls("pedro", self.cert, self.key, self.client_ca)
        option = "--pedro-allow"
        try:
            Allowed(self.allow)
            option = "--pedro-secret"
            if self.secret is not None:
                checked_secret(self._secret(self.secret))
        except LocalError as error:
            raise click.BadParameter(str(error), param_hint=option) from None

    def door(self, peer: Peer, host: str, port: int) -> Any:  # Any: a PedroDoor, which is imported when there is to be one
        """The door, still to be entered. Raises LocalError for a network or a secret that is none."""
        from pedro_compat.dialect import DIALECTS
        from pedro_compat.door.door import PedroDoor

        return PedroDoor(
            peer,
            host,
            port,
            dialect=DIALECTS[self.dialect],
            size=self.size,
            admin_host=self.admin,
            allow=self.allow,
            secret=None if self.secret is None else self._secret(self.secret),
            extensions=self.extensions,
            remember_s=self.remember,
            tls=door_tls("pedro", self.cert, self.key, self.client_ca),
        )

    @staticmethod
    def _secret(file: Path) -> str:
        return read_option_file(file, "--pedro-secret", SECRET_NEXT).split("\n")[0].strip()
