"""The command ``gsg``. This is where doors are put together; each command's module is imported when it is called.

Open next: peer/ (start a peer), publish/, subscribe.py, explain.py, ls.py, status.py, check.py, cert/, simulate/; connecting.py has
what they share.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import Any, ClassVar

import click

import gsg

from .groups import LazyGroup
from .messages import escape_what_is_lacking, say


class _Gsg(LazyGroup):
    modules: ClassVar = {
        "peer": ("peer", "Start a peer in the foreground."),
        "publish": ("publish", "Publish the tuples of a file, or retract them."),
        "subscribe": ("subscribe", "Print the rows of a standing query as they come and go."),
        "channel": ("channel", "Publish and hear events of property sets."),
        "topics": ("topics", "List the topics that a peer knows of."),
        "explain": ("explain", "Say how a query is answered, why a row holds or does not, or what subscriptions hold."),
        "ls": ("ls", "List the constants that facts have, those with the most facts first."),
        "status": ("status", "Show the peers, what each holds and how the load is spread."),
        "check": ("check", "Say how a peer is, for cron and monitors; the exit code is that of Nagios' plugins."),
        "cert": ("cert", "Make certificates for the doors of a peer, and for its clients."),
        "simulate": ("simulate", "Simulate large overlays on Spark."),
    }

    def main(self, *arguments: Any, **options: Any) -> Any:  # Any: as click has it
        """Call a command. A help that cannot be written ends as rows that cannot be."""
        try:
            return super().main(*arguments, **options)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF):
                raise
            from ..errors import reason

            say(f"gsg: {reason(error)}", err=True)
            sys.exit(1)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:  # Any: as click has it
        """Read the options; Ctrl-C meanwhile, as while a help is written, ends it as Ctrl-C later does."""
        try:
            return super().make_context(*arguments, **options)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)

    def invoke(self, ctx: click.Context) -> Any:  # Any: as click has it
        """Call the command; Ctrl-C while it is imported ends it as Ctrl-C later does."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)


@click.command(cls=_Gsg, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gsg.__version__, prog_name="gsg")
def main() -> None:
    """The Global Semantic Graph router: publish/subscribe by content, peer to peer.

    Start a peer with `gsg peer`; publish, subscribe and look at it from other terminals.
    """
    _open_standard_streams()
    escape_what_is_lacking()


def _open_standard_streams() -> None:
    """Put /dev/null where a supervisor has closed standard input, output or error: else a socket would take its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, which is this one.
            os.open(os.devnull, os.O_RDWR)
    # What was closed as Python began has no file there.
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")
