"""``gsg simulate``: what large overlays would do, from the package ``simulations``, which is imported when a run begins."""

from __future__ import annotations

from typing import ClassVar

import click

from ..groups import LazyGroup


class _Simulate(LazyGroup):
    modules: ClassVar = {
        "load-balance": ("simulate.load_balance", "Who would carry which load, strategy by strategy."),
        "sweep": ("simulate.sweep", "Strategies over lists of settings and seeds, as one job."),
        "churn": ("simulate.churn", "Which matches are lost while peers come and go."),
        "subscribers": ("simulate.subscribers", "What subscribers' peers receive."),
        "routing": ("simulate.routing", "How far lookups go, and how many succeed."),
        "dissemination": ("simulate.dissemination", "How views are exchanged, and how events spread."),
        "replay": ("simulate.replay", "When the rows of a query came and went, over a history of facts."),
        "package": ("simulate.package", "Make the zip that spark-submit hands to a cluster."),
    }


@click.command(cls=_Simulate, short_help="Simulate large overlays on Spark.")
def command() -> None:
    """Simulate large overlays on Spark, by the decisions that peers run.

    Needs the extra sim: pip install 'gsg-router[sim]', or in a clone: make .venv/.installed.
    """
