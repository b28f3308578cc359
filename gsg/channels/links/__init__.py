"""Channels in several processes, linked in any topology, circles included.

Each channel tells all others what it is interested in (its closure) and with whom it is linked; an event goes along each link
behind which somebody wants it, and is taken once. Open routing.py first, which decides; links.py has the sockets.
"""
