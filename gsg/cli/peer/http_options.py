"""The options of ``gsg peer`` that concern its HTTP door."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..arguments import AnyCommand, refuse_options, with_options
from ..filenames import FileName
from .door_tls import door_tls, tls_options

if TYPE_CHECKING:
    from ...http.door import HttpDoor
    from ...peer import Peer

DEFAULT_HTTP = "127.0.0.1:8470"

with_http: Callable[[AnyCommand], AnyCommand] = with_options(
    [
        click.option(
            "--http",
            default=DEFAULT_HTTP,
            show_default=True,
            metavar="HOST:PORT",
            help="The HTTP door for gsg publish, subscribe and status; 'none' for none.",
        ),
        click.option(
            "--http-host",
            "http_hosts",
            multiple=True,
            metavar="NAME",
            help="A name of the HTTP door besides its addresses and localhost; may be given several times.",
        ),
        click.option(
            "--http-advertise",
            metavar="URL",
            help="Where clients of other peers find the HTTP door, if not at the address that it is bound to.",
        ),
        click.option(
            "--http-token-file",
            type=FileName(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Serve those alone who show a token of the file, a line each: TOKEN ROLES NAME, with roles of read, publish, "
            "admin; what is written into it holds at once.",
        ),
        click.option("--http-open", is_flag=True, help="Serve whoever reaches a door beyond loopback, without a token."),
        click.option(
            "--http-origin",
            "http_origins",
            multiple=True,
            metavar="ORIGIN",
            help="Let pages of another origin talk to the HTTP door, such as https://app.example.org; may be given several times.",
        ),
        click.option("--open", "http_opens_page", is_flag=True, help="Open the page of the HTTP door in a browser."),
        *tls_options("http", "clients of the HTTP door"),
    ]
)
"""Gives a command these options; :class:`HttpOptions` has what they say but for ``--http`` itself."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """What was said on the command line."""

    hosts: tuple[str, ...] = ()
    advertise: str | None = None
    cert: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None
    token_file: Path | None = None
    open: bool = False
    origins: tuple[str, ...] = ()
    opens_page: bool = False

    @classmethod
    def taken(cls, options: dict[str, Any]) -> HttpOptions:  # Any: click checked them
        """What the options say, taken out of them."""
        names = [name for name in options if name.startswith("http_")]
        return cls(**{name.removeprefix("http_"): options.pop(name) for name in names})

    def check(self, *, is_there: bool) -> None:
        """Raise click's usage error where what the options say is wrong, or is about a door that there is not to be."""
        if is_there:
            door_tls("http", self.cert, self.key, self.client_ca)
        else:
            refuse_options(
                "says something about the HTTP door, and there is none; add --http HOST:PORT", lambda name: name.startswith("http_")
            )

    def door(self, peer: Peer, host: str, port: int) -> HttpDoor:
        """The door, still to be entered. Raises LocalError for a name, an origin or a URL that is none, and for a file that has no
        tokens."""
        from ...http.access.tokens import TokenFile
        from ...http.door import HttpDoor

        tls = door_tls("http", self.cert, self.key, self.client_ca)
        return HttpDoor(
            peer,
            host,
            port,
            names=self.hosts,
            advertise=self.advertise,
            tokens=None if self.token_file is None else TokenFile(self.token_file),
            open_to_all=self.open,
            origins=self.origins,
            tls=tls,
        )
