"""Queries that are equal up to constants are parsed once: the others are made from the constants of their texts.

Open skeletons.py first: it says when a text is parsed and when it is filled in.
"""
