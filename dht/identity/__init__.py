"""Who a peer is: its id and address, the key pair that proves it, and who belongs to a network.

Open ids.py first: the metric between ids and keys is what responsibility rests on.
"""
