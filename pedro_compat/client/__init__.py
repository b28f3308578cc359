"""A client of a door, or of an original Pedro server; ``pedro_compat.Client`` is the blocking one.

Open client.py first; blocking.py is the same without async.
"""

from .client import AsyncClient

__all__ = ["AsyncClient"]
