"""What rendezvous send to a subscriber's peer, kept as alpha memories, in the order of each publisher.

Open feeds.py first (where each template is posted, and when its rendezvous changes), then alpha_memories.py.
"""
