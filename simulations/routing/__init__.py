"""The experiment routing: how far a lookup goes, and how many succeed.

Open runs.py first.
"""
