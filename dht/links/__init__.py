"""Links: TLS streams between peers that carry frames both ways.

Open links.py first, which listens and dials, then link.py, one stream and its states; handshake.py says who is at the other end,
without I/O. endpoint.py opens links and overlay on one port number.
"""
