"""Match tuples against standing queries."""
