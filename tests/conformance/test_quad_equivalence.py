"""Whatever the query over graphs and whatever the history of quads: rows are what pyoxigraph answers, at every moment.

As test_oracle_equivalence.py, whose trial it uses; quad_queries.py says how the oracle is asked.
"""

from __future__ import annotations

import pytest
from fact_histories import History
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import Oracle
from quad_queries import AskedOfGraphs, quad_histories, quad_queries
from test_oracle_equivalence import run

EXAMPLES, PARTS = 400, 2


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=EXAMPLES // PARTS, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(st.tuples(quad_queries(), quad_histories(), st.integers(0, 12)))
def test_rows_over_graphs_are_what_the_oracle_answers_at_every_moment_of_every_history(
    part: int, drawn: tuple[AskedOfGraphs, History, int]
) -> None:
    asked, history, late = drawn

    run(asked.asked, history, late, Oracle(asked.dataset()))
