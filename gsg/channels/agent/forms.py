"""From forms to instructions, with all names resolved and all operands counted.

Steps: each list that is evaluated costs one, each round of a while, map or fold costs one, and each instruction, name and constant
an eighth; operators charge what they work besides. A form is *simple* where it calls no function of the program and jumps nowhere:
it becomes one closure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...languages.bad_text import Mistake
from ..languages.predicate import did_you_mean, expect_operands, is_constant, word
from ..languages.relations import Relations
from ..languages.syntax import Atom, Form, Kind, Node
from .closures import Evaluate, applied, constant, event_looked_at, made_function, variable, waking_event
from .code import STEP, Body, Op
from .conditions import ReadyConditions
from .lists import sorted_list
from .names import CONSTANTS, EACH, RESERVED, Names, name_of
from .operations import LOOKING, OPERATORS, WITH_LITERALS, form_operands, operation

MAX_OPERANDS: Final = 99
"""Of a call, as of operators; a call with more is refused."""


class Compiler:
    """Compiles the bodies of one program. Nesting is that of the text (syntax.MAX_DEPTH)."""

    def __init__(self, relations: Relations, names: Names) -> None:
        self._ready = ReadyConditions(relations)
        self._names = names
        self._own = names
        self._body = Body("", 0)
        self._owed = 0
        """Eighths of steps, of forms that begin with the next instruction."""
        self._simple: dict[int, tuple[Node, bool]] = {}
        """Whether forms are simple, by identity: each is kept, so that no other one has it."""
        self._functions: dict[str, int] = {}
        """How many parameters functions have that never change, by name."""
        self._control: dict[str, Callable[[Form, bool], None]] = {
            "let": self._let,
            "let*": self._let,
            "set!": self._set,
            "if": self._if,
            "cond": self._cond,
            "and": self._junction,
            "or": self._junction,
            "while": self._while,
            "do": self._do,
            "sort": self._sort,
            **dict.fromkeys(EACH, self._each),
        }

    # --- bodies ------------------------------------------------------------

    def know_function(self, form: Form) -> None:
        """A function of the agent: calls with another number of operands are refused."""
        if isinstance(form.items[1], Form):
            self._functions[str(name_of(form.items[1].items[0]).value)] = len(form.items[1].items) - 1

    def start(self, parts: Sequence[Form]) -> Body:
        """What gives the agent's variables their first values."""
        outer = self._enter_body("start", 0)
        for part in parts:
            if part.operator == "define":
                self._define(part)
                continue
            for item in part.items[1:]:
                assert isinstance(item, Form)
                self._assign(name_of(item.items[0]), item.items[1])
        return self._leave_body(outer, part.start if parts else 0)

    def body(self, name: str, forms: Sequence[Node], *, start: int, parameters: Sequence[Node] = ()) -> Body:
        """A function of forms."""
        if len(parameters) > MAX_OPERANDS:
            raise Mistake(start, f"a function of {len(parameters):,} parameters; expected at most {MAX_OPERANDS}")
        outer = self._enter_body(name, len(parameters))
        for parameter in parameters:
            self._names.declare(name_of(parameter))
        self._sequence(forms, start, last_wanted=True)
        self._body.variables = len(self._names) - len(parameters)
        return self._leave_body(outer, start, pushed=True)

    def _enter_body(self, name: str, parameters: int) -> tuple[Body, Names, int]:
        outer = (self._body, self._names, self._owed)
        self._body, self._names, self._owed = Body(name, parameters), Names(self._names), 0
        return outer

    def _leave_body(self, outer: tuple[Body, Names, int], start: int, *, pushed: bool = False) -> Body:
        if not pushed:
            self._emit(Op.PUSH, start, constant(None))
        self._emit(Op.RETURN, start)
        made = self._body
        self._body, self._names, self._owed = outer
        for at, (op, cost, a, b) in enumerate(made.code[:-1]):
            if op == Op.CALL and _ends(made.code, at + 1):
                made.code[at] = (int(Op.CALL_LAST), cost, a, b)
        return made

    def _sequence(self, forms: Sequence[Node], start: int, *, last_wanted: bool) -> None:
        """Forms of a body: its defines are variables of its scope."""
        for form in forms:
            if isinstance(form, Form) and form.operator == "define":
                if len(form.items) < 3:
                    raise Mistake(form.start, "(define ...) without a value; expected (define name form)")
                named = form.items[1]
                self._names.declare(name_of(named.items[0] if isinstance(named, Form) and named.items else named))
        for form in forms[:-1]:
            self._statement(form, False)
        if not forms:
            raise Mistake(start, "no form; expected one or more")
        self._statement(forms[-1], last_wanted)

    def _statement(self, node: Node, wanted: bool) -> None:
        if isinstance(node, Form) and node.operator == "define":
            self._define(node)
            if wanted:
                self._emit(Op.PUSH, node.start, constant(None))
        else:
            self._form(node, wanted)

    def _define(self, form: Form) -> None:
        self._owed += STEP
        named = form.items[1]
        if isinstance(named, Form):
            name = name_of(named.items[0])
            made = self.body(str(name.value), form.items[2:], start=form.start, parameters=named.items[1:])
            self._emit(Op.SET, form.start, made_function(made), self._place(name))
            return
        if len(form.items) != 3:
            raise Mistake(form.start, "(define name ...) with several forms; expected one, or (define (name parameter...) form...)")
        self._assign(name_of(named), form.items[2])

    # --- forms ------------------------------------------------------------

    def _emit(self, op: Op, start: int, a: object = None, b: object = None) -> int:
        self._body.code.append((int(op), self._owed + 1, a, b))
        self._body.starts.append(start)
        self._owed = 0
        return len(self._body.code) - 1

    def _label(self) -> int:
        """Where the next instruction will be. No steps may be owed there by some who come and not by others."""
        if self._owed:
            self._emit(Op.DO, self._body.starts[-1] if self._body.starts else 0, constant(None))
        return len(self._body.code)

    def _aim(self, at: int, target: int) -> None:
        op, cost, a, b = self._body.code[at]
        self._body.code[at] = (op, cost, a, target) if op == Op.UNLESS else (op, cost, target, b)

    def _form(self, node: Node, wanted: bool = True) -> None:
        """Instructions for a form, whose value is on the stack after them if it is wanted."""
        if self._is_simple(node):
            evaluate = self._evaluated(node)
            if wanted or isinstance(node, Form):
                self._emit(Op.PUSH if wanted else Op.DO, node.start, evaluate)
            return
        assert isinstance(node, Form)
        operator = node.operator
        self._owed += STEP
        if operator in self._control:
            self._control[operator](node, wanted)
            return
        if operator == "define":
            raise Mistake(node.start, "(define ...) within a form; expected it at the top of a body, or (let ((name form)) ...)")
        if operator in OPERATORS or operator in WITH_LITERALS:
            function, operands = self._operation(node)
            for operand in operands:
                self._form(operand)
            self._emit(Op.APPLY, node.start, function, len(operands))
        else:
            self._call(node)
        if not wanted:
            self._emit(Op.POP, node.start)

    def _call(self, form: Form) -> None:
        if not form.items:
            raise Mistake(form.start, "an empty list; expected an operator or a function: (list) is the list of nothing")
        head = form.items[0]
        if len(form.items) - 1 > MAX_OPERANDS:
            raise Mistake(form.start, f"a call with {len(form.items) - 1:,} operands; expected at most {MAX_OPERANDS}: give a list")
        if isinstance(head, Atom):
            if head.kind is not Kind.SYMBOL:
                raise Mistake(form.start, f"{word(head.value)} is no function; expected one, or (list ...)")
            place = self._names.find(str(head.value))
            if place is None:
                raise self._unknown(head, "operator")
            wanted = self._functions.get(str(head.value))
            if place[0] < 0 and wanted is not None and wanted != len(form.items) - 1:
                raise Mistake(form.start, f"({head.value} ...) with {len(form.items) - 1} operands; expected {wanted}")
        for item in form.items:
            self._form(item)
        self._emit(Op.CALL, form.start, len(form.items) - 1)

    def _unknown(self, atom: Atom, what: str) -> Mistake:
        name = str(atom.value)
        hint = did_you_mean(name, [*self._names.all(), *sorted(RESERVED)])
        own = ", ".join(self._names.all()[:20]) or "none"
        return Mistake(
            atom.start,
            f"unknown {what} {name!r}{hint}; variables here: {own}; a text stands in quotes, a field in (field event {name})",
        )

    def _is_simple(self, node: Node) -> bool:
        if isinstance(node, Atom):
            return True
        known = self._simple.get(id(node))
        if known is None:
            is_operator = node.operator in OPERATORS or node.operator in WITH_LITERALS
            is_simple = node.operator == "lambda" or (is_operator and all(map(self._is_simple, form_operands(node))))
            known = self._simple[id(node)] = (node, is_simple)
        return known[1]

    def _evaluated(self, node: Node) -> Evaluate:
        """The closure of a simple form; its steps are owed."""
        if isinstance(node, Atom):
            self._owed += 1
            return self._atom(node)
        self._owed += STEP
        if node.operator == "lambda":
            return made_function(self._lambda(node))
        function, operands = self._operation(node)
        evaluated = [self._evaluated(operand) for operand in operands]
        if node.operator in LOOKING and evaluated[0] is waking_event:
            evaluated[0] = event_looked_at
        return applied(function, evaluated, node.start)

    def _atom(self, atom: Atom) -> Evaluate:
        if is_constant(atom):
            return constant(CONSTANTS[str(atom.value)] if atom.kind is Kind.SYMBOL else atom.value)
        if atom.kind is Kind.VARIABLE:
            raise Mistake(atom.start, f"?{atom.value} outside of a condition; expected {atom.value}")
        if atom.is_keyword("event"):
            return waking_event
        place = self._names.find(str(atom.value))
        if place is None:
            operator = OPERATORS.get(str(atom.value))
            if operator is None:
                raise self._unknown(atom, "variable")
            return constant(operator)
        return variable(*place)

    def _lambda(self, form: Form) -> Body:
        if len(form.items) < 3 or not isinstance(form.items[1], Form):
            raise Mistake(form.start, "no function; expected (lambda (parameter...) form...)")
        return self.body("lambda", form.items[2:], start=form.start, parameters=form.items[1].items)

    def _operation(self, form: Form) -> tuple[Callable[..., object], Sequence[Node]]:
        """What an operator does, and the forms whose values it is given."""
        return operation(form, self._ready)

    # --- control ------------------------------------------------------------

    def _place(self, atom: Atom) -> tuple[int, int]:
        place = self._names.find(str(atom.value))
        if place is None:
            raise self._unknown(atom, "variable")
        return place

    def _assign(self, name: Atom, value: Node) -> None:
        place = self._place(name)
        if self._is_simple(value):
            self._emit(Op.SET, value.start, self._evaluated(value), place)
        else:
            self._form(value)
            self._emit(Op.POP_SET, value.start, place)

    def _set(self, form: Form, wanted: bool) -> None:
        expect_operands(form, 2, 2)
        name = name_of(form.items[1])
        place = self._place(name)
        if place[0] < 0 and str(name.value) in self._functions:
            raise Mistake(name.start, f"{name.value!r} is a function, which never changes; expected a variable of (state ...)")
        self._assign(name, form.items[2])
        if wanted:
            self._emit(Op.PUSH, form.start, variable(*place))

    def _let(self, form: Form, wanted: bool) -> None:
        bindings = form.items[1] if len(form.items) > 2 else None
        if not isinstance(bindings, Form):
            raise Mistake(form.start, f"no variables or no forms; expected ({form.operator} ((name form)...) form...)")
        pairs: list[tuple[Atom, Node]] = []
        for binding in bindings.items:
            if not isinstance(binding, Form) or len(binding.items) != 2:
                raise Mistake(binding.start, "no variable; expected (name form), such as (x 1)")
            pairs.append((name_of(binding.items[0]), binding.items[1]))
        in_turn = form.operator == "let*"
        if not in_turn:
            for _, value in pairs:
                self._form(value)
        enter = self._emit(Op.ENTER, form.start, 0 if in_turn else len(pairs), 0)
        self._names = Names(self._names)
        for name, value in pairs:
            if not in_turn:
                self._names.declare(name)
            elif self._is_simple(value):
                evaluate = self._evaluated(value)
                self._emit(Op.SET, value.start, evaluate, (0, self._names.declare(name)))
            else:
                self._form(value)
                self._emit(Op.POP_SET, value.start, (0, self._names.declare(name)))
        self._sequence(form.items[2:], form.start, last_wanted=wanted)
        op, cost, a, _ = self._body.code[enter]
        self._body.code[enter] = (op, cost, a, len(self._names) - int(a))
        around = self._names.around
        assert around is not None
        self._names = around
        self._emit(Op.LEAVE, form.start)

    def _test(self, node: Node) -> int:
        """Instructions that go on elsewhere where a form is false; aim them."""
        if self._is_simple(node):
            evaluate = self._evaluated(node)
            return self._emit(Op.UNLESS, node.start, evaluate)
        self._form(node)
        return self._emit(Op.POP_UNLESS, node.start)

    def _null(self, start: int, wanted: bool) -> None:
        if wanted:
            self._emit(Op.PUSH, start, constant(None))

    def _if(self, form: Form, wanted: bool) -> None:
        expect_operands(form, 2, 3)
        test = self._test(form.items[1])
        self._form(form.items[2], wanted)
        if len(form.items) == 3 and not wanted:
            self._aim(test, self._label())
            return
        leave = self._emit(Op.JUMP, form.start)
        self._aim(test, self._label())
        if len(form.items) == 4:
            self._form(form.items[3], wanted)
        else:
            self._null(form.start, wanted)
        self._aim(leave, self._label())

    def _cond(self, form: Form, wanted: bool) -> None:
        leaves = []
        has_else = False
        for branch in form.items[1:]:
            if not isinstance(branch, Form) or len(branch.items) < 2 or has_else:
                raise Mistake(branch.start, "no branch of cond; expected (test form...), and (else form...) as the last")
            first = branch.items[0]
            has_else = isinstance(first, Atom) and first.is_keyword("else")
            test = None if has_else else self._test(first)
            self._forms_in_turn(branch.items[1:], wanted)
            leaves.append(self._emit(Op.JUMP, branch.start))
            if test is not None:
                self._aim(test, self._label())
        if not leaves:
            raise Mistake(form.start, "(cond) without branches; expected (cond (test form...)...)")
        if not has_else:
            self._null(form.start, wanted)
        end = self._label()
        for leave in leaves:
            self._aim(leave, end)

    def _forms_in_turn(self, forms: Sequence[Node], wanted: bool) -> None:
        for form in forms[:-1]:
            self._form(form, False)
        self._form(forms[-1], wanted)

    def _do(self, form: Form, wanted: bool) -> None:
        expect_operands(form, 1, None)
        self._forms_in_turn(form.items[1:], wanted)

    def _junction(self, form: Form, wanted: bool) -> None:
        expect_operands(form, 1, None)
        op = Op.KEEP_FALSE if form.operator == "and" else Op.KEEP_TRUE
        leaves = []
        for item in form.items[1:-1]:
            self._form(item)
            leaves.append(self._emit(op, item.start))
        self._form(form.items[-1])
        end = self._label()
        for leave in leaves:
            self._aim(leave, end)
        if not wanted:
            self._emit(Op.POP, form.start)

    def _while(self, form: Form, wanted: bool) -> None:
        expect_operands(form, 1, None)
        if self._owed > STEP:  # what is around the loop costs once
            self._owed -= STEP
            self._emit(Op.DO, form.start, constant(None))
            self._owed = STEP
        top = len(self._body.code)
        test = self._test(form.items[1])
        for item in form.items[2:]:
            self._form(item, False)
        self._emit(Op.JUMP, form.start, top)
        self._aim(test, self._label())
        self._null(form.start, wanted)

    def _each(self, form: Form, wanted: bool) -> None:
        count = EACH[str(form.operator)]
        expect_operands(form, count, count)
        self._walk(form, form.items[1:], wanted)

    def _sort(self, form: Form, wanted: bool) -> None:
        expect_operands(form, 1, 2)
        if len(form.items) == 2:
            self._form(form.items[1])
            self._emit(Op.APPLY, form.start, sorted_list, 1)
            if not wanted:
                self._emit(Op.POP, form.start)
            return
        self._walk(form, form.items[1:], wanted)

    def _walk(self, form: Form, operands: Sequence[Node], wanted: bool) -> None:
        for item in operands:
            self._form(item)
        self._emit(Op.BEGIN_EACH, form.start, str(form.operator))
        self._owed += STEP
        top = self._emit(Op.NEXT_EACH, form.start)
        self._emit(Op.CALL, form.start, 2 if form.operator == "fold" else 1)
        self._emit(Op.TAKE_EACH, form.start, top)
        self._aim(top, self._label())
        if not wanted:
            self._emit(Op.POP, form.start)


def _ends(code: Sequence[tuple[int, int, object, object]], at: int) -> bool:
    """Whether nothing is left to do from an instruction on but to return: scopes that are left need no leaving."""
    while True:
        op, cost, a, _ = code[at]
        if op == Op.RETURN:
            return True
        if cost >= STEP or op not in (Op.JUMP, Op.LEAVE):
            return False
        at = int(str(a)) if op == Op.JUMP else at + 1
        if op == Op.JUMP and at == 0:
            return False
