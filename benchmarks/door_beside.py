"""How long others wait at the HTTP door while one client does its worst: the round trips of a client beside each of a list of acts.

    .venv/bin/python -m benchmarks.door_beside [--only WORD]

Every act is a process of its own, and so is the peer; the round trips come from this one: an event published through the door, and
its row. Wanted: never more than WANTED_MS, and beside strangers who never become clients STRANGERS_MS. What is printed is the
median, the 99th per cent and the worst, and how the act ended. On a virtual machine whose host is busy the worst is the host's:
what it took of the cores' time meanwhile stands beside.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable
from statistics import median, quantiles
from typing import TypeAlias

import msgspec
from websockets.asyncio.client import ClientConnection, connect

import gsg
from benchmarks.door_strangers import STRANGERS
from benchmarks.machine import Stolen, machine
from gsg.cli.processes import peers

WANTED_MS = 200
STRANGERS_MS = 100
AFTER_S = 1.0
"""For so long after an act others are looked at as well."""
ACT_S = 60.0
"""How long an act may take; then it is ended."""
MESSAGE_BYTES = 16 * 1024 * 1024
SMALL_FACTS = 900_000
"""As many of the form (n, k, n) as one message holds."""
QUERY_CHARACTERS = 64 * 1024

Socket: TypeAlias = ClientConnection
Act: TypeAlias = Callable[[Socket, gsg.AsyncClient], Awaitable[str]]


async def nothing(_: Socket, __: gsg.AsyncClient) -> str:
    """The floor."""
    await asyncio.sleep(3)
    return ""


async def _say(socket: Socket, *message: object, json: bool = False) -> str:
    """One request by hand; the beginning of its answer."""
    await socket.send(msgspec.json.encode(message).decode() if json else msgspec.msgpack.encode(message))
    said = await socket.recv()
    return repr(msgspec.json.decode(said) if isinstance(said, str) else msgspec.msgpack.decode(said))[:60]


def _facts(count: int = SMALL_FACTS) -> list[object]:
    return [[n, [1, "k"], n] for n in range(count)]


async def facts(socket: Socket, _: gsg.AsyncClient) -> str:
    """One message of facts, and one that takes them back."""
    return await _say(socket, 1, 1, _facts()) + await _say(socket, 2, 2, _facts())


async def facts_as_json(socket: Socket, _: gsg.AsyncClient) -> str:
    """The same in text."""
    return await _say(socket, 1, 1, _facts(SMALL_FACTS * 2 // 3), json=True)


async def events(socket: Socket, client: gsg.AsyncClient) -> str:
    """One message of events, each of which somebody hears."""
    async with await client.subscribe("(?n, k, ?m)"):
        return await _say(socket, 3, 1, _facts())


async def one_byte_tuples(socket: Socket, _: gsg.AsyncClient) -> str:
    """As many tuples as a message has room for."""
    return await _say(socket, 1, 1, [[1]] * (MESSAGE_BYTES // 2 - 100))


async def one_byte_tuples_as_json(socket: Socket, _: gsg.AsyncClient) -> str:
    """The same in text."""
    return await _say(socket, 1, 1, [[1]] * (MESSAGE_BYTES // 4 - 100), json=True)


async def large_facts(_: Socket, client: gsg.AsyncClient) -> str:
    """Facts that are as long as may be."""
    return str(await client.insert([(n, gsg.Symbol("large"), "x" * 1_000_000) for n in range(60)]))


async def keys_asked(socket: Socket, _: gsg.AsyncClient) -> str:
    """A message of very many keys."""
    return await _say(socket, 23, 1, [[3, 0, n] for n in range(1_500_000)])


async def deep_message(socket: Socket, _: gsg.AsyncClient) -> str:
    """Brackets that nobody closes."""
    with contextlib.suppress(Exception):
        answer = await _say(socket, 1, 1, b"")
        await socket.send(b"\x91" * (MESSAGE_BYTES - 10))
        return answer
    return "closed"


def _long_query(language: str) -> str:
    terms = " && ".join(f"?y > {n}" for n in range(20_000))
    before = "SELECT * { ?x <http://e/p> ?y FILTER(" if language == "sparql" else "(?x, p, ?y) FILTER ("
    cut = terms[: QUERY_CHARACTERS - len(before) - 10]
    return before + cut[: cut.rindex(" && ")] + (") }" if language == "sparql" else ")")


async def long_queries(_: Socket, client: gsg.AsyncClient) -> str:
    """Queries that take long to be read."""
    refused = 0
    texts = [(_long_query(language), language) for language in ("sparql", "gsg")]
    texts.append(("SELECT * { VALUES ?x {" + " ".join(map(str, range(11_000))) + "} ?x <http://e/p> ?y }", "sparql"))
    texts.append(("SELECT * { " + " UNION ".join(f"{{ ?x <http://e/{n}> ?y }}" for n in range(1_900)) + " }", "sparql"))
    for text, language in texts * 2:
        try:
            await (await client.subscribe(text, language)).close()
        except gsg.GsgError:
            refused += 1
        try:
            await client.explain(text, language)
        except gsg.GsgError:
            refused += 1
    return f"{refused} of 16 refused"


async def patterns(_: Socket, client: gsg.AsyncClient) -> str:
    """A pattern that backtracks."""
    await client.insert([("x", gsg.Symbol("t"), "a" * 40 + "!")])
    return await _asked(client, '(?x, ^t, ?y) FILTER(REGEX(?y, "^(a+)+$"))')


async def _asked(client: gsg.AsyncClient, text: str, language: str = "gsg") -> str:
    try:
        async with asyncio.timeout(20), await client.subscribe(text, language) as rows:
            return f"{sum(rows.rows().values())} rows"
    except (gsg.GsgError, TimeoutError) as error:
        return f"{type(error).__name__}: {error}"[:60]


async def products(_: Socket, client: gsg.AsyncClient) -> str:
    """Conditions that have nothing in common."""
    await client.insert([(f"s{n}", gsg.Symbol("p"), n) for n in range(1_000)])
    return await _asked(client, ", ".join(f"(?a{n}, p, ?x{n})" for n in range(3)))


async def products_filtered(_: Socket, client: gsg.AsyncClient) -> str:
    """Pairs of which none passes."""
    await client.insert([(f"s{n}", gsg.Symbol("q"), n) for n in range(5_000)])
    return await _asked(client, "(?a, q, ?x), (?b, q, ?y) FILTER ?x + ?y = -1")


async def closures(_: Socket, client: gsg.AsyncClient) -> str:
    """A path over a graph in which everything reaches everything."""
    edge = gsg.IRI("http://e/e")
    nodes = [gsg.IRI(f"http://e/{n}") for n in range(1_000)]
    await client.insert([(nodes[n], edge, nodes[(n * k + 1) % 1_000]) for n in range(1_000) for k in (1, 3, 7)])
    return await _asked(client, "SELECT * { ?x <http://e/e>+ ?y }", "sparql")


async def aggregates(_: Socket, client: gsg.AsyncClient) -> str:
    """Texts that are put together from eight thousand, and what is above an average."""
    label, query = gsg.IRI("http://e/label"), 'SELECT (GROUP_CONCAT(?l; SEPARATOR="|") AS ?all) { ?s <http://e/label> ?l }'
    await client.insert([(gsg.IRI(f"http://e/{n}"), label, f"label {n}") for n in range(8_000)])
    said = await _asked(client, query, "sparql")
    async with await client.subscribe(query, "sparql"):
        await client.retract([(gsg.IRI(f"http://e/{n}"), label, f"label {n}") for n in range(8_000)])
    return said


async def many_subscriptions(_: Socket, client: gsg.AsyncClient) -> str:
    """Three thousand with a test each, what none of them wants, and their end."""
    made = [await client.subscribe(f"(?x, hot, ?y) FILTER ?y > {1_000_000 + n}") for n in range(3_000)]
    for n in range(5):
        await client.notify([("x", gsg.Symbol("hot"), k) for k in range(n, n + 200)])
        await client.insert([("x", gsg.Symbol("hot"), k) for k in range(n * 1_000, n * 1_000 + 1_000)])
    return f"{len(made)} made"


async def stored(_: Socket, client: gsg.AsyncClient) -> str:
    """A query that three hundred thousand facts answer, again and again, and reasons for what is not there."""
    await client.insert([(n, gsg.Symbol("many"), n % 7) for n in range(300_000)])
    for _again in range(3):
        async with await client.subscribe("(?n, many, ?m)") as rows:
            await client.why_not(rows.number, {"n": -1})
    return "asked three times"


async def reads_nothing(socket: Socket, client: gsg.AsyncClient) -> str:
    """Somebody subscribes, and reads nothing of what comes."""
    await _say(socket, 4, 1, "(e, w, ?x)")
    socket.transport.pause_reading()
    for n in range(60):
        await client.notify([(gsg.Symbol("e"), gsg.Symbol("w"), f"{n}-{k}" + "y" * 20_000) for k in range(50)])
    return "60 MB unread"


ACTS: dict[str, Act] = {
    "nothing": nothing,
    "900,000 facts in one message": facts,
    "600,000 facts as JSON": facts_as_json,
    "900,000 events in one message": events,
    "8,000,000 tuples of a byte": one_byte_tuples,
    "4,000,000 of them as JSON": one_byte_tuples_as_json,
    "60 facts of a megabyte": large_facts,
    "1,500,000 keys asked about": keys_asked,
    "a message of brackets": deep_message,
    "queries of 64 KiB": long_queries,
    "a pattern that backtracks": patterns,
    "a product of three conditions": products,
    "a product that a filter empties": products_filtered,
    "a closure of a dense graph": closures,
    "aggregates of 8,000": aggregates,
    "3,000 subscriptions with tests": many_subscriptions,
    "300,000 rows asked three times": stored,
    "a reader that reads nothing": reads_nothing,
}


async def act(name: str, url: str) -> None:
    """Carry out one act, in a process of its own."""
    if name in STRANGERS:
        print(await STRANGERS[name](url))
        return
    async with (
        connect(url.replace("http", "ws") + "/v1", proxy=None, max_size=None, open_timeout=ACT_S, close_timeout=1) as socket,
        gsg.connect(url) as client,
    ):
        try:
            print(await ACTS[name](socket, client))
        except Exception as error:
            print(f"{type(error).__name__}: {error}".replace("\n", " ")[:100])


async def beside(name: str) -> tuple[list[float], str]:
    """The round trips in milliseconds, and how the act ended."""
    async with peers(1) as [peer], gsg.connect(peer.url) as client, await client.subscribe("(witness, ?n)") as rows:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.door_beside", "--act", name, "--url", peer.url), stdout=asyncio.subprocess.PIPE
        )
        ended = asyncio.create_task(asyncio.wait_for(process.communicate(), ACT_S))
        times: list[float] = []
        number, until_s = 0, 0.0
        while not until_s or time.perf_counter() < until_s:
            began_s = time.perf_counter()
            await client.notify([(gsg.Symbol("witness"), number)])
            await anext(rows)
            times.append((time.perf_counter() - began_s) * 1e3)
            number += 1
            await asyncio.sleep(0.002)
            if ended.done() and not until_s:
                until_s = time.perf_counter() + AFTER_S
        try:
            said = (await ended)[0].decode().strip()
        except TimeoutError:
            process.kill()
            await process.wait()
            said = f"not done after {ACT_S:.0f} s"
    return times, said


async def run(word: str) -> bool:
    """Whether everybody was served in time, and prints how fast."""
    good = True
    for name in [name for name in (*ACTS, *STRANGERS) if word in name]:
        stolen = Stolen()
        try:
            times, said = await beside(name)
        except Exception as error:
            print(f"beside {name:34} FAILED: {type(error).__name__}: {error}", flush=True)
            good = False
            continue
        worst, most, wanted = max(times), quantiles(times, n=100)[98], STRANGERS_MS if name in STRANGERS else WANTED_MS
        good &= worst <= wanted
        print(
            f"beside {name:34} median {median(times):6.2f} ms  99% {most:7.2f} ms  worst {worst:7.1f} ms"
            f"  {'reached' if worst <= wanted else 'MISSED'}  host took {stolen.share():.0%}  {said}",
            flush=True,
        )
    return good


def main() -> int:
    """Status 1 where somebody waited for longer than is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD", help="acts whose name holds the word")
    parser.add_argument("--act", choices=[*ACTS, *STRANGERS], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.act:
        asyncio.run(act(options.act, options.url))
        return 0
    print(machine())
    return 0 if asyncio.run(run(options.only)) else 1


if __name__ == "__main__":
    sys.exit(main())
