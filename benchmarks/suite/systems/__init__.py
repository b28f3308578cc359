"""What the benchmark is run against: system.py says what a system has to do, and each of the others is one, or the way to one."""
