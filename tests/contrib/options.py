"""What a command line of `gsg` that stands in contrib/ would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from gsg.cli import main


def parameters_of(words: Sequence[str]) -> dict[str, Any]:  # Any: as click checked them
    """The options of such a line, from the command's name on, as they are read; raises click's usage error."""
    # A command keeps the help option of the first context that it meets, so it is to be the one of `gsg`.
    group = click.Context(main, **main.context_settings)
    command = main.get_command(group, words[0])
    assert command is not None, words[0]
    return command.make_context(words[0], list(words[1:]), parent=group).params
