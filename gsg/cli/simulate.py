"""``gsg simulate``: what large overlays would do, from the package ``simulations``, which is imported when a run begins."""

from __future__ import annotations

import importlib

import click

from .arguments import in_utf8

_COMMANDS = {
    "load-balance": ("simulate_load_balance", "Who would carry which load, strategy by strategy."),
    "churn": ("simulate_churn", "Which matches are lost while peers come and go."),
    "routing": ("simulate_routing", "How far lookups go, and how many succeed."),
    "dissemination": ("simulate_dissemination", "How views are exchanged, and how events spread."),
    "replay": ("simulate_replay", "When the rows of a query came and went, over a history of facts."),
    "package": ("simulate_package", "Make the zip that spark-submit hands to a cluster."),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f".{_COMMANDS[cmd_name][0]}", __package__).command
        return in_utf8(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in _COMMANDS.items()])


@click.command(cls=_LazyGroup, short_help="Simulate large overlays on Spark.")
def command() -> None:
    """Simulate large overlays on Spark, by the decisions that peers run.

    Needs the extra sim: pip install 'gsg-router[sim]'.
    """
