"""``gsg peer``: a peer in the foreground, with the doors that were asked for."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...interleaving import shorten_collections
from ...tuples.escaping import lines, one_line
from ..connecting import parse_address, run
from ..messages import say
from ..output import Printer
from .experiment_options import ExperimentOptions, with_experiment
from .http_options import DEFAULT_HTTP, HttpOptions, with_http
from .log_output import JSON, LAST_WORDS_S, TEXT, Outlet, log_to, outlet_for
from .network_options import members_of, network_of, ordered_of, with_network
from .page import open_page, page_url
from .pedro_options import PedroOptions, refuse_without_door, with_pedro
from .quota_options import quotas_of, with_quotas
from .service_manager import ServiceManager
from .signals import Ending, ended_by_signals

if TYPE_CHECKING:
    from ...network import Network
    from ...quotas import Quotas

log = logging.getLogger(__name__)

DEFAULT_LISTEN = "127.0.0.1:8471"
DEFAULT_PEDRO = "127.0.0.1:4550"

PARENT_S = 1.0
"""How often a peer that is to end with whoever started it looks whether that is there."""


class Folder(click.Path):
    """A directory that need not be there. An empty name is none: it would mean the current one, as where a variable is not set."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # Any: as click has it
        """As in click.Path."""
        if value == "":
            self.fail("the name is empty; expected a directory, such as ./data", param, ctx)
        return super().convert(value, param, ctx)


@click.command(short_help="Start a peer in the foreground.")
@click.option(
    "--listen",
    default=DEFAULT_LISTEN,
    show_default=True,
    metavar="HOST:PORT",
    help="Where other peers reach this one, by TCP and UDP; port 0 takes a free one.",
)
@click.option(
    "--join", "joins", multiple=True, metavar="HOST:PORT", help="A peer to enter the overlay by; may be given several times."
)
@with_http
@click.option(
    "--data",
    type=Folder(),
    metavar="DIR",
    help="Keep the peer's id, its facts and the addresses of others there: it resumes them when it starts again.",
)
@click.option(
    "--trace",
    type=Folder(),
    metavar="DIR",
    help="Write what comes to this peer to Parquet files there, for gsg simulate; needs the extra sim.",
)
@click.option(
    "--otel/--no-otel",
    default=None,
    help="Send spans by OTLP as the variables OTEL_* say; by default where they have an endpoint. Needs the extra otel.",
)
@click.option(
    "--anchor",
    type=click.Choice(["rarest", "predicate", "random"]),
    default="rarest",
    show_default=True,
    help="Which constant of a condition its subscriptions are posted at.",
)
@click.option("--with-parent", is_flag=True, help="Stop, without handing over, when the process that started this one has gone.")
@with_network
@with_pedro
@with_quotas
@with_experiment
@click.option(
    "--log-format",
    type=click.Choice([TEXT, JSON]),
    default=TEXT,
    show_default=True,
    help="The log on standard error: lines for people, or one JSON object a line for programs.",
)
@click.option("-v", "--verbose", count=True, help="Say more on standard error; twice for all there is.")
@click.option("-q", "--quiet", is_flag=True, help="Say there only what is wrong, and not which peers come and go.")
def command(
    listen: str,
    joins: tuple[str, ...],
    http: str,
    pedro: str | None,
    data: Path | None,
    trace: Path | None,
    otel: bool | None,
    anchor: str,
    with_parent: bool,
    secret_file: Path | None,
    allow_peers: Path | None,
    link_tls: str,
    peers_per_block: int,
    ordered: tuple[str, ...],
    log_format: str,
    verbose: int,
    quiet: bool,
    **more_options: Any,  # Any: click checked them
) -> None:
    """Start a peer in the foreground; Ctrl-C hands over what it holds to its neighbours and stops it.

    \b
    The first peer of an overlay:   gsg peer
    One more on the same machine:   gsg peer --listen :0 --http :0 --join 127.0.0.1:8471
    One that outlives a restart:    gsg peer --data DIR
    """
    shorten_collections()
    http_options = HttpOptions.taken(more_options)
    http_options.check(is_there=http != "none")
    pedro_address = None if pedro in (None, "none") else parse_address(pedro, option="--pedro", example=DEFAULT_PEDRO)
    quotas = quotas_of(more_options)
    experiment = ExperimentOptions(**{field.name: more_options.pop(field.name) for field in fields(ExperimentOptions)})
    to_facilitator = experiment.joined()
    options = PedroOptions(**{name.removeprefix("pedro_"): value for name, value in more_options.items()})
    if pedro_address is None:
        refuse_without_door(click.get_current_context())
    else:
        options.check()
    ending = Ending()
    with ended_by_signals(ending):
        outlet = outlet_for(2, log_format)
        log_to(outlet, verbose, log_format, quiet=quiet)
        try:
            run(
                _serve(
                    parse_address(listen, option="--listen", example=DEFAULT_LISTEN),
                    [*to_facilitator, *(parse_address(join, option="--join", example=DEFAULT_LISTEN) for join in joins)],
                    None if http == "none" else parse_address(http, option="--http", example=DEFAULT_HTTP),
                    pedro_address,
                    options,
                    experiment,
                    http_options=http_options,
                    data=data,
                    trace=trace,
                    otel=otel,
                    anchor=anchor,
                    with_parent=with_parent,
                    quotas=quotas,
                    network=network_of(secret_file, allow_peers, link_tls, peers_per_block, ordered),
                    ending=ending,
                    outlet=outlet,
                ),
                complain=partial(_complain, outlet),
                interrupted=lambda: ending.status,
                loop_factory=_loop_factory(),
            )
        finally:
            outlet.close()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed. Not as the policy of the process, which would outlast the peer where a test runs one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _complain(outlet: Outlet, problem: str) -> None:
    """Say why the peer ends; not longer than for its reader's LAST_WORDS_S."""
    if sys.stderr is sys.__stderr__:
        outlet.say(lines(f"gsg: {problem}"))
    else:
        say(f"gsg: {problem}", err=True)  # kept in memory, as in a test


async def _serve(
    listen: tuple[str, int],
    joins: list[tuple[str, int]],
    http: tuple[str, int] | None,
    pedro: tuple[str, int] | None,
    pedro_options: PedroOptions,
    experiment: ExperimentOptions,
    *,
    http_options: HttpOptions,
    data: Path | None,
    trace: Path | None,
    otel: bool | None,
    anchor: str,
    with_parent: bool,
    quotas: Quotas,
    network: Network,
    ending: Ending,
    outlet: Outlet,
) -> None:
    from dht.errors import show

    from ...monitoring.span_export import exported_spans
    from ...peer import Peer

    loop = asyncio.get_running_loop()
    stop = ending.attach()
    printer = Printer(sys.stdout)
    parent = os.getppid()

    def look_for_parent() -> None:
        # Whoever loses its parent is given another one.
        if os.getppid() == parent:
            loop.call_later(PARENT_S, look_for_parent)
        else:
            ending.skip()

    if with_parent:
        look_for_parent()
    async with contextlib.AsyncExitStack() as doors:
        manager = doors.enter_context(ServiceManager())
        # The last to end: what the peer does as it stops has its spans, too.
        provider = await doors.enter_async_context(exported_spans(otel))
        told = partial(Peer, data=data, trace=trace, anchor=anchor, quotas=quotas, network=network)
        peer = await doors.enter_async_context(told(listen, joins, tracer_provider=provider))
        # Nothing is said before all doors stand: what was said would have to be taken back where a port is in use.
        if pedro is not None:
            peer.doors.expect("pedro")
        http_door = None if http is None else await doors.enter_async_context(http_options.door(peer, *http))
        pedro_door = None if pedro is None else await doors.enter_async_context(pedro_options.door(peer, *pedro))
        peer.counters.add(outlet.counts)
        contact = peer.contact
        said = [f"peer {contact.id.hex()} listens on {show(contact.host, contact.port)}", members_of(network), *ordered_of(network)]
        if network.link_tls is False:
            said.append("links to other peers are plain: whoever is on the way can read and change what they carry")
        if data is None:
            said.append("nothing is kept on disk: facts last as long as a peer that holds them; --data DIR keeps them")
        else:
            said.append(f"data in {data}: {peer.resumed_facts:,} facts resumed")
        if http_door is not None:
            said += [f"http door at {http_door.url}", f"page for browsers at {page_url(http_door.url)}"]
        if pedro_door is not None:
            said.append(f"pedro door at {show(pedro_door.host, pedro_door.port)}")
        if trace is not None:
            said.append(f"trace in {trace}")
        if provider is not None:
            said.append("spans go to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, or to localhost:4318")
        said += await experiment.enter(peer, doors, printer.print)
        ending.started()
        manager.started(peer.vitals.state)
        if http_door is not None and http_options.opens_page:
            open_page(page_url(http_door.url))
        await _say_while_serving(printer, [*said, "ready; Ctrl-C stops"], stop)
        manager.stopping()
        await _say_at_last(printer, "stopping: handing over what this peer holds; Ctrl-C again skips that")
    await _say_at_last(printer, "stopped")


async def _say_while_serving(printer: Printer, said: list[str], stop: asyncio.Event) -> None:
    """Serve until the peer is to stop, whether somebody reads what is said or not: it is no filter, which ends with its reader."""
    printing = asyncio.ensure_future(printer.print("\n".join(map(one_line, said))))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((printing, stopping), return_when=asyncio.FIRST_COMPLETED)
        if printing.done() and (problem := printing.exception()) is not None:
            log.warning("what this peer has to say cannot be written: %s", problem)
        await stopping
    finally:
        printing.cancel()
        stopping.cancel()


async def _say_at_last(printer: Printer, said: str) -> None:
    # The terminal may be closed, and who reads may read no more.
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(LAST_WORDS_S):
            await printer.print(said)
