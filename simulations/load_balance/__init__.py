"""The experiment load-balance: who would carry which load, strategy by strategy.

Open balance.py first, then plan.py.
"""
