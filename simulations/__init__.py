"""The data pipeline: what large overlays would do, simulated on Spark with the decisions that peers take.

What it is: numpy kernels over columns of constants that agree exactly with gsg/placement/rules.py, run in chunks on Spark or in one
thread; ``dissemination`` plays the objects of gsg/topics themselves, in virtual time. What it is not: a simulation of the wire.
Nothing imports it but ``gsg simulate``.

Open next: workload/workload.py (what is published); in load_balance/ strategies.py (where tuples go, by name), plan.py,
counted_tuples.py and peer_loads.py (what that makes of the peers), balance.py (one run), meets_one_by_one.py (a run held against
single decisions) and experiments.py (what the command line calls). workload/sources.py and workload/reading/ are how files become
tuples; workload/traces.py and workload/anchors_in_order.py are what real peers did. The other experiments are sweeps over
parameters (engine/sweep.py): the runs.py of routing, churn and dissemination. engine/ has what all of them leave behind
(findings.py, html_page.py), how sure it is (intervals.py) and what made it (provenance.py). subscribers/ is what comes of it for
those who subscribe, streams/ is the data source of Spark, and replay/ answers queries about the past from traces.
"""
