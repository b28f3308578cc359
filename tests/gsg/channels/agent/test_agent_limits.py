"""Agents that ask for too much: each is stopped by the limit that its text runs into, and told so with the place."""

from __future__ import annotations

import pytest

from gsg.channels.agent.agent import Agent, Outcome, State
from gsg.channels.agent.limits import (
    MAX_CALLS,
    MAX_CHAIN,
    MAX_LINES,
    MAX_OWN_WAKES,
    Limits,
    Reason,
)
from gsg.channels.agent.program import parse
from gsg.channels.events import Event
from gsg.errors import BadText

ERROR = Event({"type": "error"})


def agent(body: str, state: str = "", limits: Limits | None = None) -> Agent:
    return Agent(parse(f"(agent (state (count 0) (kept (list)) {state}) (on (exists type) {body}))"), limits)


def woken_until_stopped(one: Agent, wakes: int = 1_000) -> Outcome:
    for number in range(wakes):
        outcome = one.wake(ERROR, [], float(number))
        if outcome.stopped is not None:
            return outcome
    raise AssertionError("it was not stopped")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("(while true)", Reason.STEPS),
        ("(while true (set! count (+ count 1)))", Reason.STEPS),
        ("(define (f n) (f n)) (f 1)", Reason.STEPS),
        ("(define (f n) (+ 1 (f n))) (f 1)", Reason.CALLS),
        ("(define (f n) (map f (list n))) (f 1)", Reason.CALLS),
        ("(while true (set! kept (cons (list 1 2 3) kept)))", Reason.STEPS),
        ("(set! kept (append kept kept (range 1000)))", Reason.ITEMS),
        ("(set! kept (cons (concat (join (range 1000)) count) kept)) (set! count (+ count 1))", Reason.MEMORY),
        ("(set! kept (list kept))", Reason.NESTING),
        ("(let ((old kept) (big (range 1000))) (set! kept (lambda () (length big) (old))))", Reason.MEMORY),
        ("(while true (print (join (range 100))))", Reason.OUTPUT),
        ("(while true (print 'x))", Reason.OUTPUT),
        ("(while true (publish (event (type 'x))))", Reason.PUBLISHED),
        ("(expt 9 9999999)", Reason.NUMBER),
        ("(expt (expt 9 99) (expt 9 99))", Reason.NUMBER),
        ("(let ((n 9)) (while true (set! n (* n n))))", Reason.NUMBER),
        ("(let ((n 9)) (while true (set! n (+ n n n n))))", Reason.NUMBER),
        ("(* 1.5 (expt 2 1023) (expt 2 1024))", Reason.NUMBER),
        ("(let ((s 'ab)) (while true (set! s (concat s s))))", Reason.TEXT),
        ("(replace (join (range 5000)) '1 (join (range 500)))", Reason.TEXT),
        ("(range 10001)", Reason.ITEMS),
        ("(split (replace (join (range 3000)) '1 ',,,,,,,,) ',)", Reason.ITEMS),
        ("(while true (subscribe (exists x) (lambda (e) e)))", Reason.TICKETS),
        ("(while true (after 1 (print 'x)))", Reason.TICKETS),
        ('(matches (event (a (join (range 3000)))) (regex a "((0|1){10}){90}"))', Reason.STEPS),
        (
            "(let ((p (join (range 400) '*))) (while true (let ((q (concat p (random 99)))) (recent (wildcard a ?q)))))",
            Reason.STEPS,
        ),
        ("(+ 1 'one)", Reason.MISTAKE),
        ("(/ 1 0)", Reason.MISTAKE),
        ("(expt -8 0.5)", Reason.MISTAKE),
        ("(expt 0 -1)", Reason.MISTAKE),
        ("(floor (* 1e300 1e300))", Reason.MISTAKE),
        ("(count 1)", Reason.MISTAKE),
        ("(sort (list 1 'a))", Reason.MISTAKE),
        ("(publish (event (f (lambda () 1))))", Reason.MISTAKE),
        ("(stop)", Reason.ITSELF),
    ],
)
def test_an_agent_that_asks_for_too_much_is_stopped(body: str, reason: Reason) -> None:
    one = agent(body, limits=Limits(steps=20_000))

    stopped = woken_until_stopped(one).stopped

    assert stopped is not None
    assert stopped.reason is reason
    assert stopped.line == 1
    assert stopped.steps <= 20_000
    assert one.state is (State.FINISHED if reason is Reason.ITSELF else State.STOPPED)


def test_the_owner_reads_what_happened_and_where() -> None:
    stopped = agent("(let ((n (expt 9 9999999))) n)").wake(ERROR, [], 0.0).stopped

    assert stopped is not None
    assert stopped.limit == 1_024
    assert stopped.message == (
        "agent line 1, column 68: a number of about 29,999,997 bits; expected at most 1,024: use floats, such as 2.0 for 2\n"
        "    (agent (state (count 0) (kept (list)) ) (on (exists type) (let ((n (expt 9 9999999))) n)))\n"
        "                                                                       ^"
    )


def test_a_stopped_agent_publishes_nothing_of_its_last_wake_and_is_not_woken_again() -> None:
    one = agent("(print 'before) (publish (event (type 'x))) (after 1 (print 'later)) (while true)")

    outcome = one.wake(ERROR, [], 0.0)

    assert outcome.published == ()
    assert outcome.timers == ()
    assert outcome.printed == ("before",)
    assert one.wake(ERROR, [], 1.0).stopped is None
    assert one.stopped is outcome.stopped


def test_an_agent_that_hoards_within_its_limit_goes_on() -> None:
    one = agent("(set! kept (slice (cons (join (range 1000)) kept) 0 100))")

    outcomes = [one.wake(ERROR, [], float(number)) for number in range(1_000)]

    assert all(outcome.stopped is None for outcome in outcomes)


def test_tail_calls_take_no_memory() -> None:
    one = agent(
        "(define (f n) (cond ((= n 0) 'done) (else (let ((m (- n 1))) (f m))))) (print (f 50000))", limits=Limits(steps=10**7)
    )

    assert one.wake(ERROR, [], 0.0).printed == ("done",)


def test_an_agent_that_wakes_itself_is_stopped_by_the_chain() -> None:
    one = agent("(publish (event (type 'again)))")
    event, wakes = ERROR, 0
    outcome = one.wake(event, [], 0.0)
    while outcome.stopped is None:
        wakes += 1
        [event] = outcome.published
        outcome = one.wake(event, [], float(wakes))

    assert outcome.stopped.reason is Reason.CHAIN
    assert wakes == MAX_CHAIN


def test_agents_that_wake_each_other_are_stopped_by_the_chain() -> None:
    program = parse("(agent (on (exists type) (publish (event (type 'again)))))")
    pair = [Agent(program, name="one"), Agent(program, name="other")]
    event, wakes = ERROR, 0
    outcome = pair[0].wake(event, [], 0.0)
    while outcome.stopped is None:
        wakes += 1
        [event] = outcome.published
        outcome = pair[wakes % 2].wake(event, [], float(wakes))

    assert outcome.stopped.reason is Reason.CHAIN
    assert event.environment["agents"] == ["one", "other"] * (MAX_CHAIN // 2)


def test_an_agent_that_wakes_itself_too_often_is_stopped() -> None:
    one = agent("(define (again) (after 0 (again))) (again)")
    outcome = one.wake(ERROR, [], 0.0)
    wakes = 0
    while outcome.stopped is None:
        [(ticket, due_s)] = outcome.timers
        outcome = one.timer_due(ticket, [], due_s)
        wakes += 1

    assert outcome.stopped.reason is Reason.OWN_WAKES
    assert wakes == MAX_OWN_WAKES + 1


def test_an_agent_that_wakes_itself_now_and_then_goes_on() -> None:
    one = agent("(define (again) (after 0.02 (again))) (again)")
    outcome = one.wake(ERROR, [], 0.0)
    for _ in range(500):
        [(ticket, due_s)] = outcome.timers
        outcome = one.timer_due(ticket, [], due_s)

    assert outcome.stopped is None


def test_lines_are_bounded_whatever_their_length() -> None:
    outcome = agent('(while true (print ""))').wake(ERROR, [], 0.0)

    assert len(outcome.printed) == MAX_LINES


def test_calls_are_on_a_stack_of_their_own() -> None:
    one = agent(f"(define (f n) (if (= n 0) 0 (+ 1 (f (- n 1))))) (print (f {MAX_CALLS - 1}))", limits=Limits(steps=10_000))

    assert one.wake(ERROR, [], 0.0).printed == (str(MAX_CALLS - 1),)


@pytest.mark.parametrize(
    "text", ["(" * 100_000, "(agent (on true " + "(list " * 100_000, "(agent " + "(on true (print 1))" * 20_000]
)
def test_too_large_programs_are_refused(text: str) -> None:
    with pytest.raises(BadText, match=r"expected (fewer|at most)"):
        parse(text)
