"""From a tree of the algebra to nodes: chains of joins, shared where queries are equal, with names in columns.

Open build.py first.
"""
