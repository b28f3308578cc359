"""Topics: overlays of the peers that subscribe to a name, through which its events spread.

What it is: gossip membership (:mod:`view`, :mod:`neighbours`), diffusion along a tree that mends itself (:mod:`diffusion`), access
points for those that are no members (:mod:`access_points`), and sizes (:mod:`size`, :mod:`sketch`). All of it is decided without
sockets, clock or randomness of its own; ``simulations/dissemination`` plays the same objects by the thousand.
What it is not: rendezvous. Whoever subscribes to what tuples hold, and not to a name, is fed by :mod:`gsg.rendezvous`; so is who
subscribes to a filter of names (:mod:`filters`).

    topics.py            the topics of one peer, and one timer for all of them
      overlay.py         one overlay: its view, its neighbours, its size, and for a topic its events
      access_points.py   who is a member of a topic that one is no member of
    peer_topics.py       the same with links, timers and tasks
      membership.py      what those who subscribed here wait for, and hear
      injections.py      events for a topic that one is no member of, on their way to a member

Open topics.py first, then overlay.py.
"""
