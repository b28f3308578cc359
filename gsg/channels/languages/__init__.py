"""The subscription languages of event channels: propositional, predicate, temporal and agent, in Cambridge prefix form.

Open predicate.py first; syntax.py reads brackets and atoms for all of them, expressions.py is the tree, and
evaluation.py what it means.
"""
