"""What agents are charged for: each of these programs does much by few lists, and is stopped or charged in proportion."""

from __future__ import annotations

import pytest

from gsg.channels.agent.agent import Agent, Outcome, State
from gsg.channels.agent.conditions import MAX_NEW_TESTS, ReadyConditions
from gsg.channels.agent.costs import MAX_COMPILE_STEPS, compile_steps_of
from gsg.channels.agent.forms import MAX_OPERANDS
from gsg.channels.agent.limits import MAX_CASCADE_STEPS, MAX_CHAIN, MAX_CONDITIONS, MAX_OWN_WAKES, MAX_TICKETS, Limits, Reason
from gsg.channels.agent.program import parse
from gsg.channels.environment import CHAIN
from gsg.channels.events import Event
from gsg.channels.languages.predicate import parse as parse_condition
from gsg.channels.languages.relations import Relations
from gsg.errors import BadText

SEVENS = "(a (list 1 1 1 1 1 1 1)) (b (list a a a a a a a)) (c (list b b b b b b b)) (d (list c c c c c c c))"
NUMERAL = "0." + "1" * 390
LATE = "a" * 1248 + "ba"


def woken(body: str, *, state: str = "", limits: Limits | None = None, **fields: object) -> Outcome:
    """What an agent does at one event."""
    program = parse(f"(agent (state (kept 0) {state}) (on (exists type) {body}))")
    return Agent(program, limits).wake(Event({"type": "go", **fields}), [], 0.0)  # type: ignore[arg-type]  # values


def reason(outcome: Outcome) -> Reason | None:
    return None if outcome.stopped is None else outcome.stopped.reason


def test_names_and_constants_are_charged() -> None:
    outcome = woken(f"(while true (and {'1 ' * 5_000}))", limits=Limits(steps=1_000))

    assert reason(outcome) is Reason.STEPS
    assert woken(f"(and {'1 ' * 4_000})").steps >= 1_000


@pytest.mark.parametrize(
    "text",
    [
        f"(agent (define (f x) 1) (on true (let ((g f)) (g {'1 ' * (MAX_OPERANDS + 1)}))))",
        f"(agent (define (f {' '.join(f'a{n}' for n in range(MAX_OPERANDS + 1))}) 1) (on true 1))",
    ],
    ids=["operands", "parameters"],
)
def test_calls_have_as_many_operands_as_operators_at_most(text: str) -> None:
    with pytest.raises(BadText, match="at most 99"):
        parse(text)


def test_the_variables_of_calls_within_each_other_are_memory() -> None:
    names = " ".join(f"a{n}" for n in range(90))
    body = f"(define (f n {names}) (+ 1 (f (+ n 1) {names}))) (f 0 {'1 ' * 90})"

    assert reason(woken(body, limits=Limits(steps=10**6, memory_bytes=100_000))) is Reason.MEMORY


def test_the_variables_of_lets_are_charged() -> None:
    bindings = " ".join(f"(a{n} 1)" for n in range(800))

    assert woken(f"(let ({bindings}) 1)").steps >= 300


def test_lists_are_compared_for_as_many_steps_as_they_are_large() -> None:
    small, large = (woken(f"(let* ({SEVENS}) (= {one}))").steps for one in ("(list a a) (list a a)", "(list d 1) (list d 1)"))

    assert large >= small + 500


def test_a_list_that_is_compared_with_itself_is_not_looked_into() -> None:
    assert woken(f"(let* ({SEVENS}) (while (< kept 100) (set! kept (+ kept 1)) (= d d)) (print (= d d)))").printed == ("true",)


def test_an_event_too_large_is_not_made() -> None:
    fields = " ".join(f"(f{n} d)" for n in range(300))

    stopped = woken(f"(let* ({SEVENS}) (event {fields}))").stopped

    assert stopped is not None
    assert stopped.reason is Reason.MEMORY
    assert int(stopped.problem.split()[0].replace(",", "")) < 2 * 1024 * 1024


@pytest.mark.parametrize("read", ["(field event t)", "(get event 't)", "(env t)", "event"])
def test_what_is_kept_of_events_is_memory(read: str) -> None:
    kept = " ".join(f"(v{n} 0)" for n in range(12))
    branches = " ".join(f"((= kept {n + 1}) (set! v{n} {read}))" for n in range(12))
    one = Agent(parse(f"(agent (state (kept 0) {kept}) (on (exists type) (set! kept (+ kept 1)) (cond {branches})))"))
    reasons = []
    for number in range(12):
        large = {"t": f"{number}" * 200_000}
        reasons.append(reason(one.wake(Event({"type": "go", **large}, environment=large), [], float(number))))

    assert reasons[:4] == [None] * 4
    assert Reason.MEMORY in reasons


def test_events_that_its_own_subscriptions_keep_are_memory() -> None:
    one = Agent(
        parse("(agent (state (kept (list))) (on (= type 'go) (subscribe (exists t) (lambda (e) (set! kept (lambda () e))))))")
    )
    one.wake(Event({"type": "go"}), [], 0.0)

    outcomes = [one.wake(Event({"t": "x" * size}), [], 0.0) for size in (500_000, 500_000, 2_000_000)]

    assert [reason(outcome) for outcome in outcomes] == [None, None, Reason.MEMORY]


def test_what_is_only_looked_at_is_not_memory() -> None:
    one = Agent(parse("(agent (state (n 0)) (on (exists type) (set! n (length (field event t))) (has event t)))"))

    outcomes = [one.wake(Event({"type": "go", "t": "x" * 900_000}), [], float(number)) for number in range(20)]

    assert [reason(outcome) for outcome in outcomes] == [None] * 20


def test_a_list_of_an_event_is_as_long_as_lists_may_be() -> None:
    assert reason(woken("(field event xs)", xs=list(range(10_001)))) is Reason.ITEMS


def test_small_lists_within_a_list_are_charged() -> None:
    assert woken("(field event xs)", xs=[[] for _ in range(1_000)]).steps >= 1_000


@pytest.mark.parametrize(
    "condition",
    [
        "(any * (= it 'zzz))",
        "(any xs (any it (= it 'q)))",
        f'(contains t "{LATE}")',
        "(= xs zs)",
        "(> (+ numeral numeral numeral numeral numeral numeral) 1)",
    ],
)
def test_conditions_are_charged_by_what_they_look_at(condition: str) -> None:
    nested: list[object] = [[1] * 300 for _ in range(10)]
    fields = {"xs": nested, "ys": list(range(300)), "zs": nested, "t": "a" * 2_499, "numeral": NUMERAL}
    fields |= {f"f{n}": n for n in range(500)}

    event = Event({"type": "go", **fields})  # type: ignore[dict-item]  # values
    asked = woken(f"(matches event {condition})", **fields)
    handler = Agent(parse(f"(agent (on (or {condition} (= type 'go)) 1) (on (= a 1) 1))")).wake(event, [], 0.0)

    assert asked.steps >= 20
    assert handler.steps >= 20


def test_tests_that_wake_nothing_are_charged() -> None:
    handlers = " ".join(f'(on (or (contains t "{LATE}") (= q {n})) 1)' for n in range(40))

    outcome = Agent(parse(f"(agent {handlers})")).wake(Event({"t": "a" * 2_499}), [], 0.0)

    assert reason(outcome) is Reason.STEPS
    assert outcome.stopped is not None
    assert outcome.stopped.line == 1


def test_a_condition_that_is_subscribed_to_is_charged_each_time() -> None:
    condition = f"(or {' '.join(f'(= f{n} {n})' for n in range(300))})"

    assert woken(f"(cancel (subscribe {condition} (lambda (e) 1)))").steps >= 1_500


def test_all_conditions_that_are_subscribed_to_are_bounded() -> None:
    condition = f"(or {' '.join(f'(= f{n} {n})' for n in range(500))})"
    one = Agent(parse(f"(agent (on (= type 'go) (subscribe {condition} (lambda (e) 1))))"))

    reasons = [reason(one.wake(Event({"type": "go"}), [], 0.0)) for _ in range(5)]

    assert reasons == [None] * (MAX_CONDITIONS // 500) + [Reason.CONDITIONS]


@pytest.mark.parametrize(
    ("act", "steps"),
    [
        (f"(max {'s ' * 99})", 99 * 7),
        (f"(+ {'s ' * 99})", 99 * 7),
        (f"(< 0 {'s ' * 98})", 7),
        ("(abs s)", 7),
        ("(number s)", 7),
    ],
)
def test_texts_that_are_read_as_numbers_are_charged(act: str, steps: int) -> None:
    assert woken(act, state=f'(s "{NUMERAL}")').steps >= steps


def test_tests_that_are_remembered_are_bounded_for_a_whole_program() -> None:
    ready = ReadyConditions(Relations())
    condition = parse_condition("(= a 1)")

    for number in range(100):
        ready.insert(number, condition)

    assert len(ready._ready) <= MAX_NEW_TESTS


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [("a", 0, 1), ("[a-z]{100}", 100, 200), (r"\pL", 300, 301), (r"(\pL|x){12}", 3_600, MAX_COMPILE_STEPS)],
)
def test_patterns_are_charged_by_their_size(pattern: str, least: int, most: int) -> None:
    assert least <= compile_steps_of(pattern) <= most


def test_a_ticket_that_is_cancelled_is_free_within_the_wake() -> None:
    one = Agent(
        parse(
            f"(agent (state (t 0) (i 0)) (on (= type 'fill) (while (< i {MAX_TICKETS}) (set! i (+ i 1)) (set! t (after 9 1))))"
            " (on (= type 'swap) (cancel t) (cancel t) (cancel 9999) (set! t (after 9 2)))"
            " (on (= type 'both) (cancel t) (cancel (after 9 3)) (set! t (after 9 4)) (after 9 5)))"
        )
    )

    reasons = [reason(one.wake(Event({"type": kind}), [], 0.0)) for kind in ("fill", "swap", "swap", "both")]

    assert reasons == [None, None, None, Reason.TICKETS]


def test_what_is_subscribed_and_cancelled_in_one_wake_is_not_asked_for() -> None:
    outcome = woken("(cancel (subscribe (= a 1) (lambda (e) 1))) (cancel (after 1 2))")

    assert (outcome.subscribed, outcome.timers, outcome.cancelled) == ((), (), ())


@pytest.mark.parametrize("count", ['"1e999"', '(- (number "1e999"))', "1.5"])
def test_a_count_of_recent_events_is_a_whole_number(count: str) -> None:
    outcome = woken(f"(recent true {count})")

    assert outcome.stopped is not None
    assert "whole number" in outcome.stopped.problem


def test_an_agent_that_used_up_its_cascade_is_stopped() -> None:
    one = Agent(parse("(agent (on (= type 'go) (while true)))"))

    stopped = one.wake(Event({"type": "go"}), [], 0.0, spent_steps=MAX_CASCADE_STEPS - 100).stopped

    assert stopped is not None
    assert (stopped.reason, stopped.limit, stopped.steps <= 100) == (Reason.CASCADE, MAX_CASCADE_STEPS, True)
    assert "by one event" in stopped.problem


@pytest.mark.parametrize("act", ["(print 'x)", "(publish (event (type 'x)))"])
@pytest.mark.parametrize(("source", "is_stopped"), [("here", True), ("elsewhere", False)])
def test_only_the_own_channel_is_believed_about_chains(act: str, source: str, is_stopped: bool) -> None:
    one = Agent(parse(f"(agent (on (exists type) {act}))"), name="here/1", source="here")
    event = Event({"type": "x"}, source, 1, environment={CHAIN: [f"x{n}" for n in range(MAX_CHAIN)]})

    outcome = one.wake(event, [], 0.0)

    assert (reason(outcome) is Reason.CHAIN, outcome.dropped) == (is_stopped, 0 if is_stopped else 1)
    assert (outcome.printed, outcome.published) == ((), ())


def test_another_channel_cannot_have_an_agent_stopped_for_waking_itself() -> None:
    one = Agent(parse("(agent (on (exists type) (print 'x)))"), name="here/1", source="here")
    event = Event({"type": "x"}, "elsewhere", 1, environment={CHAIN: ["here/1"]})

    outcomes = [one.wake(event, [], 0.0) for _ in range(MAX_OWN_WAKES + 5)]

    assert one.state is State.WAITING
    assert sum(outcome.dropped for outcome in outcomes) == 5


def test_a_timer_set_at_another_channels_event_is_the_agents_own() -> None:
    one = Agent(parse("(agent (define (again) (after 0 (again))) (on (exists type) (again)))"), name="here/1", source="here")
    outcome = one.wake(Event({"type": "x"}, "elsewhere", 1), [], 0.0)
    for _ in range(MAX_OWN_WAKES + 1):
        [(ticket, due_s)] = outcome.timers
        outcome = one.timer_due(ticket, [], due_s)
        if outcome.stopped is not None:
            break

    assert reason(outcome) is Reason.OWN_WAKES


def test_the_outcome_carries_what_the_waking_event_carries() -> None:
    one = Agent(parse("(agent (on (exists type) (print 'x)))"), name="one")

    outcome = one.wake(Event({"type": "x"}, environment={"call": 1, CHAIN: ["before"]}, readers=frozenset(["Fred"])), [], 0.0)

    assert (outcome.environment, outcome.readers) == ({"call": 1, CHAIN: ["before", "one"]}, frozenset(["Fred"]))
