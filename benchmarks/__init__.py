"""Measurements: each prints our figure beside a peer's, or the bare floor, taken in the same run."""
