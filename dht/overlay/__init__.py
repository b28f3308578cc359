"""The overlay: who is responsible for a key, and how a peer enters the network and finds its way back.

Open overlay.py first, which puts the parts together: one lookup is lookup.py, without I/O; what lookups found is remembered in
owner_cache.py; joining.py calls at the addresses that the user gives and at those of address_book.py.

How it works:

Joining asks the peers named by --join for the peers closest to the newcomer's id; when none answers, that is an error. Until it
has found them it takes nobody for the holder of anything, itself included: what comes before, as to a peer that is started again,
waits for a lookup. Each peer keeps regions of the overlay that it knows completely, so a holder is nearly always found without
asking (dht/overlay/owner_cache.py). A lookup asks six peers at once without waiting for rounds, and passes over who stays silent
for four round trips (dht/overlay/lookup.py).

Old addresses are called at, after 2 seconds and then ever more seldom, up to two minutes apart, so that the parts of a network
that was cut meet again, however long it was (dht/overlay/address_book.py, dht/overlay/joining.py). When one of them answers, all
are called at once, and both parts forget their regions: each had taken its own part for the whole network. The addresses given by
--join stay among them for ever.
"""
