"""Why a solution holds, why another does not, and how a query would be built.

Open derivation.py first. Nothing here is kept while queries stand.
"""
