"""The Standing Query Benchmark: distributed publish/subscribe by content, for many users with related, complex standing queries.

What it is: a workload from a seed (changes of facts, events, and subscriptions that share, narrow and differ), reference answers
that no matcher had a part in, and a driver that any system can be held against. What it is not: a test of how an overlay survives
churn.

Open next: queries.py for what is asked, campus.py and changes.py for what happens, reference.py for what is right, driver.py for a
run, systems/system.py for what a system has to do. docs/suite.md is the page for others.
"""
