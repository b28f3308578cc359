"""What all experiments share: Spark, sweeps of parameters, random numbers, the peers' decisions over columns, and results.

Open sweep.py first, then results.py.
"""
