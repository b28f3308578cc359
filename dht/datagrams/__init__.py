"""Datagrams between peers: Kademlia's questions and the failure detector's probes, sealed against strangers.

Open datagrams.py first: the one socket, which asks and answers. It keeps routing_table.py, sends nothing that sealed_datagrams.py
has not sealed, and learns in round_trip.py how long to wait. What peers tell each other of others is in gossip.py.
"""
