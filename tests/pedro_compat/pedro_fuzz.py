"""Random lines for a door: by the grammar, by the grammar with accidents, and plain bytes; and a round that sends them.

A round is made of a number alone, so one that failed is repeated by its number.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from pedro_wire import WireClient

from pedro_compat.door.door import PedroDoor

ATOMS = [
    "a",
    "b",
    "kitchen",
    "f",
    "temp",
    "[]",
    "'B 1'",
    "'a\\x41'",
    "{}",
    "!",
    ";",
    "=",
    "+",
    "is",
    "mod",
    "'it\\'s'",
    "''",
    "==>",
]
NUMBERS = ["0", "1", "2", "-1", "25", "1.0", "2.5e3", "1e5", "9223372036854775807", "-9223372036854775808", "1e400", "0.1"]
STRINGS = ['"hello"', '""', '"say hello"', '"a\\"b"', '"é"', '"\\n"']
VARIABLES = ["X", "Y", "_", "Xs", "_x"]
OPERATORS = [
    "=",
    "is",
    "<",
    "=<",
    ">",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "//",
    "mod",
    "rem",
    "**",
    "/\\",
    "\\/",
    "<<",
    ">>",
    "@",
    ":",
    ",",
    ";",
    "->",
]
FUNCTIONS = ["abs", "round", "sqrt", "sin", "log", "floor", "-", "\\", "f", "g"]
COMMANDS = ["subscribe", "unsubscribe", "register", "deregister", "p2pmsg"]
ACCIDENTS = [
    b"(",
    b")",
    b"[",
    b"]",
    b"'",
    b'"',
    b",",
    b"|",
    b"\\",
    b"\x00",
    b"\r",
    b"\xff",
    b"\xc3",
    b"%",
    b".",
    b"\t",
    b" ",
    b"X",
    b"9",
]


def term(rng: random.Random, depth: int) -> str:
    """A term, mostly a valid one."""
    kind = rng.random()
    if depth <= 0 or kind < 0.5:
        return rng.choice(rng.choice([ATOMS, NUMBERS, NUMBERS, STRINGS, VARIABLES]))
    if kind < 0.65:
        items = ",".join(term(rng, depth - 1) for _ in range(rng.randrange(4)))
        tail = f"|{term(rng, 0)}" if items and rng.random() < 0.2 else ""
        return f"[{items}{tail}]"
    if kind < 0.85:
        arguments = ",".join(term(rng, depth - 1) for _ in range(rng.randint(1, 3)))
        return f"{rng.choice(FUNCTIONS + ATOMS)}({arguments})"
    return f"({term(rng, depth - 1)} {rng.choice(OPERATORS)} {term(rng, depth - 1)})"


def goal(rng: random.Random, depth: int) -> str:
    """A goal, mostly a valid one."""
    kind = rng.random()
    if depth > 0 and kind < 0.4:
        first, second = goal(rng, depth - 1), goal(rng, depth - 1)
        return rng.choice(
            [f"({first}, {second})", f"({first}; {second})", f"({first} -> {second} ; true)", f"not({first})", f"once({first})"]
        )
    left, right = term(rng, 1), term(rng, 2)
    return rng.choice(
        [
            "true",
            "fail",
            f"{left} = {right}",
            f"X is {right}",
            f"{left} {rng.choice(OPERATORS[2:6])} {right}",
            f"member({left}, {right})",
            f"member(X, [{left},{right},Y])",
            f"split({right}, Xs, Y)",
            f"splitstring(X, {left}, Y)",
            f"{rng.choice(['number', 'atom', 'string', 'list', 'nonvar', 'foo'])}({left})",
            right,
        ]
    )


def line(rng: random.Random) -> bytes:
    """One line, without its newline."""
    kind = rng.random()
    if kind < 0.1:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(60))).replace(b"\n", b"")
    if kind < 0.45:
        said = f"{rng.choice(['f', 'temp', 'g', 'bid'])}({term(rng, 2)},{term(rng, 2)})"
    elif kind < 0.6:
        said = term(rng, 3)
    elif kind < 0.75:
        head = rng.choice([f"f({term(rng, 1)},X)", "temp(X,Y)", "g(X,X)", "_", "a", term(rng, 2)])
        options = rng.choice([""] * 20 + [", [stamp]", ", [once]", ", [once, recent]"])
        said = f"subscribe({head}, ({goal(rng, 2)}), {rng.choice(['0', '7', '-3', 'X', '1.0', '9' * 30])}{options})"
    elif kind < 0.9:
        said = rng.choice(
            [
                f"unsubscribe({rng.randrange(30)})",
                f"register({rng.choice(['fred', 'bill', 'admin', 'X', '1'])})",
                f"deregister({rng.choice(['fred', 'bill', 'admin', 'X'])})",
                f"p2pmsg({rng.choice(['fred@localhost', '_', '_@localhost', 'bill@_', '1'])}, fred@localhost, {term(rng, 1)})",
            ]
        )
    else:
        said = f"{rng.choice(COMMANDS)}({','.join(term(rng, 2) for _ in range(rng.randint(1, 4)))})"
    encoded = bytearray(said.encode())
    if rng.random() < 0.2:
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(encoded) + 1)
            encoded[place : place + rng.randrange(3)] = rng.choice(ACCIDENTS)
    if rng.random() < 0.005:
        encoded *= 2_000 // len(encoded) + 1 if encoded else 1
    return bytes(encoded)


@dataclass
class Outcome:
    """What came of a round."""

    lines: int = 0
    accepted: int = 0
    delivered: int = 0
    witnessed: int = 0
    """Lines of another client that were answered and delivered meanwhile, one after each part."""
    strange: list[str] = field(default_factory=list)
    """What should not be."""


DELIVERY = re.compile(r"-?\d+ ((?:arrived\(\d+\.\d+,\d+,\((.*)\)\))|.*)", re.DOTALL)
LINES_OF_A_CLIENT = 1_000
PART = 250
"""Lines that are sent at once; then another client has its say."""


async def round_of(seed: int, count: int, door: PedroDoor) -> Outcome:
    """So many random lines through a door, pipelined, from clients that come and go."""
    rng = random.Random(seed)
    outcome = Outcome()
    known: set[str] = set()
    witness = await WireClient.connect(door.port)
    await witness.send("subscribe(witness(_), true, 1)")
    client = await WireClient.connect(door.port)
    for part in range(count // PART):
        if part and part * PART % LINES_OF_A_CLIENT == 0:
            client.close()
            client = await WireClient.connect(door.port)
        said = [line(rng) for _ in range(PART)]
        answers = await client.send_raw(b"".join(one + b"\n" for one in said), PART)
        outcome.lines += PART
        outcome.accepted += sum(map(bool, answers))
        known.update(one.decode(errors="replace") for one in said)
        for delivery in client.delivered():
            outcome.delivered += 1
            heard = DELIVERY.fullmatch(delivery)
            if heard is None or (heard[2] or heard[1]) not in known:
                outcome.strange.append(f"seed {seed}, part {part}: delivered {delivery!r}")
        known.add(f"witness({part})")
        answer = await witness.send(f"witness({part})")
        heard_back = witness.delivered()
        if (answer, heard_back) == (1, [f"1 witness({part})"]):
            outcome.witnessed += 1
        else:
            outcome.strange.append(f"seed {seed}, part {part}: the witness was answered {answer} and told {heard_back}")
    client.close()
    witness.close()
    return outcome
