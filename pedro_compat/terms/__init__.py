"""Pedro's terms: read from lines, written to lines, unified, and turned into tuples.

Open terms.py first, then syntax.py.
"""

from .terms import COMMA, Term, Var

__all__ = ["COMMA", "Term", "Var"]
