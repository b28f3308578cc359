"""Standing queries in the matcher of a peer, their rows, and who reads them.

Open subscriber.py first, then registry.py; rows.py says what a reader gets.
"""
