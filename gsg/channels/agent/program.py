"""The agent language: from a text to a program.

    agent     := (agent part...)
    part      := (state (name form)...) | (define name form) | (define (name parameter...) form...) | (on condition form...)
    form      := constant | name | event | (operator form...) | (form form...)     constant, condition: as in the predicate language
               | (let ((name form)...) form...) | (let* ...) | (lambda (parameter...) form...) | (set! name form)
               | (if form form [form]) | (cond (form form...)... [(else form...)]) | (and form...) | (or form...)
               | (while form form...) | (do form...) | (define ...)                    define: at the top of a body
               | (map f list) | (filter f list) | (find f list) | (any? f list) | (all? f list) | (fold f initial list)
               | (sort list [f])
               | (field form name [form]) | (has form name) | (env name) | (event (name form)...)
               | (recent condition [form]) | (matches form condition)                  ?name in them: the agent's variable
               | (subscribe condition f) | (after form form...)                        both give a ticket for (cancel ticket)

Operators are in numbers.py, texts.py, lists.py and acts.py. False and null are false, all else is true. A field that is not
there is null. (Filman and Lee, section "Subscription languages": "implementation with any of the standard Lisp-like interpreters".)
"""

from __future__ import annotations

from dataclasses import dataclass

from ...languages.bad_text import Mistake, bad_text
from ..languages.expressions import Condition
from ..languages.predicate import PredicateReader, any_of, did_you_mean
from ..languages.relations import Relations
from ..languages.syntax import Atom, Form, Node, read
from .code import Body
from .conditions import Tested
from .forms import Compiler
from .limits import MAX_PROGRAM_CHARACTERS
from .names import Names, name_of

_STANDARD = Relations()
_PARTS = ("state", "define", "on")


@dataclass(frozen=True, slots=True)
class Handler:
    """What an agent does at events of which a condition holds."""

    tested: Tested
    body: Body


@dataclass(frozen=True, slots=True)
class Program:
    """An agent's text, ready to run. It has no state: agents that share it do not share theirs."""

    text: str
    handlers: tuple[Handler, ...]
    start: Body
    """Gives the state and the functions their first values."""
    variables: tuple[str, ...]

    @property
    def condition(self) -> Condition:
        """When an agent of this program is to be woken, but for what it subscribes to while it runs."""
        return any_of([handler.tested.condition for handler in self.handlers])


def parse(text: str, relations: Relations = _STANDARD) -> Program:
    """The program of a text. Raises BadText."""
    try:
        return _program(text, relations)
    except Mistake as error:
        raise bad_text(text, error.position, error.problem, what="agent") from None


def _program(text: str, relations: Relations) -> Program:
    if len(text) > MAX_PROGRAM_CHARACTERS:
        raise Mistake(
            MAX_PROGRAM_CHARACTERS, f"{len(text):,} characters; expected at most {MAX_PROGRAM_CHARACTERS:,}: make several agents"
        )
    node = read(text)
    if isinstance(node, Atom) or node.operator != "agent":
        raise Mistake(node.start, "no agent; expected (agent (state (name value)...) (on condition form...)...)")
    parts = [_part(item) for item in node.items[1:]]
    names = Names()
    for part in parts:
        for declared in _declared(part):
            names.declare(declared)
    compiler = Compiler(relations, names)
    for part in parts:
        if part.operator == "define":
            compiler.know_function(part)
    start = compiler.start([part for part in parts if part.operator != "on"])
    handlers = tuple(_handler(part, compiler, relations) for part in parts if part.operator == "on")
    if not handlers:
        raise Mistake(node.start, "an agent that nothing wakes; expected (on condition form...)")
    return Program(text, handlers, start, tuple(names.all()))


def _part(node: Node) -> Form:
    if isinstance(node, Form) and node.operator in _PARTS:
        return node
    what = repr(node.value) if isinstance(node, Atom) else f"({node.operator or '...'} ...)"
    hint = did_you_mean(str(node.operator), _PARTS) if isinstance(node, Form) else ""
    raise Mistake(node.start, f"{what} in an agent{hint}; expected (state (name value)...), (define ...) or (on condition form...)")


def _declared(part: Form) -> list[Atom]:
    if part.operator == "state":
        found = []
        for item in part.items[1:]:
            if not isinstance(item, Form) or len(item.items) != 2:
                raise Mistake(item.start, "no variable of the state; expected (name value), such as (count 0)")
            found.append(name_of(item.items[0]))
        return found
    if part.operator == "define":
        if len(part.items) < 3:
            raise Mistake(
                part.start, "(define ...) without a value; expected (define name form) or (define (name parameter...) form...)"
            )
        named = part.items[1]
        return [name_of(named.items[0] if isinstance(named, Form) and named.items else named)]
    return []


def _handler(part: Form, compiler: Compiler, relations: Relations) -> Handler:
    if len(part.items) < 3:
        raise Mistake(part.start, "(on ...) without a condition or without forms; expected (on condition form...)")
    condition = PredicateReader(relations).condition(part.items[1])
    body = compiler.body("on", list(part.items[2:]), start=part.start)
    return Handler(Tested(condition, relations), body)
