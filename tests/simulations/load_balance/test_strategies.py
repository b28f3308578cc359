"""Strategies by name."""

from __future__ import annotations

import pytest

from gsg.placement.rules import Anchor
from simulations.errors import BadParameter
from simulations.load_balance.strategies import STANDARD, Spread, Strategy, parse

OTHERS = (
    "choices-2",
    "choices-4+hot-split-10",
    "bounded-1.25",
    "bounded-1.5+predicate",
    "bounded-3",
    "maan",
    "early-10+hot-split-10",
)


def test_parts_go_together_in_any_order() -> None:
    assert parse("demand+grid-5+random+virtual") == Strategy(Anchor.RANDOM, False, Spread.GRID, 5, 0, True, 8)


@pytest.mark.parametrize("text", [*STANDARD, "rarest+replicas-3", "hot-split-10+ordered-64+virtual-8", *OTHERS])
def test_a_name_leads_back_to_its_strategy(text: str) -> None:
    strategy = parse(text)

    assert parse(strategy.name) == strategy


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((text, text) for text in STANDARD),
        ("rarest+popular-1000", "popular-1000"),
        ("demand+rarest", "demand"),
        ("popular", "popular-1000"),
        ("demand+predicate", "predicate+demand"),
        ("choices", "choices-2"),
        ("bounded", "bounded-1.25"),
        ("bounded-1.50", "bounded-1.5"),
        ("bounded-02.05", "bounded-2.05"),
        ("early-100+rarest", "rarest"),
    ],
)
def test_a_strategy_has_one_name_however_it_is_written(text: str, name: str) -> None:
    assert parse(text).name == name


def test_all_of_a_comparison_are_different() -> None:
    assert len({parse(text) for text in STANDARD}) == len(STANDARD)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("rarset", r"unknown strategy 'rarset'; expected predicate, .*; did you mean 'rarest'\?"),
        ("two-choices", r"unknown strategy 'two-choices'; expected .*; did you mean 'choices'\?"),
        ("choices-17", "'choices-17': expected a number from 1 to 16 after 'choices'"),
        (
            "bounded-1",
            "'bounded-1': expected a number above 1 and up to 1000 after 'bounded', in hundredths at most, such as bounded-1.25",
        ),
        ("bounded-1.255", "'bounded-1.255': expected a number above 1"),
        ("bounded-2.", "'bounded-2.': expected a number above 1"),
        ("bounded-1001", "'bounded-1001': expected a number above 1"),
        ("bounded-x", "'bounded-x': expected a number above 1"),
        ("choices+bounded", "'choices' does not go with 'bounded': either says where a key lies"),
        ("bounded+composite", "'bounded' does not go with 'composite': nobody knows the facts of two constants together"),
        ("choices+replicas", "'choices' does not go with 'replicas': the other holders of a key are the next closest"),
        ("bounded+virtual", "'bounded' does not go with 'virtual': several ids even out what a bound does"),
        ("maan+hot-split", "'maan' does not go with 'hot-split': the parts of a key lie anywhere"),
        ("maan+ordered", "'maan' does not go with 'ordered': either puts numbers in an order of its own"),
        ("early-101", "'early-101': expected a number from 1 to 100 after 'early'"),
        ("", "unknown strategy ''; expected predicate"),
        ("rarest+random", "'rarest' and 'random' cannot both hold; keep one of them"),
        ("grid+epochs", "'grid' and 'epochs' cannot both hold"),
        ("epochs-0", "'epochs-0': expected a number from 1 to 10000 after 'epochs'"),
        ("virtual-many", "'virtual-many': expected a number from 1 to 1000"),
        ("popular+hot-split", "'popular' does not go with 'hot-split': what it leaves as keys is not hot"),
        ("composite+grid", "'composite' does not go with 'grid': no peer counts"),
        ("ordered+grid", "'ordered' does not go with 'grid': templates of a key are counted by number, .*; expected 'hot-split'"),
        ("ordered+demand", "'ordered' does not go with 'demand': templates of a key are counted by number, not by interval"),
        ("ordered-8+composite", "'ordered-8' does not go with 'composite': keys of two constants are not by interval"),
        ("ordered+popular", "'ordered' does not go with 'popular': an interval that is no key would lose"),
        ("ordered-65537", "'ordered-65537': expected a number from 1 to 65536 after 'ordered'"),
        ("virtual+replicas", "'virtual' does not go with 'replicas': two ids of one peer would count as two holders"),
        ("replicas-65", "'replicas-65': expected a number from 1 to 64"),
        ("predicate+popular", "'popular' looks for a rare constant; expected no other anchor than 'rarest'"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(BadParameter, match=complaint):
        parse(text)
