"""A peer's data directory: a log of changes in SQLite that cleans itself, each record with its checksum.

Open data_directory.py first (what lies where), then group_commit.py (when a change is acknowledged).
"""
