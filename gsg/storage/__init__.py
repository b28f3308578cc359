"""The facts that a peer holds: in memory by key and by template, with their times, and on disk (disk/).

Open facts_by_key.py first. What is promised of a disk is in disk/data_directory.py.
"""
