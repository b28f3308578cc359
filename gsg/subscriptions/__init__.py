"""Standing queries in the matcher of a peer, their rows, and who reads them.

Open subscriber.py first, then registry.py; gsg/languages/rows.py says what a reader gets, and backlog.py what
becomes of what is not read in time.

How it works:

A condition with a window asks for events only, and keeps those that it matches as if they were facts: for some seconds, or until
so many newer ones have come. Its rows come with +, and leave with - when an event expires; an event that happens twice is there
twice. The window is an alpha memory like any other, at the subscriber's peer; negations, OPTIONAL and aggregates take it as it
is. The matcher never reads a clock (Network.notify, Network.expire): a gsg.Space lets events go whenever it is called or read, or
by advance(); a peer has one timer, for the next event to go. Over the overlay a condition with a window is posted as one for
events: no fact travels for it.

An event first enters the windows whose conditions it matches, together with what leaves them for it, and then passes through the
conditions without window. So in a query with both, a row that an event makes through a condition without window is told once with
!, joined with what the windows hold by then, the event itself included.

A window begins empty with the subscription that asks for it. A later subscription at the same peer (or in the same space) whose
condition, window and tests are equal sees what is in it, as it sees the facts that are there; one at another peer has a window of
its own. The time of an event is when it reaches the subscriber's peer. A window belongs to the constants of its query: such
queries do not share a network by template.
"""
