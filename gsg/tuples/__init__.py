"""What a fact and an event are made of: terms, their features and sizes, and who may read them.

Open terms.py first, then features.py: what a tuple has and a condition requires is what all meeting rests on.
It knows nothing of peers, keys' holders or queries.
"""
