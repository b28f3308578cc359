"""``gsg explain``: how queries are answered, why rows hold or do not, what subscriptions hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import LocalError, PeerUnreachable, reason
from ..tuples.escaping import json_line, one_line
from .connecting import connect, peer_option, run
from .messages import say
from .query_input import check_one, read_query, with_query

if TYPE_CHECKING:
    from ..explain.explanations import Holding, Plan, Why, WhyNot


@click.command(short_help="Say how a query is answered, why a row holds or does not, or what subscriptions hold.")
@with_query
@click.option("--offline", is_flag=True, help="Ask no peer: the plan without counts and anchors.")
@click.option("--subscription", type=click.IntRange(min=1), metavar="ID", help="Explain a subscription of the peer, by its number.")
@click.option("--why", "why", metavar="ROW", help="Which tuples make this row of the subscription.")
@click.option("--why-not", "why_not", metavar="ROW", help="Which part of the query leaves nothing of this row.")
@click.option("--graph", "graph", type=click.Path(path_type=Path), metavar="FILE", help="Draw the network to this SVG file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@peer_option
def command(
    text: str | None,
    file: Path | None,
    language: str | None,
    offline: bool,
    subscription: int | None,
    why: str | None,
    why_not: str | None,
    graph: Path | None,
    as_json: bool,
    url: str,
) -> None:
    """Say how the query TEXT is answered: the order of its joins, how many tuples each condition has, where it is posted.

    Without TEXT: the subscriptions of the peer and what each holds. A ROW is like ?x=a ?y="b c", or a JSON object; a part will do.

    \b
    gsg explain '(?x, ^on, ?y), (?y, ^color, red)'
    gsg explain --subscription 1 --why-not '?x=B1'
    gsg explain --graph network.svg
    """
    given = text is not None or file is not None
    check_one(text, file)
    if given and subscription is not None:
        raise click.UsageError("give a query, or the number of a subscription, not both")
    if why is not None and why_not is not None:
        raise click.UsageError("a row holds or does not: give --why or --why-not, not both")
    if (why is not None or why_not is not None) and subscription is None:
        raise click.UsageError("--why and --why-not need --subscription ID; gsg explain without arguments lists them")
    if offline and not given:
        raise click.UsageError("--offline needs a query: subscriptions are with a peer")
    if graph is not None and as_json:
        raise click.UsageError("--graph writes a picture, not JSON")
    # A name without a suffix promises no other kind of picture: /dev/stdout is one.
    if graph is not None and graph.suffix.lower() not in ("", ".svg"):
        raise click.BadParameter(
            f"{graph} ends in {graph.suffix}, and what is drawn is SVG; expected a name such as {graph.with_suffix('.svg')}",
            param_hint="--graph",
        )
    if why is not None or why_not is not None:
        if graph is not None:
            raise click.UsageError("give --graph, or --why or --why-not, not both")
        assert subscription is not None, "checked above"
        run(_reasons(subscription, why, why_not, as_json, url))
    elif given:
        run(_query(text, file, language, offline, graph, as_json, url))
    else:
        run(_subscriptions(subscription, graph, as_json, url))


async def _query(
    given: str | None, file: Path | None, language: str | None, offline: bool, graph: Path | None, as_json: bool, url: str
) -> None:
    text, language = read_query(given, file, language)
    if graph is not None:
        from ..explain.explain import draw_query
        from ..languages import parse_query

        _write(graph, draw_query(parse_query(text, language)))
        return
    told: list[str] = []
    if offline:
        from ..explain.explain import explain_plan
        from ..languages import parse_query

        plan = explain_plan(parse_query(text, language), language)
    else:
        from .hints import hints_of

        try:
            async with connect(url, reconnect=False) as client:
                plan = await client.explain(text, language)
                told = [] if as_json else await hints_of(client, plan)
        except PeerUnreachable as error:
            raise PeerUnreachable(f"{error}; --offline explains a query without one") from None
    _say(plan, as_json)
    for hint in told:
        say(f"hint: {hint}")


async def _reasons(subscription: int, why: str | None, why_not: str | None, as_json: bool, url: str) -> None:
    from .row_text import read_row

    row = read_row(why if why is not None else why_not or "")
    async with connect(url, reconnect=False) as client:
        _say(await (client.why_not if why is None else client.why)(subscription, row), as_json)


async def _subscriptions(number: int | None, graph: Path | None, as_json: bool, url: str) -> None:
    async with connect(url, reconnect=False) as client:
        if graph is not None:
            _write(graph, await client.drawing(number))
            return
        held = await client.subscriptions()
        known = [one for one in held if number in (None, one.number)]
        if number is not None and not known:
            raise LocalError(f"no subscription {number} at this peer; gsg explain without arguments lists those that there are")
        if as_json:
            _json(known if number is None else known[0])
        elif not known:
            say("this peer has no subscriptions")
        else:
            _table(known)
        if number is not None and not as_json:
            say(str(await client.explain(known[0].text, known[0].language)))


def _say(explanation: Plan | Why | WhyNot, as_json: bool) -> None:
    if as_json:
        _json(explanation)
    else:
        say(str(explanation))


def _table(held: list[Holding]) -> None:
    from .tables import HOLDINGS_LEGEND, console, holdings_table, print_table

    output = console()
    print_table(output, holdings_table(held))
    output.print(HOLDINGS_LEGEND, style="dim", soft_wrap=False)


def _json(explanation: object) -> None:
    import msgspec

    # What speaks to a terminal can only be inside of strings: line ends between the parts are the document's own.
    say("\n".join(map(json_line, msgspec.json.format(msgspec.json.encode(explanation)).decode().split("\n"))))


def _write(file: Path, svg: str) -> None:
    try:
        file.write_text(svg, "utf-8")
    except OSError as error:
        raise LocalError(
            f"cannot write {one_line(str(file))}: {reason(error)}; expected a name in a folder that is there"
        ) from None
    say(f"wrote {one_line(str(file))}")
