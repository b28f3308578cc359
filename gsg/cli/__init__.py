"""The command ``gsg``. This is where doors are put together; each command's module is imported when it is called.

Open next: peer.py (start a peer), publish.py, subscribe.py, explain.py, status.py, simulate.py.
"""

from __future__ import annotations

import importlib
import os

import click

import gsg

from .arguments import in_utf8

# Short helps stand here so that `gsg --help` imports no command.
_COMMANDS = {
    "peer": "Start a peer in the foreground.",
    "publish": "Publish the tuples of a file, or retract them.",
    "subscribe": "Print the rows of a standing query as they come and go.",
    "explain": "Say how a query is answered, why a row holds or does not, or what subscriptions hold.",
    "status": "Show the peers, what each holds and how the load is spread.",
    "simulate": "Simulate large overlays on Spark.",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f".{cmd_name}", __name__).command
        return in_utf8(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.command(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gsg.__version__, prog_name="gsg")
def main() -> None:
    """The Global Semantic Graph router: publish/subscribe by content, peer to peer.

    Start a peer with `gsg peer`; publish, subscribe and look at it from other terminals.
    """
    _open_standard_streams()


def _open_standard_streams() -> None:
    """Put /dev/null where a supervisor has closed standard input, output or error: else a socket would take its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, which is this one.
            os.open(os.devnull, os.O_RDWR)
