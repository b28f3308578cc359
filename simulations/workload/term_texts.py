"""The term that a text of a file means: what begins as a term of N-Triples does is that term, any other text is a symbol.

The plain ones of N-Triples, nearly all, are told by one regular expression each, which admits less than the grammar does (RDF 1.1
N-Triples, section 7; RFC 3987, section 2.2). Whatever else begins so is read by the parser of gsg.languages.files, which needs
pyoxigraph: its word is final, and tests hold the expressions against it.
"""

from __future__ import annotations

import io
import re

from gsg.errors import BadText, GsgError
from gsg.tuples.terms import IRI, BlankNode, Symbol, Term, literal

from ..errors import BadWorkload

_PLAIN = r"A-Za-z0-9._~!$&'()*+,;=:@/\-\u00c0-\u1fff\u3001-\ud7ff"
_ESCAPED = "%[0-9A-Fa-f]{2}"
# Possessive, since no shorter match leads to another one: so texts that are none are told in time that grows with their length.
_IRI_TEXT = (
    rf"[A-Za-z][A-Za-z0-9+.\-]*+:(?://[A-Za-z0-9.\-]++(?=[/?#>])|(?!//))(?:[{_PLAIN}]++|{_ESCAPED})*+"
    rf"(?:\?(?:[{_PLAIN}?]++|{_ESCAPED})*+)?+(?:\#(?:[{_PLAIN}?]++|{_ESCAPED})*+)?+"
)
"""An absolute IRI without a port, a user or an address in brackets; what follows those would have to be looked at."""
_IRI = re.compile(f"<({_IRI_TEXT})>")
_LITERAL = re.compile(rf'"([^"\\\x00-\x1f\x7f]*)"(?:@([A-Za-z]{{1,8}}(?:-[A-Za-z0-9]{{1,8}})*)|\^\^<({_IRI_TEXT})>)?')
PLAIN_BLANK = re.compile(r"_:([A-Za-z0-9_](?:[A-Za-z0-9_.\-]*[A-Za-z0-9_])?)")
_SPECIAL_DATATYPES = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
"""Datatypes that say more than how to read a text, such as rdf:langString, are left to the parser."""


def term_of_text(text: str) -> Term:
    """The term. Raises ValueError for a text that is none, and BadWorkload where telling so needs what is not installed here."""
    first = text[:1]
    if first == "<":
        found = _IRI.fullmatch(text)
        if found is not None:
            return IRI(found[1])
    elif first == '"':
        found = _LITERAL.fullmatch(text)
        if found is not None:
            lexical, language, datatype = found.groups("")
            if not datatype.startswith(_SPECIAL_DATATYPES):
                return literal(lexical, datatype, language)
    elif text.startswith("_:"):
        found = PLAIN_BLANK.fullmatch(text)
        if found is not None:
            return BlankNode(found[1])
    elif not text:
        raise ValueError("a field is empty")
    else:
        return Symbol(text)
    rows, mistake = parsed_lines([f"_:it <x:is> {text} .\n".encode()])
    if mistake is not None or len(rows) != 1 or "\n" in text:
        raise ValueError(f"{text!r} is no term of N-Triples: {mistake or 'more than one line'}")
    return rows[0][2]


def parsed_lines(lines: list[bytes], format: str = "nt", *, base: str | None = None) -> tuple[list[tuple[Term, ...]], str | None]:
    """The tuples of lines of N-Triples or N-Quads up to a mistake, and what that is. Raises BadWorkload without a parser.

    ``base`` is the IRI of their file, to which blank nodes belong; without one, labels are taken as they are.
    """
    from gsg.languages.files import read_tuples

    rows: list[tuple[Term, ...]] = []
    try:
        rows.extend(read_tuples(io.BytesIO(b"".join(lines)), format, name="line", base=base))
    except BadText as error:
        return rows, error.problem
    except GsgError as error:
        # Of a text in another format; its place there is that of the line, which is told by whoever reads.
        return rows, str(error).splitlines()[0].partition(": ")[2] or str(error)
    except ModuleNotFoundError as error:
        raise BadWorkload(
            f"{lines[0].decode('utf-8', 'replace').strip()!r:.120} takes a parser of RDF, and a machine that reads has none "
            f"({error}); install {error.name} on all machines that count"
        ) from None
    return rows, None
