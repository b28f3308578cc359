"""Standing queries over history: which rows held, when they came and when they went.

What it is: the network of nodes that would answer a query live (rete), read as relations over all of time, whose tokens each have
an interval in which they are there. What it is not: that network fed change by change. Two engines work with the relations, Spark
(on_spark.py) and this process (in_memory.py); tests hold both against a live space.

Open next: relations.py (what a node means over time), then history.py (what a file of changes is).
"""
