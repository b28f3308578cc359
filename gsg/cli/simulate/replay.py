"""``gsg simulate replay``: when the rows of a query came and went, over a history of facts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .running import bar, conf_option, master_option, mistakes_told, start_spark

if TYPE_CHECKING:
    from rich.table import Table

    from simulations.replay.answering import Answer, Numbers, Replayed


@click.command(short_help="When the rows of a query came and went, over a history of facts.")
@click.argument("query")
@click.option("--events", required=True, metavar="PATH", help="The history: a file, or a folder.")
@click.option("--language", default="gsg", show_default=True, help="What the query is written in: gsg or sparql.")
@click.option("--out", "out_dir", metavar="DIR", help="Write rows.parquet there, with numbers and configuration.")
@click.option("--show", type=click.IntRange(min=0), default=20, show_default=True, help="Rows in the table, the first that came.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document with all rows instead of the table.")
@master_option
@conf_option
@click.option("--partitions", type=click.IntRange(min=1), help="Into how many parts it is cut. [default: one for each core]")
@click.option(
    "--engine",
    type=click.Choice(["spark", "memory"]),
    default="spark",
    show_default=True,
    help="memory: in one thread, without Java.",
)
def command(
    query: str,
    events: str,
    language: str,
    out_dir: str | None,
    show: int,
    as_json: bool,
    master: str | None,
    conf: tuple[str, ...],
    partitions: int | None,
    engine: str,
) -> None:
    """Say when each row of QUERY came and when it went, had it been subscribed to from the beginning of a history.

    \b
    gsg simulate replay '(?x, ^on, ?y), NOT { (?y, ^color, red) }' --events changes.jsonl
    gsg simulate replay @query.rq --language sparql --events trace/

    QUERY is a text, or @FILE. It may have conditions that are joined, FILTER, NOT, EXISTS, selections and DISTINCT. PATH has facts
    that come and go: .jsonl or .parquet with time, sign and tuple, the trace of `gsg peer --trace`, or .nt and .tsv, whose lines
    are insertions one after the other.
    """
    with mistakes_told():
        from simulations.engine.places import read_from, written_to
        from simulations.replay.answering import Request, answer, save, summary

        out = None if out_dir is None else written_to(out_dir)
        request = Request(_text_of(query), str(read_from(events, "--events")), language)
        with ExitStack() as drawing:
            title, progress = drawing.enter_context(bar())

            def replayed() -> Replayed:
                from simulations.replay.answering import in_this_process, on_spark

                if engine == "memory":
                    return in_this_process(progress)

                started = start_spark(title, master, conf)
                title("reading")
                return on_spark(started, partitions=partitions, progress=progress, title=title)

            with answer(request, replayed, out) as found:
                numbers = summary(found)
                if out is not None:
                    title("writing")
                    save(out, request, found, numbers)
                # All is known: what is written from here on is not to be drawn over.
                drawing.close()
                for said in found.said:
                    click.echo(f"gsg: warning: {said}", err=True)
                if as_json:
                    for line in _json(found, numbers):
                        click.echo(line)
                else:
                    _print(found, numbers, show)
                    if out is not None:
                        click.echo(f"rows.parquet, summary.json and configuration.json are in {out}")


def _text_of(query: str) -> str:
    """The text itself, or that of the file after an @. Raises BadParameter."""
    from simulations.errors import BadParameter

    from ...errors import LocalError
    from ..query_input import read_file

    if not query.startswith("@"):
        return query
    try:
        return read_file(Path(query[1:]))
    except LocalError as error:
        raise BadParameter(str(error)) from None


def _json(found: Answer, numbers: Numbers) -> Iterator[str]:
    """The document, a row a line."""
    yield json.dumps(numbers, ensure_ascii=False).removesuffix("}") + ', "answer": ['
    comma = " "
    for came, went, terms in found.rows.lines():
        row = dict(zip(found.variables, terms, strict=True))
        yield comma + json.dumps({"came": came, "went": went, "row": row}, ensure_ascii=False)
        comma = ","
    yield "]}"


def _print(found: Answer, numbers: Numbers, show: int) -> None:
    from ..tables import console

    rows = numbers["rows"]
    output = console()
    if rows and show:
        output.print(_table(found, show))
    if rows > show:
        output.print(f"The first {show:,} of {rows:,} rows; --out DIR and --json have all of them.", style="dim", soft_wrap=True)
    changes, holding = numbers["changes"], numbers["holding"]
    output.print(f"{changes:,} changes, {rows:,} rows, of which {holding:,} hold in the end", soft_wrap=True)


def _table(found: Answer, show: int) -> Table:
    from rich.text import Text

    from ..tables import plain_table

    table = plain_table()
    table.add_column("came", justify="right", no_wrap=True)
    table.add_column("went", justify="right", no_wrap=True)
    for name in found.variables:
        table.add_column(Text(f"?{name}"), overflow="fold")
    for came, went, terms in found.rows.lines(show):
        table.add_row(_time(came), _time(went), *map(Text, terms))
    return table


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return str(int(seconds)) if seconds.is_integer() else repr(seconds)
