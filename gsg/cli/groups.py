"""A command of commands, each in a module that is imported when it is called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import ClassVar

import click

from .arguments import in_utf8


class LazyGroup(click.Group):
    """Commands by name: the module of each in this package, and its short help, so that ``--help`` imports none."""

    modules: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order of the help."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them, imported; None for another name."""
        if cmd_name not in self.modules:
            return None
        command: click.Command = importlib.import_module(f".{self.modules[cmd_name][0]}", __package__).command
        return in_utf8(command)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click; a name that there is not ends with the nearest that there are, or all of them."""
        name = args[0]
        if name not in self.modules and not name.startswith("-"):
            near = nearest(name, list(self.modules))
            if near:
                said = f"Did you mean {' or '.join(repr(each) for each in near)}?"
            else:
                said = f"Expected one of {', '.join(self.modules)}."
            ctx.fail(f"No such command {name!r}. {said}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in self.modules.items()])


def nearest(name: str, known: list[str]) -> list[str]:
    """What somebody may have meant by a name: its beginning, the initials of its words, or a slip of the keyboard."""
    wanted = name.lower()
    begun = [each for each in known if len(wanted) > 1 and (each.startswith(wanted) or _initials(each) == wanted)]
    return begun or get_close_matches(wanted, known, n=2)


def _initials(name: str) -> str:
    return "".join(word[:1] for word in name.split("-"))
