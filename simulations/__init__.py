"""The data pipeline: what large overlays would do, simulated on Spark with the decisions that peers take.

What it is: numpy kernels over columns of constants that agree exactly with gsg/placement/rules.py, run in chunks on Spark or in one
thread. What it is not: a simulation of the wire; messages are counted, not sent. Nothing imports it but ``gsg simulate``.

Open next: workload.py (what is published), strategies.py (where it goes, by name), plan.py and tally.py (what that makes of the
peers), balance.py (one run), traces.py and in_order.py (what real peers did). meeting.py holds a run against single decisions;
experiments.py is what the command line calls; sources.py and reading.py are how files become tuples. The other experiments are
sweeps over parameters (sweep.py): routing_runs.py, churn_runs.py and dissemination_runs.py play the kernels routing.py, churn.py,
cyclon.py and diffusion.py; findings.py and page.py are what they leave behind, intervals.py how sure it is, provenance.py what made
it.
"""
