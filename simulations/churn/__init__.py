"""The experiment churn: what is lost while peers come and go.

Open runs.py first.
"""
