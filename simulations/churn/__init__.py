"""The experiment churn: what is lost while peers come and go.

In epochs, of which each kills some at one moment: open runs.py first, then losses.py. One by one, as their lives end: open
lifetime_runs.py, then copies.py, which has the rules by which keys go from peer to peer, lives.py and lifetimes.py, and
repair_costs.py and traffic.py for what that takes. settings.py is what both are asked.
"""
