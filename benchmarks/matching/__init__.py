"""What benchmarks/rete.py runs and measures; figures.py says what a figure is, and is the place to begin.

workload.py and films.py hold the facts and the queries; ours.py, rivals.py and reevaluation.py the engines; memory.py what things
weigh; measured.py what a run came to; wanted.py what is wanted of us; report.py the tables. rete.py puts them in order.
"""
