"""What is published and subscribed to: drawn by a law, read from files, or from traces of real peers.

Open workload.py first.
"""
