"""From a line to a term: one compiled token pattern and an operator-precedence parser.

The parser keeps its own stack of open brackets, each with the operators that wait inside it, so that nesting is bounded by the
length of the line and never by Python's stack. A line such as ``temp(kitchen, 25)``, which is what most lines are, is taken
whole by one pattern of plain_lines.py and never sees the parser (door/commands.py chooses).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NoReturn

from ..dialect import PAPER, Dialect
from ..errors import BadLine
from .terms import COMMA, NIL, NOTHING, SYMBOL_CHARACTERS, Frozen, Term, Var, make_list, unquoted

MAX_INTEGER_DIGITS = 4_200
"""Longest integer in a line; Python refuses to convert texts of more than 4,300 digits, because that takes quadratic time."""

MAX_TOKENS = 5_000
"""Tokens, and escaped characters, of a line that a door takes. What a line costs goes by them, not by its bytes: so many are read
and made a subscription in about 50 ms at most (docs/pedro.md), during which nobody else is served."""

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_QUOTES = r"""'[^'\\]*+(?>(?:\\.[^'\\]*+)*)'|"[^"\\]*+(?>(?:\\.[^"\\]*+)*)\""""
_CLOSED = re.compile(rf"""(?>(?:[^'"]++|{_QUOTES})*)""", re.DOTALL)
_TOKEN = re.compile(
    r"[ \t]*("
    r"[a-z][A-Za-z0-9_]*"
    r"|[_A-Z][A-Za-z0-9_]*"
    rf"|{_NUMBER}"
    r"|-\("  # one token: `-(1,2)` is a compound, `- (1,2)` is minus applied to a conjunction
    r"|[(),\[\]|;]"
    rf"|[{SYMBOL_CHARACTERS}]+"
    rf"|{_QUOTES}"
    r"|\{\}"
    r"|[^ \t]"  # whatever else: no token
    r")",
    re.DOTALL,
)
_TRAILING_BLANKS = " \t"

# What kind of token starts with a character; symbol atoms, `;` and `{}` are atoms like names.
_ATOM, _VARIABLE, _DIGITS, _STRING, _QUOTE = range(1, 6)
_ATOM_KINDS = frozenset((_ATOM, _QUOTE))
_KINDS: dict[str, int] = {
    **dict.fromkeys("abcdefghijklmnopqrstuvwxyz-/+*<=>#@$\\^&~`:.?!;", _ATOM),
    **dict.fromkeys("_ABCDEFGHIJKLMNOPQRSTUVWXYZ", _VARIABLE),
    **dict.fromkeys("0123456789", _DIGITS),
    '"': _STRING,
    "'": _QUOTE,
}

# An open bracket: what closes it and what a comma means inside.
_TOP, _PARENTHESIS, _ARGUMENTS, _LIST, _TAIL, _MINUS = range(6)
_ANY, _ARGUMENT = 1100, 999
_COMMA_IS_OPERATOR = frozenset((_TOP, _PARENTHESIS))
_CLOSERS = frozenset((")", "]", ",", "|", ""))

_Operator = tuple[int, str, int]
"""A waiting operator: the highest priority of its right operand, its functor, its own priority; negative for a prefix one."""
_Frame = tuple[int, list[Term], int, list[_Operator]]


def parse(text: str, dialect: Dialect = PAPER, *, frozen: bool = False, variables: dict[str, Var | Frozen] | None = None) -> Term:
    """The term that a line, without its newline, represents.

    ``frozen`` makes its variables constants: for notifications in a dialect where those are not bound. ``variables`` are those
    known so far by name, and is added to. Raises BadLine.
    """
    # Checked first and in one pass: looking for the end of each of many open quotes would take quadratic time.
    closed = _CLOSED.match(text)
    if closed is None or closed.end() < len(text):
        raise BadLine("a quote that does not end", text=text, column=closed.end() + 1 if closed else 1)
    return _Parser(text, dialect, frozen, {} if variables is None else variables).term()


def has_too_many_tokens(text: str, most: int = MAX_TOKENS) -> bool:
    """Whether a line would keep others waiting: a door refuses it unread, and so long lines that hold little are no trouble."""
    if len(text) <= most:
        return False
    closed = _CLOSED.match(text)
    if closed is None or closed.end() < len(text):
        return False  # it is refused by one look at its quotes; counting its tokens would look for their ends again and again
    left = most - text.count("\\")
    return left < 0 or sum(1 for _ in islice(_tokens(text), left + 1)) > left


def _tokens(text: str) -> Iterator[re.Match[str]]:
    # Blanks that no token follows would be looked at from each of them on, to the end: quadratic time.
    return _TOKEN.finditer(text.rstrip(_TRAILING_BLANKS))


class _Parser:
    def __init__(self, text: str, dialect: Dialect, frozen: bool, variables: dict[str, Var | Frozen]) -> None:
        self.text = text
        self.dialect = dialect
        self.make: type[Var] | type[Frozen] = Frozen if frozen else Var
        self.tokens: list[str] = _TOKEN.findall(text.rstrip(_TRAILING_BLANKS))
        self.variables = variables

    def refuse(self, problem: str, index: int) -> NoReturn:
        for position, token in enumerate(_tokens(self.text)):
            if position == index:
                raise BadLine(problem, text=self.text, column=token.start(1) + 1)
        raise BadLine(problem, text=self.text, column=len(self.text) + 1)

    def variable(self, name: str) -> Term:
        if name == "_":
            return self.make(name)
        found = self.variables.get(name)
        if found is None:
            found = self.variables[name] = self.make(name)
        return found

    def number(self, token: str, index: int) -> int | float:
        if not token.isdigit():
            return float(token)
        digits = token.lstrip("0")
        if len(digits) > MAX_INTEGER_DIGITS:
            self.refuse(f"an integer of {len(digits)} digits; expected at most {MAX_INTEGER_DIGITS}", index)
        return int(digits or "0")

    def term(self) -> Term:
        """The rules, which are those of every operator-precedence parser.

        An operand is due at the start, after an operator, an opening bracket, a comma or a bar; otherwise an operator or a closing
        bracket is. A waiting operator takes its operands once the next one could not stand inside its right side. ``priority``
        is that of the finished term, which the left side of the next operator must allow.
        """
        dialect, tokens = self.dialect, self.tokens
        infix, prefix = dialect.infix, dialect.prefix
        if not dialect.operators_stand_alone and len(tokens) == 1 and _plain(tokens[0]) in infix:
            self.refuse(f"the operator {tokens[0]} stands alone; expected a term", 0)
        tokens.append("")
        at = 0
        frames: list[_Frame] = []
        kind, limit = _TOP, _ANY
        items: list[Term] = []
        operators: list[_Operator] = []
        while True:
            token = tokens[at]
            at += 1
            what = _KINDS.get(token[:1])
            term: Term
            priority = 0
            if what in _ATOM_KINDS or token == "{}" or (token == "[" and tokens[at] == "]"):
                if token == "[":
                    at += 1
                    term = NIL
                elif what == _QUOTE:
                    term = unquoted(token)
                    if term == "-" and tokens[at] == "(":
                        term = "-("
                        at += 1
                else:
                    term = token
                if term == "-(":
                    frames.append((kind, items, limit, operators))
                    kind, items, limit, operators = _MINUS, ["-"], _ANY, []
                    continue
                if tokens[at] == "(" and term != "-":
                    if tokens[at + 1] == ")":
                        if not dialect.empty_arguments:
                            self.refuse("a compound without arguments; expected at least one, or the atom alone", at + 1)
                        at += 2
                        term = (term, NOTHING)
                    else:
                        at += 1
                        frames.append((kind, items, limit, operators))
                        kind, items, limit, operators = _ARGUMENTS, [term], _ARGUMENT, []
                        continue
                elif term in prefix and not (dialect.operators_stand_alone and self.is_operand(at)):
                    own, operand = prefix[term]
                    if own > (operators[-1][0] if operators else limit):
                        self.refuse(f"the prefix operator {term} here needs parentheses", at - 1)
                    operators.append((operand, term, -own))
                    continue
            elif what == _VARIABLE:
                term = self.variable(token)
            elif what == _DIGITS:
                term = self.number(token, at - 1)
            elif what == _STRING:
                term = token[1:-1].encode()
            elif token == "(" or token == "[":
                frames.append((kind, items, limit, operators))
                kind, limit = (_PARENTHESIS, _ANY) if token == "(" else (_LIST, _ARGUMENT)
                items, operators = [], []
                continue
            else:
                self.refuse(f"{_named(token)} where a term must stand", at - 1)

            while True:  # a term is complete; an operator or a closing bracket is due
                token = tokens[at]
                at += 1
                if token in _CLOSERS and not (token == "," and kind in _COMMA_IS_OPERATOR):
                    while operators:
                        term = _applied(operators.pop(), term, items)
                    if token == ",":
                        if kind == _TAIL:
                            self.refuse("a comma after the tail of a list", at - 1)
                        items.append(term)
                        break
                    if token == ")":
                        if kind == _ARGUMENTS or (kind == _MINUS and len(items) > 1):
                            items.append(term)
                            term = tuple(items)
                            kind, items, limit, operators = frames.pop()
                        elif kind == _PARENTHESIS:
                            kind, items, limit, operators = frames.pop()
                        elif kind == _MINUS:
                            kind, items, limit, operators = frames.pop()
                            own, operand = prefix["-"]
                            if own > (operators[-1][0] if operators else limit):
                                self.refuse("the prefix operator - here needs parentheses", at - 1)
                            operators.append((operand, "-", -own))
                        else:
                            self.refuse("an unexpected closing parenthesis", at - 1)
                        priority = 0
                        continue
                    if token == "]":
                        if kind == _LIST:
                            items.append(term)
                            term = make_list(items)
                        elif kind == _TAIL:
                            term = make_list(items, term)
                        else:
                            self.refuse("an unexpected closing bracket", at - 1)
                        kind, items, limit, operators = frames.pop()
                        priority = 0
                        continue
                    if token == "|":
                        if kind != _LIST:
                            self.refuse("a bar outside a list", at - 1)
                        items.append(term)
                        kind = _TAIL
                        break
                    if kind != _TOP:
                        self.refuse("the line ends inside brackets", at - 1)
                    return term
                opens = token == "-("
                name = "-" if opens else _plain(token)
                found = infix.get(name)
                if found is None:
                    self.refuse(f"{_named(token)} where an operator or the end must stand", at - 1)
                own, left, right = found
                while operators and operators[-1][0] < own:
                    priority = abs(operators[-1][2])
                    term = _applied(operators.pop(), term, items)
                if priority > left or own > (operators[-1][0] if operators else limit):
                    self.refuse(f"the operator {name} here needs parentheses", at - 1)
                items.append(term)
                operators.append((right, name, own))
                if opens:
                    frames.append((kind, items, limit, operators))
                    kind, items, limit, operators = _PARENTHESIS, [], _ANY, []
                break

    def is_operand(self, at: int) -> bool:
        """Whether a prefix operator before this token is an atom: nothing that it could apply to follows."""
        token = self.tokens[at]
        return token in _CLOSERS or (
            token in self.dialect.infix and token not in self.dialect.prefix and self.tokens[at + 1] not in ("(", *_CLOSERS)
        )


def _applied(operator: _Operator, term: Term, items: list[Term]) -> Term:
    """The term of an operator and its right operand; the left one waits at the end of ``items``."""
    _, name, priority = operator
    if priority > 0:
        return (COMMA if name == "," else name, items.pop(), term)
    if name == "-" and (type(term) is int or type(term) is float):
        return -term
    return (name, term)


def _plain(token: str) -> str:
    return unquoted(token) if token[:1] == "'" else token


def _named(token: str) -> str:
    return repr(token[:20]) if token else "the end"
