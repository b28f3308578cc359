"""The log of a peer, as far as more than its standard error needs it.

fields.py has what a record says to programs, kinds.py which records are too many of their kind, and kept.py keeps the last ones for
whoever asks at the HTTP door. How ``gsg peer`` writes its log is in gsg/cli/peer/log_output.py.
"""
