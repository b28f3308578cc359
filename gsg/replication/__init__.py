"""A change of a fact at all holders of its keys, and holders that compare what they have.

Open changes.py first: the primary makes a change, tells the others and answers when all have it. anti_entropy.py mends what
differs.
"""
