"""What the commands that talk to a peer share: its address, running to an end, and saying what went wrong."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from ..errors import GsgError, LocalError, reason
from ..wire.addresses import read_address
from .arguments import with_options
from .filenames import FileName
from .messages import say

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from ssl import SSLContext

    from ..http.client import AsyncClient, ConnectionState

DEFAULT_PEER = "http://127.0.0.1:8470"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])  # Any: a click callback of any signature

_GIVEN = "gsg.cli.connecting"
"""Where click's context has what the options say: they are the same for all commands, which have nothing to do with them."""


def _file_option(name: str, help_text: str) -> Callable[[Decorated], Decorated]:
    def keep(context: click.Context, _: click.Parameter, value: Path | None) -> None:
        context.meta.setdefault(_GIVEN, {})[name] = value

    return click.option(
        f"--{name}",
        type=FileName(dir_okay=False, path_type=Path),
        envvar=f"GSG_{name.upper().replace('-', '_')}",
        show_envvar=True,
        metavar="FILE",
        expose_value=False,
        callback=keep,
        help=help_text,
    )


TOKEN_VARIABLE = "GSG_TOKEN"
TOKEN_NEXT = "write the token into it, as it stands in the peer's token file, for this user alone to read"
_ACCESS_OPTIONS = [
    _file_option("token-file", f"The token to show, where the peer asks for one. [default: ${TOKEN_VARIABLE}, else none]"),
    _file_option("ca", "The CA that has signed the certificate of a peer at https://, as of gsg cert. [default: the system's]"),
    _file_option("cert", "A certificate to show, where the peer asks for one."),
    _file_option("key", "Its key."),
]
"""Beside ``--peer``: whom a command trusts there, and who it is."""

peer_option: Callable[[Decorated], Decorated] = with_options(
    [
        click.option(
            "--peer",
            "url",
            envvar="GSG_PEER",
            default=DEFAULT_PEER,
            show_default=True,
            show_envvar=True,
            metavar="URL[,URL]",
            help="The HTTP door of the peer to talk to; of several, the first that answers, in random order.",
        ),
        *_ACCESS_OPTIONS,
    ]
)
"""Gives a command the address of a peer, and what :func:`connect` knows of how to talk to it."""
reconnect_option: Callable[[Decorated], Decorated] = click.option(
    "--no-reconnect",
    "reconnect",
    is_flag=True,
    flag_value=False,
    default=True,
    help="End when the peer is lost, instead of going on at the next one that answers.",
)


def connect(url: str, **options: Any) -> AbstractAsyncContextManager[AsyncClient]:  # Any: as in gsg.connect
    """A client of the peer at a URL, as :func:`gsg.connect` has it, and as the options beside ``--peer`` say."""
    from ..http.client import connect

    return connect(url, tls=client_tls(), token=client_token(), **options)


def _given() -> dict[str, Path | None]:
    context = click.get_current_context(silent=True)
    return {} if context is None else context.meta.get(_GIVEN, {})


def client_tls() -> SSLContext | None:
    """What the command that runs was told, for URLs of https; None where it was told nothing. Raises LocalError."""
    given = _given()
    ca, certificate, key = given.get("ca"), given.get("cert"), given.get("key")
    if ca is certificate is key is None:
        return None
    from ..doors.tls import client_context

    return client_context(ca, certificate, key)


def client_token() -> Callable[[], str] | None:
    """What says the token that the command that runs was given, and reads its file anew each time: one may have taken its place.
    None where it was given none. Raises click's usage error, which does not repeat it."""
    given = _given()
    file, said = given.get("token-file"), os.environ.get(TOKEN_VARIABLE)
    if file is None and said is None:
        return None
    read = partial(_read_token, file, said or "")
    try:
        read()
    except LocalError as error:
        raise click.BadParameter(str(error), param_hint=TOKEN_VARIABLE if file is None else "--token-file") from None
    return read


def _read_token(file: Path | None, said: str) -> str:
    """Raises LocalError."""
    from ..http.client.opening import check_token

    try:
        return check_token(said if file is None else file.read_text("utf-8"))
    except (OSError, UnicodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is no text in UTF-8"
        raise LocalError(f"{file}: {why}; {TOKEN_NEXT}") from None


def say_state(state: ConnectionState, why: str) -> None:
    """Say on standard error that the peer is lost, for commands that go on."""
    if state.value == "reconnecting":
        say(f"gsg: {why}; looking for a peer, until Ctrl-C", err=True)


def complain(problem: str) -> None:
    """Say on standard error what is wrong."""
    say(f"gsg: {problem}", err=True)


def run(
    work: Coroutine[Any, Any, None],  # Any: what a coroutine yields to the loop
    *,
    complain: Callable[[str], None] = complain,
    interrupted: Callable[[], int] | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> None:
    """Run to the end; exit 1 with the message of an error of ours, 2 where it is the caller's, 0 when the reader of our output has
    gone.

    Ctrl-C, SIGTERM and a closed terminal end it in order, and the peer is told goodbye: exit 130, 143 or 129, as shells have it.
    Where signals are somebody else's affair, ``interrupted()`` says with what it ends then. Without a ``loop_factory`` the loop is
    asyncio's.
    """
    ended_by = [signal.SIGINT]
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(_until_signalled(work, ended_by) if interrupted is None else work)
    except GsgError as error:
        complain(str(error))
        sys.exit(2 if isinstance(error, LocalError) else 1)
    except (KeyboardInterrupt, asyncio.CancelledError):
        if interrupted is not None:
            sys.exit(interrupted())
        _leave(128 + ended_by[0])
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            complain(reason(error))
            sys.exit(1)
        # As filters do: `gsg subscribe ... | head` is no failure. The descriptor goes, so that nothing is flushed to it at exit.
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115  # stays open until the process ends
        sys.exit(0)


def _leave(code: int) -> NoReturn:
    """End at once: a thread may parse what comes on standard input, and some parsers abort where Python ends below them."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


async def _until_signalled(work: Coroutine[Any, Any, None], ended_by: list[signal.Signals]) -> None:  # Any: as in run
    loop, running = asyncio.get_running_loop(), asyncio.current_task()
    assert running is not None

    def end(number: signal.Signals) -> None:
        ended_by[0] = number
        running.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not on this system, or in this thread
                loop.add_signal_handler(number, end, number)
    await work


def parse_address(text: str, *, option: str, example: str, default_host: str = "127.0.0.1") -> tuple[str, int]:
    """HOST:PORT, [IPV6]:PORT, :PORT or PORT. Raises click's usage error, which names the option."""
    found = read_address(text, default_host=default_host)
    if found is None:
        raise click.BadParameter(
            f"{text!r} is no address; expected HOST:PORT such as {example}, the port at most 65535", param_hint=option
        )
    return found
