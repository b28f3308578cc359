"""The peer: model, languages, rendezvous, subscriber, doors and command line."""
