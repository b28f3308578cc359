"""Which conditions hold of an event: one matcher a file, all equal in what they answer and each best for other loads.

Open matcher.py first.
"""
