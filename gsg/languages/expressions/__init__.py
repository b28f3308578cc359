"""Expressions over terms: what FILTER, BIND, ORDER BY and aggregates compute, in every language (SPARQL 1.1, section 17).

A language makes a tree of what its text says (tree.py); ``rete`` gets it as tests, computations, orders and aggregates that hash by
value. evaluating.py makes closures of trees; functions.py, strings.py and dates.py have the functions, comparing.py says what is
equal, less, and true; portable.py writes the tests of one tuple for its rendezvous. Parsing is not here, and nothing here needs
rdflib or a parser. Open next: tree.py.
"""
