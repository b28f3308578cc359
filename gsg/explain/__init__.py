"""How a query is answered, why a row holds, why another does not, and pictures of the network.

Open explain.py first. Pure: facts and counts are handed in.
"""
