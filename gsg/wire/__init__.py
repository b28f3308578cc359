"""What peers say to each other: the messages, the links that carry them, and how what a stranger says is checked and waits.

Open messages.py first, then exchange.py. Who answers a message is decided in gsg/dispatch.py.
"""
