"""A template with very many subscribers is fanned out over some of them. Open parts.py: it says how, and what holds meanwhile.

kept_events.py has what is told to whoever changes its head, head_watch.py finds heads that do not keep up. What a head does is in
gsg/feeds/by_heads/heads.py, and what the subscriber of a head does in part_feeds.py beside it.
"""
