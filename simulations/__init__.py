"""The data pipeline, on Spark: what overlays of millions of peers would do, and standing queries as streams.

Peers' own decisions (``gsg/placement``) are taken over whole columns (engine/kernels.py), on Spark or in one thread, with the same
result. Each experiment is a room: load_balance, subscribers, churn, routing, dissemination and replay; what is published and asked
for is in workload, what all experiments share in engine and drawing. ``streams`` is Spark's source and sink ``gsg``. Nobody
imports this package but the commands of ``gsg simulate``, lazily.

Open next: load_balance/experiments.py, which goes from what was asked for to a report; workload/workload.py (what is published),
load_balance/plan.py (where it goes), and docs/simulation.md.
"""
