"""Our own systems of one process as a program that speaks as over_pipes.py says, so that they are measured as others are.

python -m benchmarks.suite.systems.serve reevaluation
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, BinaryIO

import msgspec

from ..files import SIGN_OF, Change
from ..users import Line
from . import in_one_space, rdfpeers, reevaluation
from .system import Refused, Row, System, Tell

_SIGNS = {1: "+", -1: "-", 0: "!"}


def made(name: str, peers: int) -> Callable[[Tell], System]:
    """What makes a system of one process, by its name."""
    makers: dict[str, Callable[[Tell], System]] = {
        "space": in_one_space.InOneSpace,
        "reevaluation": reevaluation.Reevaluation,
        "rdfpeers": lambda tell: rdfpeers.RdfPeers(tell, peers),
    }
    return makers[name]


NAMES = ("space", "reevaluation", "rdfpeers")


async def serve(make: Callable[[Tell], System], requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until they end. Nothing else runs meanwhile: the system does all of its work when it is called."""
    encode = msgspec.json.encode

    def say(said: object) -> None:
        answers.write(encode(said) + b"\n")

    def tell(subscription: int, sign: int, row: Row) -> None:
        say({"subscription": subscription, "sign": _SIGNS[sign], "row": row})

    async with make(tell) as system:
        for line in requests:
            try:
                say(await _answer(system, msgspec.json.decode(line)))
            except Refused as error:
                say({"refused": str(error)})
            answers.flush()


async def _answer(system: System, request: dict[str, Any]) -> dict[str, Any]:  # Any: as JSON has it
    match request["do"]:
        case "subscribe":
            await system.subscribe(msgspec.convert(request, Line))
        case "unsubscribe":
            await system.unsubscribe(request["subscription"])
        case "change":
            await system.change([Change(SIGN_OF[sign], tuple(triple)) for sign, triple in request["changes"]])
        case "settle":
            await system.settle()
        case "answers":
            return {"rows": await system.answers(request["subscription"])}
        case "measures":
            return {"peers": [asdict(peer) for peer in (await system.measures()).peers]}
        case other:
            return {"error": f"{other!r} is no request"}
    return {"done": True}


def main() -> None:
    """Speak on standard input and output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=NAMES)
    parser.add_argument("--peers", type=int, default=rdfpeers.PEERS)
    options = parser.parse_args()
    asyncio.run(serve(made(options.system, options.peers), sys.stdin.buffer, sys.stdout.buffer))


if __name__ == "__main__":
    main()
