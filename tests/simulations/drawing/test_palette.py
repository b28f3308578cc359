"""The colours of reports have contrast on light and on dark paper, and are those of the peer's page."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from simulations.drawing.palette import (
    ALL,
    FIELD,
    INK,
    LEAST_CONTRAST,
    LINES,
    PAPER,
    QUIET,
    TEXT_CONTRAST,
    Colour,
    contrast,
    themed,
)

STYLE = Path(__file__).resolve().parents[3] / "web" / "src" / "style.css"
BACKGROUNDS = [PAPER, FIELD]


def named(colour: Colour) -> str:
    return colour.name


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    # Okabe and Ito's own orange, for which a darker one stands on light paper.
    assert contrast("#e69f00", "#ffffff") < LEAST_CONTRAST


@pytest.mark.parametrize("background", BACKGROUNDS, ids=named)
@pytest.mark.parametrize("colour", LINES, ids=named)
def test_lines_are_seen_on_light_and_on_dark_paper(colour: Colour, background: Colour) -> None:
    assert contrast(colour.light, background.light) >= LEAST_CONTRAST
    assert contrast(colour.dark, background.dark) >= LEAST_CONTRAST


@pytest.mark.parametrize("background", BACKGROUNDS, ids=named)
@pytest.mark.parametrize("colour", [INK, QUIET], ids=named)
def test_text_can_be_read_on_light_and_on_dark_paper(colour: Colour, background: Colour) -> None:
    assert contrast(colour.light, background.light) >= TEXT_CONTRAST
    assert contrast(colour.dark, background.dark) >= TEXT_CONTRAST


DEUTERANOPIA = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
PROTANOPIA = ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))
"""How linear red, green and blue look to those without green or red cones (Machado, Oliveira and Fernandes 2009)."""


APART = 0.12
"""So far apart, of 1.7 from black to white, colours are told apart as lines."""


def seen_by(blindness: tuple[tuple[float, ...], ...], colour: str) -> list[float]:
    linear = [(int(colour[at : at + 2], 16) / 255) ** 2.2 for at in (1, 3, 5)]
    seen = [sum(part * share for part, share in zip(row, linear, strict=True)) for row in blindness]
    return [max(0.0, part) ** (1 / 2.2) for part in seen]


def distance(one: list[float], other: list[float]) -> float:
    return sum((part - of_other) ** 2 for part, of_other in zip(one, other, strict=True)) ** 0.5


@pytest.mark.parametrize("blindness", [DEUTERANOPIA, PROTANOPIA], ids=["deuteranopia", "protanopia"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_are_told_apart_without_red_or_green_cones(blindness: tuple[tuple[float, ...], ...], scheme: str) -> None:
    seen = {colour.name: seen_by(blindness, getattr(colour, scheme)) for colour in LINES}

    closest = min((distance(seen[one], seen[other]), one, other) for one, other in combinations(seen, 2))
    assert closest[0] > APART, closest


def test_a_red_and_a_green_are_not_told_apart_without_green_cones() -> None:
    assert distance(seen_by(DEUTERANOPIA, "#d1495b"), seen_by(DEUTERANOPIA, "#3c8c40")) < APART


def test_colours_are_those_of_the_page_under_the_same_names() -> None:
    page = dict(re.findall(r"--([a-z]+): (light-dark\(#\w+, #\w+\));", STYLE.read_text()))

    ours = {colour.name: f"light-dark({colour.light}, {colour.dark})" for colour in ALL}
    assert {name: ours[name] for name in ours if name in page} == {name: page[name] for name in ours if name in page}
    assert set(ours) - set(page) == {"yellow"}


def test_a_plot_inside_a_page_has_the_colours_of_the_page() -> None:
    svg = f'<path style="stroke: {INK.light}"/><path fill="{LINES[0].light}"/><use href="#a1b2c3"/>'

    assert themed(svg) == '<path style="stroke: var(--ink)"/><path fill="var(--blue)"/><use href="#a1b2c3"/>'
