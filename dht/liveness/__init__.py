"""Who lives: probes, suspicions, deaths and refutations (SWIM, with Lifeguard's local health).

Open swim.py first, which decides without I/O by the states in members.py; failure_detector.py carries out what it orders.
late_timers.py serves everybody who takes silence for something.

How it works:

Each peer watches the sixteen peers nearest to its id and those that it has links with, a probe a second (dht/liveness/swim.py,
after SWIM). Who does not answer is asked through three others; who they cannot reach either is suspected, for 2 to 4 seconds in a
network of ten and 5 to 10 in one of 256; up to six times as long by a peer that is late itself, or has suspected the living. A
suspect hears of it and refutes it when it lives; a refutation that others pass on could be made up, so it clears nobody: the
suspect is asked anew, by this peer and through three others, and its suspicion lasts as long again, once. Until it is dead it
stays an owner, so that a few lost datagrams move no key. What comes from a suspect by a link shows that it lives, too: on a busy
machine it may do its work and be late with every answer to a probe. A link that brings much is read 256 KB at a turn, between
which probes are answered (dht/links/link.py): with uvloop's 8 MB a peer was silent for seconds. What others say of a peer makes
us ask it, and shortens the wait when we too find silence; it never kills by itself. A peer that is stopped in order says so, and
is gone at once.
"""
