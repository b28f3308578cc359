"""The nodes of a network, one file for each operator of the algebra.

Open operator.py and join.py first: an operator is told of tokens that come and go, and tells those below it.
A new operator: a class in algebra.py, its node here, and its branch in compile/build.py.
"""
