"""Pedro: terms, goals and wire protocol as one more door."""
