"""IRIs of a query: its base and its prefixes (SPARQL 1.1, section 4.1.1)."""

from __future__ import annotations

import re
from typing import Any

from ...tuples.terms import IRI
from ..expressions.iris import resolve

_LOCAL_ESCAPE = re.compile(r"\\([_~.\-!$&'()*+,;=/?#@%])")


class Prologue:
    """The base and the prefixes that a query has declared so far."""

    def __init__(self, base: str = "") -> None:
        self.base = base
        self.prefixes: dict[str, str] = {}

    def declare(self, declarations: Any) -> None:  # Any: rdflib's parse tree is untyped
        """What BASE and PREFIX say, in their order."""
        for declaration in declarations:
            iri = self.iri(str(declaration.iri)).value
            if declaration.name == "Base":
                self.base = iri
            else:
                self.prefixes[str(declaration.prefix or "")] = iri

    def iri(self, reference: str) -> IRI:
        return IRI(resolve(self.base, reference))

    def expanded(self, prefix: str, local: str) -> IRI | None:
        """A prefixed name's IRI; None for a prefix that is not declared."""
        namespace = self.prefixes.get(prefix)
        return None if namespace is None else IRI(namespace + _LOCAL_ESCAPE.sub(r"\1", local))
