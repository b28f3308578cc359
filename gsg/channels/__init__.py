"""Event channels: events as sets of named fields, and subscriptions in four languages of growing expressiveness.

After Filman and Lee, "Managing distributed systems with smart subscriptions". What it is not: a store; a channel remembers the
last events for temporal subscriptions and agents alone.
"""
