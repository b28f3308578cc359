"""The agent language: what its forms mean, what they cost, and what it refuses."""

from __future__ import annotations

import pytest

from gsg.channels.agent.agent import Agent
from gsg.channels.agent.program import parse
from gsg.channels.events import Event
from gsg.channels.values import Reference
from gsg.errors import BadText

EVENT = Event(
    {
        "type": "error",
        "user": {"name": "Joe", "tags": ["a", "b"]},
        "size": "12",
        "n": 3,
        "none": None,
        "at": Reference("gsg://here/1"),
    },
    environment={"call": {"id": 7}},
)


def printed(body: str, state: str = "") -> str:
    outcome = Agent(parse(f"(agent (state (count 0) {state}) (on true {body}))")).wake(EVENT, [], 5.0)
    assert outcome.stopped is None, outcome.stopped.message
    return "\n".join(outcome.printed)


def value(form: str) -> str:
    return printed(f"(print {form})")


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("(+ 1 2 3)", "6"),
        ('(+ 1 "2")', "3"),
        ("(- 5)", "-5"),
        ("(- 10 1 2)", "7"),
        ("(* 2 3.5)", "7.0"),
        ("(/ 6 3)", "2"),
        ("(/ 7 2)", "3.5"),
        ("(mod 7 3)", "1"),
        ("(expt 2 10)", "1024"),
        ("(expt -1 99999999999)", "-1"),
        ("(expt 0 99999999999)", "0"),
        ("(expt 2 -1)", "0.5"),
        ("(expt 2 0.5)", "1.4142135623730951"),
        ("(abs -3)", "3"),
        ("(min 3 1 2)", "1"),
        ("(max 3 1 2)", "3"),
        ("(floor 2.7)", "2"),
        ("(ceiling 2.1)", "3"),
        ("(round 2.6)", "3"),
        ("(round 2.345 1)", "2.3"),
        ("(random 10)", "5"),
        ("(now)", "5.0"),
        ("(= 1 1.0)", "true"),
        ("(= 1 true)", "false"),
        ('(= 1 "1")', "false"),
        ("(= 'a 'a 'a)", "true"),
        ("(!= 'a 'b)", "true"),
        ("(= (list 1 (list 2)) (list 1 (list 2.0)))", "true"),
        ("(= null null)", "true"),
        ("(< 1 2 3)", "true"),
        ("(< 1 3 2)", "false"),
        ('(> "12" 7)', "true"),
        ("(> 'big 7)", "false"),
        ("(<= 'a 'b)", "true"),
        ("(not null)", "true"),
        ("(not 0)", "false"),
        ('(not "")', "false"),
        ("(and 1 2)", "2"),
        ("(and false (stop))", "false"),
        ("(or null 3)", "3"),
        ("(or 1 (stop))", "1"),
        ("(or false null)", "null"),
        ("(if 0 'yes 'no)", "yes"),
        ("(if null 'yes)", "null"),
        ("(cond (false 1) ((= 1 1) 2 3) (else 4))", "3"),
        ("(cond (false 1) (else 4))", "4"),
        ("(cond (false 1))", "null"),
        ("(do 1 2)", "2"),
        ("(let ((x 1) (y 2)) (+ x y))", "3"),
        ("(let ((x 1)) (let ((x 2) (y x)) (list x y)))", "(2 1)"),
        ("(let* ((x 1) (y (+ x 1))) (* x y))", "2"),
        ("(let () 7)", "7"),
        ("(let ((x 1)) (define y 2) (+ x y))", "3"),
        ("((lambda (x y) (- x y)) 5 3)", "2"),
        ("(let ((f (lambda (x) (* x x)))) (f 4))", "16"),
        ("(let ((add (lambda (x) (lambda (y) (+ x y))))) ((add 1) 2))", "3"),
        ("(let ((i 0) (s 0)) (while (< i 5) (set! i (+ i 1)) (set! s (+ s i))) s)", "15"),
        ("(set! count 3)", "3"),
        ("(list)", "()"),
        ('(list 1 \'a "b c" true null (list 2.5))', '(1 "a" "b c" true null (2.5))'),
        ("(first (list 1 2))", "1"),
        ("(first (list))", "null"),
        ("(last (list 1 2))", "2"),
        ("(rest (list 1 2 3))", "(2 3)"),
        ("(rest (list))", "()"),
        ("(cons 1 (list 2))", "(1 2)"),
        ("(append (list 1) (list) (list 2 3))", "(1 2 3)"),
        ("(length (list 1 2))", "2"),
        ("(length 'abc)", "3"),
        ("(length event)", "6"),
        ("(nth (list 'a 'b) 1)", "b"),
        ("(slice (range 10) 2 4)", "(2 3)"),
        ("(reverse (list 1 2 3))", "(3 2 1)"),
        ("(member 2 (list 1 2.0))", "true"),
        ("(member true (list 1))", "false"),
        ("(range 3)", "(0 1 2)"),
        ("(sum (list 1 2.5))", "3.5"),
        ("(empty? (list))", "true"),
        ("(map (lambda (x) (* x x)) (list 1 2 3))", "(1 4 9)"),
        ("(map upper (list 'a 'b))", '("A" "B")'),
        ("(map (lambda (x) (map (lambda (y) (* x y)) (list 1 2))) (list 1 2))", "((1 2) (2 4))"),
        ("(filter (lambda (x) (> x 1)) (list 1 2 3))", "(2 3)"),
        ("(find (lambda (x) (> x 1)) (list 1 2 3))", "2"),
        ("(find (lambda (x) (> x 9)) (list 1 2 3))", "null"),
        ("(any? (lambda (x) (> x 2)) (list 1 2 3))", "true"),
        ("(all? (lambda (x) (> x 2)) (list 1 2 3))", "false"),
        ("(all? (lambda (x) (stop)) (list))", "true"),
        ("(fold + 0 (list 1 2 3))", "6"),
        ("(fold (lambda (all x) (cons x all)) (list) (list 1 2 3))", "(3 2 1)"),
        ("(sort (list 3 1 2.5))", "(1 2.5 3)"),
        ("(sort (list 'b 'a))", '("a" "b")'),
        ("(sort (list 'bb 'a 'ccc) (lambda (x) (- (length x))))", '("ccc" "bb" "a")'),
        ("(concat 'a 1 (list 2) null true)", "a1(2)nulltrue"),
        ("(substring 'abcd 1 3)", "bc"),
        ("(substring 'abcd 2)", "cd"),
        ('(split "a,b,,c" ",")', '("a" "b" "" "c")'),
        ('(split " a  b ")', '("a" "b")'),
        ("(join (list 1 'b) '-)", "1-b"),
        ("(join (list))", ""),
        ("(replace 'banana 'an '-)", "b--a"),
        ("(upper 'straße)", "STRASSE"),
        ("(lower 'ABC)", "abc"),
        ('(trim " a ")', "a"),
        ("(contains 'abc 'b)", "true"),
        ("(prefix 'abc 'ab)", "true"),
        ("(suffix 'abc 'ab)", "false"),
        ("(position 'abc 'c)", "2"),
        ("(position 'abc 'x)", "null"),
        ("(number '12)", "12"),
        ("(number 'x)", "null"),
        ("(text 12)", "12"),
        ("(map number? (list 1 '1 true))", "(true false false)"),
        (
            "(list (text? 'a) (list? (list)) (event? event) (null? null) (reference? (field event at)))",
            "(true true true true true)",
        ),
        ("(field event type)", "error"),
        ("(field event user.name)", "Joe"),
        ("(field (field event user) name)", "Joe"),
        ("(field event user.tags)", '("a" "b")'),
        ("(field event nothing)", "null"),
        ("(field event nothing 'other)", "other"),
        ("(field event none 'other)", "null"),
        ("(get event (concat 'ty 'pe))", "error"),
        ("(has event type)", "true"),
        ("(has event none)", "true"),
        ("(has event user.age)", "false"),
        ("(fields (field event user))", '("name" "tags")'),
        ("(field event user)", '(event (name "Joe") (tags ("a" "b")))'),
        ("(env call.id)", "7"),
        ("(env nothing)", "null"),
        ("(field (event (a 1) (|b c| (list 1 (event (d 2))))) |b c|)", "(1 (event (d 2)))"),
        ("(= (event (a (list 1))) (event (a (list 1))))", "true"),
        ("(matches event (and (= user.name 'Joe) (> size 7)))", "true"),
        ("(let ((who 'Fred)) (matches event (= user.name ?who)))", "false"),
        ("(let ((n 2)) (matches event (> n ?n)))", "true"),
        ("(let ((n 2)) (matches event (= (+ n ?n) 5)))", "true"),
        ("(matches (event (a 1)) (exists a))", "true"),
    ],
)
def test_a_form_has_its_value(form: str, expected: str) -> None:
    assert value(form) == expected


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        ("count", 0),
        ("(+ count 1)", 1),
        ("(set! count (+ count 1))", 2),
        ("(if (> count 3) (print count) count)", 2),
        ("(and (= 1 2) (+ 1 1))", 2),
        ("(do 1 2 (do 3))", 2),
        ("(do (while false))", 2),
    ],
)
def test_each_list_that_is_evaluated_costs_a_step(body: str, steps: int) -> None:
    outcome = Agent(parse(f"(agent (state (count 0)) (on true {body}))")).wake(EVENT, [], 0.0)

    assert outcome.steps == steps


@pytest.mark.parametrize(
    ("body", "lists", "eighths"),
    [
        ("(if (< count 3) (+ count 1) (+ 1 (+ 1 1)))", 3, 8),
        ("(let ((x (+ 1 1))) (+ x x))", 3, 8),
        ("(let ((i 0)) (while (< i 10) (set! i (+ i 1))))", 1 + 11 * 2 + 10 * 2, 72),
        ("((lambda (x) (+ x 1)) 1)", 3, 8),
        ("(map (lambda (x) (+ x 1)) (list 1 2 3))", 3 + 4 + 3 + 1 - 1, 24),
        (f"(and {'1 ' * 800})", 1, 3 * 800),
    ],
)
def test_each_instruction_name_and_constant_costs_an_eighth(body: str, lists: int, eighths: int) -> None:
    outcome = Agent(parse(f"(agent (state (count 0)) (on true {body}))")).wake(EVENT, [], 0.0)

    assert outcome.steps == lists + eighths // 8


def test_state_is_kept_from_wake_to_wake_and_each_agent_has_its_own() -> None:
    program = parse(
        "(agent (state (count 0)) (on (= type 'error) (set! count (+ count 1))"
        ' (if (> count 1) (publish (event (type "alarm") (count count))))))'
    )
    one, other = Agent(program), Agent(program)

    published = [[event.fields for event in one.wake(EVENT, [], 0.0).published] for _ in range(3)]

    assert published == [[], [{"type": "alarm", "count": 2}], [{"type": "alarm", "count": 3}]]
    assert other.wake(EVENT, [], 0.0).published == ()
    assert one.wake(Event({"type": "warning"}), [], 0.0).steps == 0


def test_functions_of_the_agent_call_each_other() -> None:
    text = """
        (agent (define (even? n) (if (= n 0) true (odd? (- n 1))))
               (define (odd? n) (if (= n 0) false (even? (- n 1))))
               (define limit (* 2 5))
               (on true (print (even? limit) (odd? limit))))"""

    assert Agent(parse(text)).wake(EVENT, [], 0.0).printed == ("true false",)


def test_handlers_run_in_their_order() -> None:
    one = Agent(parse("(agent (on true (print 'first)) (on (= type 'x) (print 'no)) (on (exists type) (print 'second)))"))

    assert one.wake(EVENT, [], 0.0).printed == ("first", "second")


def test_closures_keep_the_variables_of_each_round() -> None:
    body = """(let ((fs (list)) (i 0))
                (while (< i 3) (let ((j i)) (set! fs (cons (lambda () (set! j (+ j 10)) j) fs))) (set! i (+ i 1)))
                (print (map (lambda (f) (f) (f)) fs)))"""

    assert printed(body) == "(22 21 20)"


def test_recent_events_are_searched() -> None:
    recent = [Event({"type": "error", "user": user, "n": n}) for n, user in enumerate(["Joe", "Fred", "Joe", "Joe"])]
    text = """(agent (on (= type 'error)
                (let ((user (field event user)))
                  (print (map (lambda (e) (field e n)) (recent (and (= type 'error) (= user ?user)) 2))
                         (length (recent (= user ?user)))))))"""

    assert Agent(parse(text)).wake(recent[0], recent, 0.0).printed == ("(2 3) 3",)


def test_an_agent_subscribes_and_cancels() -> None:
    text = """(agent (state (ticket null))
                (on (= type 'begin) (let ((user (field event user)))
                  (set! ticket (subscribe (= user ?user) (lambda (e) (print (field e n) user))))))
                (on (= type 'end) (cancel ticket)))"""
    one = Agent(parse(text))

    begun = one.wake(Event({"type": "begin", "user": "Joe", "n": 0}), [], 0.0)
    heard = one.wake(Event({"user": "Joe", "n": 1}), [], 0.0)
    not_heard = one.wake(Event({"user": "Fred", "n": 2}), [], 0.0)
    ended = one.wake(Event({"type": "end"}), [], 0.0)
    after = one.wake(Event({"user": "Joe", "n": 3}), [], 0.0)

    assert [ticket for ticket, _ in begun.subscribed] == [1]
    assert heard.printed == ("1 Joe",)
    assert not_heard.printed == ()
    assert ended.cancelled == (1,)
    assert after.printed == ()


def test_an_agent_does_something_later() -> None:
    text = (
        "(agent (state (ticket null)) (on (= type 'a) (set! ticket (after 5 (print (field event n) (now)))))"
        " (on (= type 'b) (cancel ticket)))"
    )
    one = Agent(parse(text))

    first = one.wake(Event({"type": "a", "n": 1}), [], 100.0)
    due = one.timer_due(1, [], 105.5)
    one.wake(Event({"type": "a", "n": 2}), [], 110.0)
    one.wake(Event({"type": "b"}), [], 111.0)

    assert first.timers == ((1, 105.0),)
    assert due.printed == ("1 105.5",)
    assert one.timer_due(1, [], 106.0).printed == ()
    assert one.timer_due(2, [], 115.0).printed == ()


def test_stop_ends_the_agent_and_what_it_did_before_is_done() -> None:
    one = Agent(parse("(agent (on true (publish (event (type 'last))) (stop) (print 'never)))"))

    outcome = one.wake(EVENT, [], 0.0)

    assert [event.fields for event in outcome.published] == [{"type": "last"}]
    assert outcome.printed == ()
    assert one.state.value == "finished"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", (1, 1), "an empty subscription"),
        ("(= type 1)", (1, 1), r"no agent; expected \(agent"),
        ("(agent)", (1, 1), "an agent that nothing wakes"),
        ("(agent (onn true 1))", (1, 8), r"\(onn \.\.\.\) in an agent; did you mean on"),
        ("(agent (on true))", (1, 8), "without forms"),
        ("(agent (on (= type) 1))", (1, 12), "expected 2 or more"),
        ("(agent (on (= x ?y) 1))", (1, 17), "variable"),
        ("(agent (on true (publsh 1)))", (1, 18), "unknown operator 'publsh'; did you mean publish"),
        ("(agent (state (count 0))\n (on true (set! cuont 1)))", (2, 17), "unknown variable 'cuont'; did you mean count"),
        ("(agent (on true (print typ)))", (1, 24), r"a field in \(field event typ\)"),
        ("(agent (on true (print)))", (1, 17), "0 operands; expected 1 or more"),
        ("(agent (on true (if 1)))", (1, 17), "1 operands; expected 2 to 3"),
        ("(agent (on true (mod 1 2 3)))", (1, 17), "3 operands; expected 2"),
        ("(agent (define (f x) x) (on true (f 1 2)))", (1, 34), "2 operands; expected 1"),
        ("(agent (define (f x) x) (on true (set! f 2)))", (1, 40), "never changes"),
        ("(agent (on true (let ((first 1)) 1)))", (1, 24), "'first' is an operator"),
        ("(agent (on true (let ((x 1) (x 2)) 1)))", (1, 30), "declared twice"),
        ("(agent (on true (lambda x x)))", (1, 17), "no function"),
        ("(agent (on true (if true (define x 1) 1)))", (1, 26), "at the top of a body"),
        ("(agent (on true (event (type))))", (1, 24), "no field"),
        ("(agent (on true (event (a 1) (a 2))))", (1, 30), "one twice"),
        ("(agent (on true (field event 1)))", (1, 30), "no name of a field"),
        ("(agent (on true ()))", (1, 17), "an empty list"),
        ("(agent (on true (1 2)))", (1, 17), "1 is no function"),
        ("(agent (on true ?x))", (1, 17), "outside of a condition; expected x"),
        ("(agent (on true (recent (contians x 'y))))", (1, 25), "did you mean contains"),
        ("(agent (on true (recent (= x ?nobody))))", (1, 30), "unknown variable 'nobody'"),
        ("(agent (state count) (on true 1))", (1, 15), r"expected \(name value\)"),
        ("(agent (state (true 1)) (on true 1))", (1, 16), "true is no name"),
        ("(agent (on true (cond)))", (1, 17), "without branches"),
        ("(agent (on true (cond (else 1) (true 2))))", (1, 32), "as the last"),
        ("(agent (on true (__import__ 'os)))", (1, 18), "unknown operator '__import__'"),
        ("(agent (on true (print event.__class__)))", (1, 24), "unknown variable"),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_place(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(BadText, match=message) as caught:
        parse(text)

    assert (caught.value.line, caught.value.column) == place
