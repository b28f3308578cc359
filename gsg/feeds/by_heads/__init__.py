"""Feeds that subscribers pass on to each other, where a template has very many: the side of the heads, and of those whom they feed.

heads.py passes on what comes by a feed of this peer; part_feeds.py are the feeds of this peer that come by way of a head. Which
subscribers are heads, and of whom, is decided at the rendezvous (gsg/rendezvous/fan_out/parts.py).
"""
