"""The facts that a peer holds: in memory by key and by template, with their times, and on disk (disk/).

Open facts_by_key.py first; tombstones.py remembers what went, visibility.py says what each reader sees, checksums.py sums it all up
for those who compare. clock.py has the times. What is promised of a disk is in disk/data_directory.py.
"""
