"""Datagrams between peers: Kademlia's questions and the failure detector's probes, sealed against strangers.

Open datagrams.py first.
"""
