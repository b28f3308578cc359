"""What every command asks of the texts that it is given, that they are UTF-8, and options that several have.

Python hands over a byte that is none as half of a surrogate pair, which no message of the protocol can carry. Names of files may
have any bytes that the system takes, so options of that type are left alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.types import StringParamType

AnyCommand = TypeVar("AnyCommand", bound=Callable[..., Any])  # Any: click calls it with what its options say


class Utf8Text(StringParamType):
    """A text, refused where it came as bytes that are no UTF-8, such as from a terminal of Latin-1."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # Any: as click has it
        """As in click's own."""
        text = super().convert(value, param, ctx)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            before = text[: error.start]
            odd = os.fsencode(text[error.start])[:1] if "\udc80" <= text[error.start] <= "\udcff" else b""
            what = f"byte {odd.hex().upper()}" if odd else f"U+{ord(text[error.start]):04X}"
            self.fail(
                f"{what} after {before[-30:]!r} is no UTF-8; expected a text in UTF-8: write it with a terminal "
                "that is set to UTF-8 (`locale` shows it), or give it in a file",
                param,
                ctx,
            )
        return text


def in_utf8(command: click.Command) -> click.Command:
    """The command, whose options and arguments of plain text are UTF-8."""
    for param in command.params:
        if type(param.type) is StringParamType:
            param.type = Utf8Text()
    return command


def with_options(options: Iterable[Callable[[AnyCommand], AnyCommand]]) -> Callable[[AnyCommand], AnyCommand]:
    """Give a command these options and arguments, in the order of its help."""
    listed = list(options)

    def decorated(command: AnyCommand) -> AnyCommand:
        for option in reversed(listed):
            command = option(command)
        return command

    return decorated


def refuse_options(reason: str, is_refused: Callable[[str], bool]) -> None:
    """Raise click's usage error, which is an option and the reason, where the command that runs was given an option of a name, that
    of its parameter, which is refused."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        if is_refused(name) and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"{option.opts[0]} {reason}")
