"""The report stands by itself."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from simulations.drawing.marks import legend
from simulations.drawing.plots import Line, lines_plot
from simulations.engine.html_page import write_page
from simulations.errors import BadParameter
from simulations.load_balance.balance import InOneThread, Outcome, run
from simulations.load_balance.peers import Peers
from simulations.load_balance.report import Growth, report
from simulations.load_balance.strategies import parse
from simulations.workload.workload import COMMON_MIX, Synthetic

TUPLES = Synthetic(600, (40, 5, 40))
GROWTH = Growth(600, (10, 20), (1.5, 2.5))


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    subscriptions = TUPLES.subscriptions(50, COMMON_MIX, 1)
    return [run(parse(name), TUPLES, subscriptions, Peers(20, 1), InOneThread()) for name in ("rarest", "epochs-4")]


class _Tags(HTMLParser):
    """Notes every tag, and what it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]


def test_it_has_its_plots_inside_and_needs_no_network(outcomes: list[Outcome]) -> None:
    text = report(outcomes, [GROWTH, GROWTH], {"seed": 1})

    tags = _Tags()
    tags.feed(text)
    assert tags.seen.count("figure") == 5
    assert not {"script", "link", "img", "iframe"} & set(tags.seen)
    assert [link for link in tags.links if not link.startswith("#")] == []
    assert "url(http" not in text


def test_it_names_every_strategy_and_what_was_asked_for(outcomes: list[Outcome]) -> None:
    text = report(outcomes, [GROWTH, GROWTH], {"seed": 7, "events": "<a & b>", "mix": ""})

    assert all(f"<th>{outcome.strategy.name}</th>" in text for outcome in outcomes)
    assert "600 tuples and 50 subscriptions over 20 peers" in text
    assert "<td>&lt;a &amp; b&gt;</td>" in text
    assert "<th>mix</th>" not in text


def test_the_same_run_makes_the_same_page(outcomes: list[Outcome]) -> None:
    assert report(outcomes, [GROWTH, GROWTH], {}) == report(outcomes, [GROWTH, GROWTH], {})


def test_plots_of_one_page_share_no_names(outcomes: list[Outcome]) -> None:
    text = report(outcomes, [GROWTH, GROWTH], {})

    clips = [set(re.findall(r'<clipPath id="(\w+)"', svg)) for svg in re.findall(r"<svg .*?</svg>", text, re.DOTALL)]
    assert sum(map(len, clips)) == len(set().union(*clips)) == 5


def test_what_one_range_of_time_carries_is_told_only_where_ranges_have_keys(outcomes: list[Outcome]) -> None:
    assert "<th>in one epoch" in report(outcomes, [GROWTH, GROWTH], {})
    assert "in one epoch" not in report(outcomes[:1], [GROWTH], {})


def test_bars_have_the_colours_of_their_strategies_in_plots(outcomes: list[Outcome]) -> None:
    text = report(outcomes, [GROWTH, GROWTH], {})

    colour_of = {"rarest": "blue", "epochs-4": "orange"}
    bars = re.findall(r"</svg>([\w-]+)</span><i style=\"[^\"]*--bar: var\(--(\w+)\)", text)
    labels = re.findall(r'stroke="var\(--(\w+)\)"[^<]*/><path[^<]*/></svg> ([\w-]+)</li>', text)
    assert bars
    assert labels
    assert {*bars, *((name, colour) for colour, name in labels)} <= set(colour_of.items())


def test_the_answer_stands_before_plots_and_tables(outcomes: list[Outcome]) -> None:
    text = report(outcomes, [GROWTH, GROWTH], {})

    assert text.index('<section class="finding">') < text.index("<figure>") < text.index("<table>")


def test_a_plot_is_well_formed_and_keeps_its_text() -> None:
    line = Line("one", np.array([1.0, 10.0]), np.array([1.0, 0.1]))

    svg = lines_plot("here", [line, line], title="Load", x="load", y="share", log_x=True, log_y=True).svg

    assert "load" in "".join(ElementTree.fromstring(svg.replace("xlink:href", "href")).itertext())


def test_the_legend_tells_many_lines_apart() -> None:
    entries = re.findall(r"<svg.*?</svg>", legend([(f"line {number}", number) for number in range(20)]))

    assert len(set(entries)) == 20


def test_a_report_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match=r"cannot write .*: no such file or directory"):
        write_page(tmp_path / "gone" / "report.html", "")
