"""The experiment dissemination: view exchange, and events that spread where nobody is responsible for a key.

Open runs.py first.
"""
