"""From a tree of the algebra to nodes: chains of joins, shared where queries are equal, with names in columns.

Open build.py first.

How it works:

Queries that are equal up to constants are recognised from their texts (gsg/languages/parse_cache/skeletons.py): one regular
expression finds the constants, and what is left is the text's skeleton. The first text of a skeleton is parsed, and once more
with a marker in the place of each constant, which shows where in the conditions the constants go
(gsg/languages/parse_cache/shapes.py). Further texts are not parsed; where their constants have been seen to differ, in nine texts
of this process, they are the arguments of a template. A constant of a FILTER, a LIMIT or the like belongs to the shape of the
text, and each shape is parsed by itself; a text with comments, escapes or functions of chance is parsed each time.

Such queries are a *template of queries*: the first seven stand alone, and from the eighth on they share one network, which is
joined with the relation of their constants (rete/compile/parameters.py). One query more is one token more in it, and rows are
handed to the query whose constants they begin with. At a peer such a query still asks for its own conditions only; what their
feeds bring fills the memories of the shared network as well (rete/alpha.py).
"""
