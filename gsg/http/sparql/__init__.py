"""SPARQL 1.1 Protocol at ``/sparql``, and SPARQL 1.1 Graph Store HTTP Protocol at ``/graph``, for clients of others.

A query is a standing one that is answered once and closed. Open next: endpoint.py (what is asked, and what it is answered),
requests.py (from an HTTP request to what it asks), answering.py (a query is answered), updating.py, graph_store.py.
"""
