"""What peers say to each other: the messages, the links that carry them, and how what a stranger says is checked and waits.

Open messages.py first, then exchange.py. Tuples of others are looked at in admission.py, and what a link brings while something
that came before it is under way is in waiting.py, with the bounds of all queues by bytes. Who answers a message is decided in
gsg/dispatch.py.
"""
