"""The experiment churn: what is lost while peers come and go.

Open churn_runs.py first.
"""
