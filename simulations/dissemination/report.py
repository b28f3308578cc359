"""What the experiment ``dissemination`` shows: how the dead are forgotten, and how an event spreads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from statistics import fmean

import numpy as np

from ..drawing.marks import DASHED
from ..drawing.plots import Line, Panel, panels_picture
from ..engine.html_page import Figure, Table
from ..engine.intervals import Interval, flat, mean_of, share_of
from ..engine.results import Results, line_figure
from ..engine.sweep import by_setting, summed
from .cases import DisseminationRequest, Measured, Round, Spread, middle
from .verdict import Numbers, findings, findings_beside

REAL = "real"
SIMULATED = "simulated"
"""Whose figures come from a log, and from virtual time."""
_FORGOTTEN = 0.01
"""The share of references to the dead at which they count as forgotten."""


def results_of(
    request: DisseminationRequest, rounds: Sequence[Round], spreads: Sequence[Spread], *, source: str = SIMULATED
) -> Results:
    """Rounds and spreads as the report shows them; ``source`` is whose they are."""
    removals = _removals(rounds)
    events = _events(spreads)
    sizes = ", ".join(f"{agents:,}" for agents in sorted(request.agents))
    figures = [*_event_figures(request, spreads)] if spreads else []
    if rounds:
        figures = [*_removal_figures(request, rounds), *_size_figures(request, rounds), *figures]
    summary = [("view exchange", one) for one in removals] + [("diffusion", one) for one in events]
    return Results(
        title="How views are exchanged and events spread",
        lead=f"{sizes} agents with views of {' and '.join(map(str, request.views))}; exchanges of {request.exchanged}.",
        notes=_NOTES,
        tables=[
            Table.from_rows("How removed agents are forgotten", _REMOVALS, removals),
            Table.from_rows("How the first event of a topic spreads", _EVENTS, events),
            Table.from_rows("What further events cost", _COSTS, events),
        ],
        findings=findings(removals, events),
        figures=figures,
        summary=[flat({"kind": kind, "source": source, **one}) for kind, one in summary],
        rows={"rounds": rounds, "events": spreads},
        pictures=_pictures(
            [panel for _, panel in _removal_panels(request, rounds)] if rounds else [], _event_panels(request, spreads)
        ),
    )


def _pictures(removals: Sequence[Panel], arrivals: Sequence[Panel]) -> dict[str, str]:
    """What there is to see, for other pages: three panels in a row of removals, and two of arrivals."""
    pictures = {}
    if removals:
        pictures["removals"] = panels_picture("removals", removals, columns=3)
    if arrivals:
        pictures["arrivals"] = panels_picture("arrivals", arrivals, columns=min(2, len(arrivals)))
    return pictures


def _named(panels: Iterable[Panel], who: str) -> list[Panel]:
    return [replace(panel, title=f"{panel.title}, {who}") for panel in panels]


def results_beside(
    measured: Measured, request: DisseminationRequest, rounds: Sequence[Round], spreads: Sequence[Spread]
) -> Results:
    """What real peers came to, and as many simulated ones beside them."""
    real = results_of(measured.request, measured.rounds, measured.spreads, source=REAL)
    simulated = results_of(request, rounds, spreads)
    figures = zip_longest(*([_whose(each, who) for each in some.figures] for who, some in ((REAL, real), (SIMULATED, simulated))))
    return Results(
        title="How views are exchanged and events spread, by real peers and by simulated ones",
        lead=f"Real peers, and as many simulated ones, with hops of {request.hop_ms[0]:g} to {request.hop_ms[1]:g} ms.",
        notes=f"{measured.remarks}\n{_NOTES}",
        findings=findings_beside(_events(measured.spreads), _events(spreads)),
        tables=[both for pair in zip(real.tables, simulated.tables, strict=True) if (both := _beside(*pair)).cells],
        figures=[figure for pair in figures for figure in pair if figure is not None],
        summary=real.summary + simulated.summary,
        rows=simulated.rows | {f"{REAL}_{name}": rows for name, rows in real.rows.items()},
        pictures=_pictures(
            [
                panel
                for who, asked, some in ((REAL, measured.request, measured.rounds), (SIMULATED, request, rounds))
                for panel in _named((panel for _, panel in _removal_panels(asked, some)) if some else (), who)
            ],
            [
                panel
                for who, asked, spread in ((REAL, measured.request, measured.spreads), (SIMULATED, request, spreads))
                for panel in _named(_event_panels(asked, spread), who)
            ],
        ),
    )


def _beside(real: Table, simulated: Table) -> Table:
    """Rows of the same columns, with whose they are in front."""
    marked = [(f"{cells[0]} {who}", *cells[1:]) for who, table in ((REAL, real), (SIMULATED, simulated)) for cells in table.cells]
    return replace(real, cells=marked)


def _whose(figure: Figure, who: str) -> Figure:
    return replace(
        figure,
        svg=figure.svg.replace('id="', f'id="{who}-')
        .replace("url(#", f"url(#{who}-")
        .replace('"#', f'"#{who}-')
        .replace("<title>", f"<title>{who.capitalize()} peers: ", 1),
        caption=f"{who.capitalize()} peers: {figure.caption}",
    )


def _removals(rounds: Sequence[Round]) -> list[Numbers]:
    """Each setting of view exchange, all runs together."""
    settings = by_setting(rounds, lambda one: (one.agents, one.view, one.removed))
    found = []
    for (agents, view, removed), some in sorted(settings.items()):
        begun = [one for one in some if one.round == 0]
        share = _by_round(some, lambda one: one.dead_share)
        forgotten = next((number for number, dead in share.items() if dead <= _FORGOTTEN), None)
        spread = [_spread(one.in_degrees) for one in begun]
        last = [one for one in some if one.round == max(share)]
        found.append(
            {
                "agents": agents,
                "view": view,
                "removed": removed,
                "runs": len(begun),
                "in_degree_mean": fmean(mean for mean, _ in spread),
                "in_degree_std": fmean(std for _, std in spread),
                "rounds_to_one_percent": forgotten,
                "dead_share_at_end": share_of(
                    [one.dead_share for one in last], len(last) * (agents - round(removed * agents)) * view
                ),
                "dead_known_at_end": mean_of([float(one.dead_known) for one in last]),
            }
        )
    return found


def _spread(in_degrees: Sequence[int]) -> tuple[float, float]:
    """The mean and the deviation of in-degrees that are counted."""
    counts, degrees = np.array(in_degrees), np.arange(len(in_degrees))
    mean = float(counts @ degrees / counts.sum())
    return mean, float(np.sqrt(counts @ (degrees - mean) ** 2 / counts.sum()))


def _by_round(some: Sequence[Round], value: Callable[[Round], float]) -> dict[int, float]:
    """The mean over runs in each round, in their order."""
    return {number: fmean(map(value, of_round)) for number, of_round in sorted(by_setting(some, lambda one: one.round).items())}


def _events(spreads: Sequence[Spread]) -> list[Numbers]:
    """Each setting of a topic, all runs together."""
    settings = by_setting(spreads, lambda one: (one.agents, one.subscribers))
    return [
        {
            "agents": agents,
            "subscribers": share,
            "runs": len(some),
            "reached": share_of([one.reached / one.subscribed for one in some], sum(one.subscribed for one in some)),
            **{
                name: _mean([getattr(one, name) for one in some])
                for name in (
                    "median_ms",
                    "p99_ms",
                    "last_ms",
                    "first_payloads",
                    "steady_payloads",
                    "steady_small",
                    "steady_last_ms",
                    "changing_payloads",
                    "changing_small",
                    "changing_last_ms",
                    "missed",
                )
            },
            "carriers": _carriers(some),
        }
        for (agents, share), some in sorted(settings.items())
    ]


def _mean(values: Iterable[float | None]) -> Interval | None:
    """The mean of the runs that measured it; None where none did."""
    measured = [float(value) for value in values if value is not None]
    return mean_of(measured) if measured else None


def _carriers(some: Sequence[Spread]) -> Interval | None:
    """Which share of those that do not subscribe carried a payload; None where all subscribe, or no run measured it."""
    outside = some[0].agents - some[0].subscribed
    carriers = [one.carriers / outside for one in some if one.carriers is not None] if outside else []
    return share_of(carriers, len(carriers) * outside) if carriers else None


def _removal_panels(request: DisseminationRequest, rounds: Sequence[Round]) -> list[tuple[str, Panel]]:
    """Figures 4 to 9 of the paper, by their numbers: agents of the smallest overlay, against seconds since the removal."""
    smallest = min(one.agents for one in rounds)
    # Where nobody knows a removed agent any more there is nothing to see.
    last = max((one.round for one in rounds if one.dead_references and one.agents == smallest), default=0) + 2
    values: tuple[tuple[str, str, Callable[[Round], float]], ...] = (
        ("Figures 4 and 5", "agents clear of removed ones (count)", lambda one: one.clear),
        ("Figures 6 and 7", "references to removed agents (count)", lambda one: one.dead_references),
        ("Figures 8 and 9", "removed agents still known (count)", lambda one: one.dead_known),
    )
    panels = []
    for figure, y, value in values:
        lines = []
        for dash, view in enumerate(request.views):
            for colour, share in enumerate(request.removed):
                setting = (smallest, view, share)
                some = [one for one in rounds if (one.agents, one.view, one.removed) == setting and one.round <= last]
                if some:
                    means = _by_round(some, value)
                    seconds = np.array([number * request.round_s for number in means])
                    name = f"{round(share * smallest)} removed, views of {view}"
                    lines.append(Line(name, seconds, np.array(list(means.values())), colour + DASHED * dash))
        panels.append((figure, Panel(f"{smallest:,} agents", lines, "time since the removal (seconds)", y)))
    return panels


def _removal_figures(request: DisseminationRequest, rounds: Sequence[Round]) -> list[Figure]:
    return [
        line_figure(
            figure, panel.lines, x=panel.x, y=panel.y, caption=f"{figure}: {panel.y.removesuffix(' (count)')}, of {panel.title}."
        )
        for figure, panel in _removal_panels(request, rounds)
    ]


def _size_figures(request: DisseminationRequest, rounds: Sequence[Round]) -> list[Figure]:
    """In-degrees, and how the share of references to the dead falls, at every size."""
    view, removed = max(request.views), middle(request.removed)
    degrees, dead = [], []
    for colour, agents in enumerate(sorted(request.agents)):
        some = [one for one in rounds if (one.agents, one.view, one.removed) == (agents, view, removed)]
        counts = summed(one.in_degrees for one in some)
        name = f"{agents:,} agents"
        degrees.append(Line(name, np.arange(len(counts), dtype=np.float64), counts / counts.sum(), colour))
        means = _by_round(some, lambda one: one.dead_share)
        dead.append(Line(name, np.array(list(means), dtype=np.float64), np.array(list(means.values())), colour))
    return [
        line_figure(
            "degrees",
            degrees,
            x="in-degree (agents that know one)",
            y="agents (share)",
            caption=f"By how many an agent is known, with views of {view} after {request.settle} rounds.",
        ),
        line_figure(
            "dead",
            dead,
            x="time since the removal (rounds)",
            y="references to removed agents (share)",
            log_y=True,
            caption=f"How {removed:.0%} removed agents are forgotten, with views of {view}.",
        ),
    ]


def _event_panels(request: DisseminationRequest, spreads: Sequence[Spread]) -> list[Panel]:
    """Figures 10 to 14 of the paper, at every size."""
    panels = []
    for agents in sorted(request.agents):
        lines, slice_ms = [], 0.0
        for share in sorted(request.subscribers):
            some = [one for one in spreads if (one.agents, one.subscribers) == (agents, share)]
            if some:
                slice_ms = some[0].slice_ms
                heard = summed([(0,), *(one.heard for one in some)])
                at_ms = np.arange(0.5, len(heard), dtype=np.float64) * slice_ms
                lines.append(Line(f"{share:.0%} subscribe", at_ms, heard / len(some)))
        if lines:
            y = f"subscribers that hear first (count in {slice_ms:g} ms)"
            panels.append(Panel(f"{agents:,} agents", lines, "time since publishing (ms)", y))
    return panels


def _event_figures(request: DisseminationRequest, spreads: Sequence[Spread]) -> list[Figure]:
    """Figures 10 to 14; and how long it takes against the number of agents, where there are several."""
    figures = [
        line_figure(
            f"heard {panel.title}",
            panel.lines,
            x=panel.x,
            y=panel.y,
            caption=f"Figures 10 to 14: diffusion of an event among {panel.title}.",
        )
        for panel in _event_panels(request, spreads)
    ]
    if len(request.agents) < 2:
        return figures
    late = []
    for share in sorted(request.subscribers):
        sizes = by_setting((one for one in spreads if one.subscribers == share), lambda one: one.agents)
        p99_ms = {agents: _mean(one.p99_ms for one in some) for agents, some in sorted(sizes.items())}
        means = {float(agents): mean.value for agents, mean in p99_ms.items() if mean is not None}
        late.append(Line(f"{share:.0%} subscribe", np.array(list(means)), np.array(list(means.values()))))
    caption = "When 99 % of those who hear have heard: hops grow with the logarithm of the subscribers."
    return [*figures, line_figure("late", late, x="agents (count)", y="time to 99 % (ms)", log_x=True, caption=caption)]


_REMOVALS: tuple[tuple[str, str, Callable[[Numbers], str]], ...] = (
    ("agents", "count", lambda one: f"{one['agents']:,}"),
    ("view", "agents known to each", lambda one: f"{one['view']}"),
    ("removed", "of agents", lambda one: f"{one['removed']:.0%}"),
    ("in-degree", "agents, mean", lambda one: f"{one['in_degree_mean']:.1f}"),
    ("deviation", "of in-degrees; less is more even", lambda one: f"{one['in_degree_std']:.2f}"),
    (
        "rounds to 1 %",
        "count; less is better",
        lambda one: "" if one["rounds_to_one_percent"] is None else f"{one['rounds_to_one_percent']}",
    ),
    ("dead at end", "of references; less is better", lambda one: one["dead_share_at_end"].percent()),
    ("dead known", "removed agents; less is better", lambda one: str(one["dead_known_at_end"])),
)


def _shown(mean: Interval | None) -> str:
    return "-" if mean is None else str(mean)


_EVENTS: tuple[tuple[str, str, Callable[[Numbers], str]], ...] = (
    ("agents", "count", lambda one: f"{one['agents']:,}"),
    ("subscribers", "of agents", lambda one: f"{one['subscribers']:.0%}"),
    ("reached", "of subscribers; more is better", lambda one: one["reached"].percent()),
    ("median ms", "to half of them; less is better", lambda one: _shown(one["median_ms"])),
    ("p99 ms", "to 99 % of them", lambda one: _shown(one["p99_ms"])),
    ("last ms", "to the last of them", lambda one: _shown(one["last_ms"])),
    (
        "carried outside",
        "of non-subscribers; less is better",
        lambda one: "-" if one["carriers"] is None else one["carriers"].percent(),
    ),
)
_COSTS: tuple[tuple[str, str, Callable[[Numbers], str]], ...] = (
    ("agents", "count", lambda one: f"{one['agents']:,}"),
    ("subscribers", "of agents", lambda one: f"{one['subscribers']:.0%}"),
    ("first payloads", "per subscriber; 1 is least", lambda one: _shown(one["first_payloads"])),
    ("steady", "payloads per subscriber and event; 1 is least", lambda one: _shown(one["steady_payloads"])),
    ("changing", "payloads per subscriber and event; 1 is least", lambda one: _shown(one["changing_payloads"])),
    ("small frames", "per subscriber and event; less is cheaper", lambda one: _shown(one["steady_small"])),
    ("steady last", "ms; less is better", lambda one: _shown(one["steady_last_ms"])),
    ("changing last", "ms; less is better", lambda one: _shown(one["changing_last_ms"])),
    ("missed", "times; 0 is right", lambda one: _shown(one["missed"])),
)
_NOTES = """\
agents: all of them; a row is all runs with so many.
view: how many others an agent knows; removed: the share of agents that end at once.
in-degree, deviation: by how many an agent is known before the removal.
rounds to 1 %: until one reference in a hundred is to a removed agent.
dead at end: the share of references to removed agents after the last round.
dead known: removed agents that somebody still knows then.
subscribers: the share of agents that subscribe to the topic.
reached, median, p99, last: the first event of a topic, published by an agent that does not subscribe where there is one,
    which finds its access point first.
carried outside: those that do not subscribe and were sent a payload.
first payloads, steady, changing: events on their way to one agent, for each subscriber and event: of the first event,
    of one publisher, and with another publisher for each event, at 20 events a second.
small frames: all other messages, for each subscriber and event, of the steady state, rounds of exchange and all.
steady last, changing last: the longest that any of these events took to its last subscriber.
missed: how often one of these events did not reach a subscriber.
Brackets: 95 % intervals, by the spread between runs; one run alone has none but for shares of its own agents.
"0 of 4, below 53%": none of 4 was seen, and a true share below 53 % would still fit; "all of 2, above 22%" likewise.
Times of simulated agents: a hop takes a random time, and none is busy: they show the shape and not a real system's seconds."""
