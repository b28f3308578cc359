"""The data pipeline: what large overlays would do, simulated on Spark with the decisions that peers take.

What it is: numpy kernels over columns of constants that agree exactly with gsg/placement/rules.py, run in chunks on Spark or in one
thread; ``dissemination`` plays the objects of gsg/topics themselves, in virtual time. What it is not: a simulation of the wire.
Nothing imports it but ``gsg simulate``.

Open next: workload.py (what is published), strategies.py (where it goes, by name), plan.py and tally.py (what that makes of the
peers), balance.py (one run), traces.py and in_order.py (what real peers did). meeting.py holds a run against single decisions;
experiments.py is what the command line calls; sources.py and reading.py are how files become tuples. The other experiments are
sweeps over parameters (sweep.py): the runs.py of routing, churn and dissemination; findings.py and page.py are what they leave
behind, intervals.py how sure it is, provenance.py what made it. subscribers/ is what comes of it for those who subscribe.
"""
