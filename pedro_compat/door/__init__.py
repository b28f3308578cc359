"""The door: the protocol of the Pedro server, in front of a peer.

Open door.py first, then connection.py and commands.py.

How it works:

A notification temp(kitchen, 25) is the event (temp, kitchen, 25); a subscription is a condition on events with the functor as its
anchor and head and goal as its test. A head that is a variable has no constant and is posted everywhere. At the rendezvous a
subscription is found by a constant that it *demands* (gsg/rendezvous/demands.py, pedro_compat/goals/demands.py): one of its head,
also inside compounds and lists, or one that its goal asks for in every solution, as X = kitchen, member(X, [a, b]) and
member(type = T, L) do. A demand is a path into the tuple and the constants of which one must stand at its end; of several, the
one under which the fewest subscriptions lie is taken. So a notification costs a look-up for each path in use, and tests for what
it meets there, however many subscriptions there are. A variable in a notification may be bound to anything, so it meets all that
is posted under its path. All subscriptions to one functor and arity have one rendezvous; notifications that go by different ones
are put in order by the receiver's peer. Subscribers of other doors see the tuple, Pedro's clients get the line as it was sent,
byte for byte.

A registration register(P) of a client at host H is a set of conditions as well, one for each way of addressing: by name and host,
name, host, or nothing (pedro_compat/door/addresses.py). The first is posted *exclusively*: the rendezvous of the name refuses a
second one, and so decides who has the name. A message is one event that goes by one rendezvous. A door with an admin host says
each message a second time, as overheard at that host (pedro_compat/door/admin.py); docs/pedro.md has the whole of what a client
sees.
"""
