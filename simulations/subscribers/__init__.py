"""The experiment subscribers: what arrives at the peers of those who subscribe.

Open notifications.py first, then matching.py.
"""
