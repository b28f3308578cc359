"""Random SPARQL over a small world, as hypothesis strategies that shrink: texts, and histories of the facts that they are about.

A query is made of pieces; a piece knows the names that its solutions may bind, so that BIND, GROUP BY and SELECT are given names
that they may have. Constants of triple patterns are written as slots (``<urn:slot:0>``), and a query comes with several choices of
constants for them: one query, equal to others up to constants.

Where SPARQL leaves the answer open, the text is such that it does not matter:

* Ties under LIMIT or OFFSET (section 15.1 orders only some terms): every name is an order key by its text, datatype and language,
  and the histories of such a query have no blank nodes, which have no text.
* SAMPLE (18.5.1.8, any of them) is asked of a key of its group: all values are the same.
* GROUP_CONCAT (18.5.1.7, any order) is given to the name ``glued`` at the outside, and compared as a multiset of its parts.
* MIN and MAX (18.5.1.5, by the order of ORDER BY) are taken of texts, or of numbers cast to one type, so that equal is the same.
* A path of no steps from a term (18.4, ZeroLengthPath) leads to that term, be it in the graph or not; pyoxigraph asks that it be
  in the graph. So constants at the ends of paths are IRIs, which ``KEPT`` facts keep in the graph while rows are compared, and
  within EXISTS, which gives terms to a path from outside, a path has steps. (tests/rete compares the rest with the book.)
* A path is evaluated as the patterns that it is defined by (18.2.2.3 and 18.4): a pair comes as often as there are ways, closures
  excepted. pyoxigraph counts some of these ways once: those of an alternative, those of a negated set of both directions, and all
  but plain links where both ends are known. So it is given the patterns of the definition.
* The effective boolean value (17.2.2) is taken of strings, numbers and truths. That of a literal with a language is what its text
  says, for such is a plain literal; pyoxigraph has an error there.
* ``<`` and its like (17.3) have a literal on one side at least: between IRIs they are errors, but pyoxigraph compares an IRI with
  itself.
* MINUS does not stand within EXISTS. A name that is substituted there (18.6) is a variable no more, and no name that both sides of
  MINUS share; pyoxigraph has it bound on both sides. (tests/rete has this combination, too.)
* BOUND does not stand in a SELECT within EXISTS. A name of the outside that the SELECT hides has no value there; pyoxigraph has it
  bound for BOUND, though for nothing else.
* BIND within EXISTS has names of its own. One that the outside gives a value is a variable no more (18.6), so nothing can be bound
  to it; pyoxigraph takes the pattern as if it could.
* A name is not asked to equal a number, or another name, where a path may have no steps: pyoxigraph gives the path that very term,
  and leaves out equal numbers of other types.
* An OPTIONAL holds no UNION together with an OPTIONAL of its own. That one is evaluated by itself (18.6), so that a name of the
  outside may keep its row from being joined; pyoxigraph, where something is joined behind it, gives it that name from outside.
* REDUCED (18.5) stands at the outside only and without LIMIT, where the test knows the least and the most that may come.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ParamSpec, TypeVar

from hypothesis import strategies as st

PROLOGUE = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
SLOT = "urn:slot:"
OURS, THEIRS, END = "\ue000", "\ue001", "\ue002"
"""Around what is written in one way for us and in another for the oracle."""
IRIS = (":a", ":b", ":c")
PREDICATES = (":p", ":q", ":p", ":q", ":p", ":q", ":a")
BLANKS = ("_:n", "_:m")
LITERALS = (
    '"s"',
    '"t"',
    '""',
    '"s"@en',
    '"s"@fr',
    "1",
    "2",
    '"1"^^xsd:decimal',
    '"1.5"^^xsd:decimal',
    '"1"^^xsd:double',
    '"2.5"^^xsd:double',
    "true",
)
NAMES = ("a", "b", "c", "d")
COMPUTED = ("x", "y", "z")
BOUND_WITHIN = ("m", "n")
"""What BIND names within EXISTS."""

Given = ParamSpec("Given")
Drawn = TypeVar("Drawn")
Fact = tuple[str, ...]
"""Terms as SPARQL writes them: three, or a graph behind them."""


@dataclass(frozen=True)
class Piece:
    """Text, and the names that its solutions may bind."""

    text: str
    names: tuple[str, ...] = ()

    def __add__(self, other: Piece) -> Piece:
        return Piece(f"{self.text} {other.text}", tuple(dict.fromkeys((*self.names, *other.names))))


_EQUALS_NUMBER = re.compile(
    r"""(?<=[ (]\d) = (?=\?)|(?<=(?:decimal|integer)) = (?=\?)|(?<=double) = (?=\?)| = (?=\d|"[-\d.eE]+"\^\^)"""
)
_EQUALS_NAME = re.compile(r" = (?=\?)")
_PLAIN = f"([^{OURS}{THEIRS}{END}]*)"
_ALTERNATIVES = re.compile(f"{OURS}{_PLAIN}{THEIRS}{_PLAIN}{END}")


def _chosen(text: str, which: int) -> str:
    """The text with one of each two ways to write something, from the inside out."""
    while _ALTERNATIVES.search(text):
        text = _ALTERNATIVES.sub(rf"\{which}", text)
    return text


@dataclass(frozen=True)
class Asked:
    """A query: its form, its text with slots, and constants for these: the first choice is the query's own."""

    form: str
    text: str
    constants: tuple[tuple[str, ...], ...] = ((),)
    reduced: bool = False

    @property
    def sliced(self) -> bool:
        return "LIMIT" in self.text or "OFFSET" in self.text

    @property
    def may_stand_still(self) -> bool:
        """Whether a path in it may have no steps."""
        return ")*" in self.text or ")?" in self.text

    def ours(self) -> str:
        """The text for us, with its slots."""
        text = _chosen(self.text, 1)
        return text.replace("SELECT ", "SELECT REDUCED ", 1) if self.reduced else text

    def theirs(self, constants: tuple[str, ...]) -> str:
        """The text for the oracle, with constants in the slots and without REDUCED."""
        text = _chosen(self.text, 2)
        for number, constant in enumerate(constants):
            text = text.replace(f"<{SLOT}{number}>", constant)
        return text


def variable(name: str) -> str:
    return "?" + name


def once(make: Callable[Given, st.SearchStrategy[Drawn]]) -> Callable[Given, st.SearchStrategy[Drawn]]:
    """Make a strategy once: hypothesis looks each new one over, which takes longer than to draw from it."""
    return lru_cache(maxsize=4_096)(make)


@once
def among(options: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.sampled_from(options)


@once
def up_to(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most)


@once
def some(options: tuple[str, ...], least: int, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(among(options), min_size=least, max_size=most, unique=True)


names = st.sampled_from(NAMES)
variables = names.map(variable)
iris = st.sampled_from(IRIS)
literals = st.sampled_from(LITERALS)
constants = st.one_of(iris, literals)
SLOTTED = "<slot>"
slots = st.just(SLOTTED)


# Patterns.

_ends = st.one_of(*[variables] * 8, slots)
_middles = st.one_of(*[st.sampled_from(PREDICATES)] * 6, slots, variables)
_objects = st.one_of(*[_ends] * 9, constants)


@once
@st.composite
def triples(draw: st.DrawFn) -> Piece:
    subject, predicate, object_ = draw(_ends), draw(_middles), draw(_objects)
    return Piece(f"{subject} {predicate} {object_} .", _bound(subject, predicate, object_))


def _bound(*terms: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term[1:] for term in terms if term[0] == "?"))


_links = st.sampled_from(PREDICATES)
_edges = st.one_of(_links, _links.map("^{}".format))


@dataclass(frozen=True)
class Step:
    """A step of a path as a path, and as a pattern of which ``{s}`` and ``{o}`` are the ends."""

    path: str
    pattern: str


def _negated(refused: list[str], backward: bool) -> Step:
    sign, ends = ("^", "{o} {n} {s}") if backward else ("", "{s} {n} {o}")
    return Step(f"!({'|'.join(sign + name for name in refused)})", f"{ends} FILTER ({{n}} NOT IN ({', '.join(refused)}))")


def steps(modifiers: str) -> st.SearchStrategy[Step]:
    """Steps outside of closures; ``modifiers`` are the closures that may stand in them."""
    closures = st.sampled_from(modifiers)
    inside = st.recursive(
        st.one_of(_edges, _edges, st.lists(_edges, min_size=1, max_size=2).map(lambda parts: f"!({'|'.join(parts)})")),
        lambda inner: st.one_of(
            st.builds("({}/{})".format, inner, inner),
            st.builds("({}|{})".format, inner, inner),
            st.builds("^({})".format, inner),
            st.builds("({}){}".format, inner, closures),
        ),
        max_leaves=3,
    )
    return st.one_of(
        _edges.map(lambda edge: Step(edge, f"{{s}} {edge} {{o}} .")),
        st.builds(_negated, st.lists(_links, min_size=1, max_size=2), st.booleans()),
        st.builds("({}){}".format, inside, closures).map(lambda path: Step(path, f"{{s}} {path} {{o}} .")),
    )


def _one_or_two(strategy: st.SearchStrategy[Drawn]) -> st.SearchStrategy[list[Drawn]]:
    return st.lists(strategy, min_size=1, max_size=2)


_any_ways, _ways_that_move = (_one_or_two(_one_or_two(steps(closures))) for closures in ("?*+", "+"))
_path_ends = st.one_of(variables, variables, iris)
_booleans = st.booleans()


@once
@st.composite
def paths(draw: st.DrawFn, *, within_exists: bool = False) -> Piece:
    subject = draw(variables)
    object_ = draw(_path_ends)
    ways = draw(_ways_that_move if within_exists else _any_ways)
    if draw(_booleans):
        subject, object_ = object_, subject
    shown = _bound(subject, object_)
    ours = "|".join("/".join(step.path for step in way) for way in ways)
    theirs = " UNION ".join(_pattern(subject, way, object_, shown) for way in ways)
    return Piece(f"{OURS}{subject} {ours} {object_} .{THEIRS}{theirs}{END}", shown)


def _pattern(subject: str, way: list[Step], object_: str, shown: tuple[str, ...]) -> str:
    """The steps joined over variables that nobody else sees."""
    ends = [subject, *(f"?m{number}" for number in range(1, len(way))), object_]
    joined = " ".join(step.pattern.format(s=ends[at], o=ends[at + 1], n=f"?n{at}") for at, step in enumerate(way))
    return f"{{ SELECT {' '.join(map(variable, shown))} {{ {joined} }} }}"


_cells = st.one_of(iris, iris, constants, st.just("UNDEF"))
_listed = st.lists(names, min_size=1, max_size=2, unique=True)
_rows = {width: st.lists(st.tuples(*[_cells] * width), min_size=1, max_size=3) for width in (1, 2)}


@once
@st.composite
def inline(draw: st.DrawFn) -> Piece:
    listed = draw(_listed)
    rows = draw(_rows[len(listed)])
    written = " ".join(f"({' '.join(row)})" for row in rows)
    return Piece(f"VALUES ({' '.join(map(variable, listed))}) {{ {written} }}", tuple(listed))


# Expressions; they may read names that nothing binds.

_orders = st.sampled_from(("<", ">", "<=", ">="))
_numbers = st.sampled_from(("1", "2", "1.5", "0"))


@once
def values(read: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.one_of(read, read, constants),
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), st.one_of(inner, _numbers)),
            st.builds("{}({})".format, st.sampled_from(("STR", "LANG", "DATATYPE", "UCASE", "STRLEN", "ABS", "-")), inner),
            st.builds("IF({}({}), {}, {})".format, st.sampled_from(("STR", "STRLEN", "isIRI")), inner, inner, inner),
            st.builds("COALESCE({}, {})".format, inner, inner),
            st.builds("CONCAT(STR({}), {})".format, inner, inner),
        ),
        max_leaves=3,
    )


@once
def conditions(read: st.SearchStrategy[str], exists: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[str]:
    value = values(read)
    simple = st.one_of(
        st.builds("({} {} {})".format, value, st.sampled_from(("=", "!=")), value),
        st.builds("({} {} {})".format, read, st.sampled_from(("=", "!=")), st.one_of(read, constants)),
        st.builds("({} {} {})".format, value, _orders, literals),
        st.builds("(STR({}) {} STR({}))".format, read, _orders, read),
        st.builds("({} {} (1 * {}))".format, value, _orders, read),
        st.builds("({} {} ({}, {}))".format, read, st.sampled_from(("IN", "NOT IN")), constants, value),
        st.builds("sameTerm({}, {})".format, read, st.one_of(read, constants)),
        st.builds("{}({})".format, st.sampled_from(("isIRI", "isLiteral", "isNumeric", "isBlank")), value),
        st.builds('CONTAINS(STR({}), "{}")'.format, read, st.sampled_from(("s", "e/a", "1"))),
        st.builds("{}({})".format, st.sampled_from(("STR", "ABS")), value),
    )
    if exists is not None:
        simple = st.one_of(simple, simple, simple, exists)
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.builds("({} && {})".format, inner, inner), st.builds("({} || {})".format, inner, inner), inner.map("!({})".format)
        ),
        max_leaves=3,
    )


@once
def reading(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    """These names, and sometimes another."""
    return st.one_of(*[st.sampled_from(names).map(variable)] * 4, variables) if names else variables


@once
def _filters(read: st.SearchStrategy[str], depth: int, hides: bool) -> st.SearchStrategy[str]:
    simple = conditions(read, exists(depth - 1, hides=hides) if depth else None)
    return simple if hides else st.one_of(simple, read.map("BOUND({})".format))


# Groups.

_first_pieces = {within: st.one_of(*[triples()] * 4, paths(within_exists=within)) for within in (False, True)}
_flat = ("triples", "triples", "path", "filter", "filter", "values", "bind")
_deep = ("optional", "optional", "union", "minus", "exists", "exists", "subselect", "group")


@once
@st.composite
def groups(draw: st.DrawFn, depth: int, *, within_exists: bool = False, hides: bool = False) -> Piece:
    """What stands between braces, braces not included. ``hides``: in a SELECT within EXISTS, be it further outside."""
    piece = draw(_first_pieces[within_exists])
    for _ in range(draw(up_to(depth + 1))):
        piece = piece + _further(draw, piece, depth, within_exists, hides)
    return piece


def _further(draw: st.DrawFn, so_far: Piece, depth: int, within_exists: bool, hides: bool) -> Piece:
    kind = draw(among((*_flat, *_deep) if depth else _flat))
    if within_exists and kind == "minus":
        kind = "group"
    if kind == "triples":
        return draw(triples())
    if kind == "path":
        return draw(paths(within_exists=within_exists))
    if kind == "values":
        return draw(inline())
    if kind == "filter":
        return Piece(f"FILTER ({draw(_filters(reading(so_far.names), depth, hides))})")
    if kind == "bind":
        free = [name for name in (BOUND_WITHIN if within_exists else (*COMPUTED, *NAMES)) if name not in so_far.names]
        if not free:
            return draw(triples())
        name = draw(among(tuple(free[:2])))
        return Piece(f"BIND ({draw(values(reading(so_far.names)))} AS ?{name})", (name,))
    if kind == "exists":
        return Piece(f"FILTER {draw(exists(depth - 1, hides=hides))}")
    if kind == "subselect":
        inner = draw(selects(depth - 1, within_exists=within_exists))
        return Piece(f"{{ {inner.text} }}", inner.names)
    inner = draw(groups(depth - 1, within_exists=within_exists, hides=hides))
    if kind == "optional" and not ("UNION" in inner.text and "OPTIONAL" in inner.text):
        if draw(_booleans):
            inner = inner + Piece(f"FILTER ({draw(conditions(reading((so_far + inner).names)))})")
        return Piece(f"OPTIONAL {{ {inner.text} }}", inner.names)
    if kind == "union":
        other = draw(groups(depth - 1, within_exists=within_exists, hides=hides))
        return Piece(f"{{ {inner.text} }} UNION {{ {other.text} }}", (inner + other).names)
    if kind == "minus":
        return Piece(f"MINUS {{ {inner.text} }}")
    return Piece(f"{{ {inner.text} }}", inner.names)


@once
@st.composite
def exists(draw: st.DrawFn, depth: int, *, hides: bool = False) -> str:
    return f"{draw(among(('EXISTS', 'NOT EXISTS')))} {{ {draw(groups(depth, within_exists=True, hides=hides)).text} }}"


# SELECT and what stands around it.


@once
@st.composite
def selects(draw: st.DrawFn, depth: int, *, outside: bool = False, within_exists: bool = False) -> Piece:
    piece = draw(groups(depth, within_exists=within_exists, hides=within_exists))
    if draw(up_to(3)) == 0:
        return draw(_grouped(piece, outside))
    distinct = draw(among(("", "", "DISTINCT ")))
    if draw(_booleans):
        shown, text = piece.names, "*"
    else:
        shown = tuple(draw(some((*piece.names, *NAMES), 1, 3)))
        text = " ".join(map(variable, shown))
        free = [name for name in COMPUTED if name not in (*piece.names, *shown)]
        if free and draw(up_to(3)) == 0:
            text += f" ({draw(values(reading(piece.names)))} AS ?{free[0]})"
            shown = (*shown, free[0])
    return Piece(f"SELECT {distinct}{text} {{ {piece.text} }}{draw(_slices(shown))}", shown)


@once
@st.composite
def _slices(draw: st.DrawFn, shown: tuple[str, ...]) -> str:
    if not shown or draw(up_to(3)):
        return ""
    descends = draw(among(("", "DESC")))
    keys = " ".join(f"{descends}(STR(?{name})) (STR(DATATYPE(?{name}))) (LANG(?{name})) (isIRI(?{name}))" for name in shown)
    limits = draw(among(("LIMIT 1", "LIMIT 2", "LIMIT 2 OFFSET 1", "OFFSET 1", "LIMIT 0")))
    return f" ORDER BY {keys} {limits}"


@once
@st.composite
def aggregates(draw: st.DrawFn, names: tuple[str, ...], keys: tuple[str, ...], *, glued: bool = False) -> str:
    read = draw(reading(names))
    distinct = draw(among(("", "DISTINCT ")))
    kinds = [f"COUNT({distinct}*)", f"COUNT({distinct}{read})", f"SUM({distinct}{read})", f"AVG({distinct}{read})"]
    least = draw(among(("MIN", "MAX")))
    kinds += [f"{least}({distinct}STR({read}))", f"{least}({distinct}xsd:double({read}))"]
    kinds += [f"SAMPLE({distinct}?{key})" for key in keys[:1]]
    if glued:
        return f'GROUP_CONCAT({distinct}STR({read}); SEPARATOR="|")'
    return draw(among(tuple(kinds)))


@once
def _compared(names: tuple[str, ...], keys: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.one_of(*[aggregates(names, keys)] * 3, *[among(keys).map(variable)] * bool(keys))


@st.composite
def _grouped(draw: st.DrawFn, piece: Piece, outside: bool) -> Piece:
    keys = tuple(draw(some(piece.names, 0, 2))) if piece.names else ()
    made = draw(_one_or_two(aggregates(piece.names, keys)))
    computed = [name for name in COMPUTED if name not in piece.names][: len(made)]
    columns = [*map(variable, keys), *(f"({text} AS ?{name})" for text, name in zip(made, computed, strict=False))]
    shown = [*keys, *computed]
    if outside and draw(up_to(3)) == 0:
        columns.append(f"({draw(aggregates(piece.names, keys, glued=True))} AS ?glued)")
    if not columns:
        return Piece(f"SELECT * {{ {piece.text} }}", piece.names)
    group = f" GROUP BY {' '.join(map(variable, keys))}" if keys else ""
    having = ""
    if draw(up_to(2)) == 0:
        compared = draw(_compared(piece.names, keys))
        having = f" HAVING ({compared} {draw(among(('=', '!=', '<', '>')))} {draw(literals)})"
    order = draw(_slices(tuple(shown))) if shown else ""
    return Piece(f"SELECT {' '.join(columns)} {{ {piece.text} }}{group}{having}{order}", tuple(shown))


@once
def _templates(names: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    end = st.one_of(reading(names), reading(names), iris)
    fresh = st.one_of(end, end, end, among(("_:u", "_:v")))
    object_ = st.one_of(fresh, literals)
    return st.lists(st.builds("{} {} {} .".format, fresh, end, object_), min_size=1, max_size=3)


@once
@st.composite
def _constructs(draw: st.DrawFn) -> str:
    piece = draw(groups(1))
    made = draw(_templates(piece.names))
    return f"CONSTRUCT {{ {' '.join(made)} }} {{ {piece.text} }}"


COPIES = 10


@once
def _choices(slots: int) -> st.SearchStrategy[list[tuple[str, ...]]]:
    return st.lists(st.tuples(*[iris] * slots), min_size=COPIES, max_size=COPIES)


@st.composite
def queries(draw: st.DrawFn) -> Asked:
    """Queries of all forms, with slots numbered and choices of constants for them."""
    kind = draw(among(("SELECT",) * 7 + ("ASK", "CONSTRUCT", "CONSTRUCT")))
    if kind == "SELECT":
        text = draw(selects(2, outside=True)).text
    elif kind == "ASK":
        text = f"ASK {{ {draw(groups(2)).text} }}"
    else:
        text = draw(_constructs())
    plain = text.startswith("SELECT ") and not text.startswith("SELECT DISTINCT") and "LIMIT" not in text and "OFFSET" not in text
    reduced = plain and draw(up_to(9)) == 0
    parts = text.split(SLOTTED)
    text = parts[0] + "".join(f"<{SLOT}{number}>{part}" for number, part in enumerate(parts[1:]))
    copies = draw(_choices(len(parts) - 1)) if len(parts) > 1 else [()]
    asked = Asked(kind, PROLOGUE + text, tuple(copies), reduced)
    if not asked.may_stand_still:
        return asked
    return replace(asked, text=_EQUALS_NAME.sub(" != ", _EQUALS_NUMBER.sub(" >= ", asked.text)))
