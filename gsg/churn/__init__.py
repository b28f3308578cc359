"""Peers come, go and die: keys change hands, and what comes to a peer that is no holder any more goes on.

Open handover.py first, then plan.py, which decides who is sent what.
"""
