"""Links: TLS streams between peers that carry frames both ways.

Open links.py first, then link.py and handshake.py.
"""
