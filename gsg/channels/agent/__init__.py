"""The agent language: subscriptions that are themselves programs, woken by events.

Open program.py first (the grammar, and from a text to a Program), then agent.py (what one wake is) and machine.py (how a program
runs). limits.py names every bound; costs.py says what tests of conditions cost. What an agent is not: a thread, or anything with
access to Python: it has its state, the event that woke it, the recent events, and what it publishes and prints.
"""
