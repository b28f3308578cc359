"""The sink of the data source ``gsg``: writes the rows of a table, or of a stream, to peers, as facts or as events with keys.

Open next: writers.py (what Spark sees), task_writer.py (what one task does), requests.py (which requests rows make). The modules
row_tuples.py, requests.py, peer_failover.py and options.py are pure.
"""

from .writers import GsgStreamWriter, GsgWriter

__all__ = ["GsgStreamWriter", "GsgWriter"]
