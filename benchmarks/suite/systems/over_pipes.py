"""A system that is a program: it is told what to do on its standard input, and tells on its standard output, in lines of JSON.

    driver -> system   {"do": "subscribe", "subscription": 7, "user": "user3", "sparql": "...", "gsg": "...", "query": {...}, ...}
                       {"do": "unsubscribe", "subscription": 7}
                       {"do": "change", "changes": [["+", [subject, predicate, object]], ["-", [...]], ["!", [...]]]}
                       {"do": "settle"}   {"do": "answers", "subscription": 7}   {"do": "measures"}
    system -> driver   one answer to each, in order: {"done": true}, {"refused": "why"}, {"rows": [[...]]} or {"rows": null},
                       {"peers": [{"messages": 5, "bytes": 700, "load": 12}]}, {"error": "what"}
                       and between them, whenever it is so: {"subscription": 7, "sign": "+", "row": [...]}

The end of its input is its end. What it writes to standard error is shown.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

import msgspec

from ..files import SIGN_OF, Change
from ..users import Line
from .system import Measures, PeerMeasures, Refused, Row, Tell, peak_memory_bytes

MAX_LINE_BYTES = 64 << 20
"""The longest line of a system; at a longer one the run ends."""
STOP_S = 10.0
"""How long a program may take to end when its input has; then it is killed."""
_SIGNS = {1: "+", -1: "-", 0: "!"}


class SystemFailed(Exception):
    """A system has ended, said what nobody can read, or could not do what it was asked."""


class _Said(msgspec.Struct):
    """A line of the system: an answer, or a difference."""

    done: bool = False
    refused: str | None = None
    rows: list[list[str | None]] | None = None
    peers: list[dict[str, int | None]] | None = None
    error: str | None = None
    subscription: int | None = None
    sign: str = ""
    row: list[str | None] = []  # msgspec gives each its own


class OverPipes:
    """The system; ``command`` is the program with its arguments."""

    def __init__(self, tell: Tell, command: Sequence[str], name: str = "command") -> None:
        self.name = name
        self._tell, self._command = tell, command
        self._process: asyncio.subprocess.Process | None = None
        self._waiting: deque[asyncio.Future[_Said]] = deque()
        """Requests without an answer yet: as many as whoever drives has under way."""
        self._reader: asyncio.Task[None] | None = None
        self._failure: SystemFailed | None = None

    async def __aenter__(self) -> Self:
        if not self._command:
            raise SystemFailed("the command is empty; expected a program with its arguments, such as 'python adapter.py'")
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=MAX_LINE_BYTES
            )
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise SystemFailed(f"cannot start {self._command[0]!r}: {reason}; expected a program that can be run") from None
        self._reader = asyncio.create_task(self._read(self._process))
        return self

    async def __aexit__(self, *_: object) -> None:
        process, reader = self._process, self._reader
        assert process is not None
        assert process.stdin is not None
        assert reader is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        finally:
            reader.cancel()
            with suppress(asyncio.CancelledError):
                await reader
            with suppress(ConnectionError):  # that it did not read to the end is its matter
                await process.stdin.wait_closed()

    async def subscribe(self, subscription: Line) -> None:
        said = await self._ask(do="subscribe", **msgspec.to_builtins(subscription))
        if said.refused is not None:
            raise Refused(said.refused)

    async def unsubscribe(self, subscription: int) -> None:
        await self._ask(do="unsubscribe", subscription=subscription)

    async def change(self, changes: Sequence[Change]) -> None:
        await self._ask(do="change", changes=[(_SIGNS[sign], triple) for sign, triple in changes])

    async def settle(self) -> None:
        await self._ask(do="settle")

    async def answers(self, subscription: int) -> list[Row] | None:
        rows = (await self._ask(do="answers", subscription=subscription)).rows
        return None if rows is None else list(rows)

    async def measures(self) -> Measures:
        """The peers as the program says, and the memory of its process, without those that it has started itself."""
        peers = (await self._ask(do="measures")).peers or []
        assert self._process is not None
        known = [PeerMeasures(peer.get("messages"), peer.get("bytes"), peer.get("load")) for peer in peers]
        return Measures(known, peak_memory_bytes(self._process.pid))

    async def _ask(self, **request: Any) -> _Said:  # Any: as JSON has it
        if self._failure is not None:
            raise self._failure
        assert self._process is not None
        assert self._process.stdin is not None
        if self._process.stdin.is_closing():
            assert self._reader is not None
            await asyncio.wait([self._reader], timeout=STOP_S)  # which says why
            raise self._failure or SystemFailed(f"{self.name} has closed its standard input, and goes on")
        answer: asyncio.Future[_Said] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._process.stdin.write(msgspec.json.encode(request) + b"\n")
        with suppress(ConnectionError):  # that it has ended is said by whoever reads
            await self._process.stdin.drain()
        said = await answer
        if said.error is not None:
            raise SystemFailed(f"{self.name} could not {request['do']}: {said.error}")
        return said

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        decode = msgspec.json.Decoder(_Said).decode
        problem = ""
        try:
            while line := await process.stdout.readline():
                said = decode(line)
                if said.subscription is not None:
                    self._tell(said.subscription, SIGN_OF[said.sign], said.row)
                elif self._waiting:
                    answer = self._waiting.popleft()
                    # Whoever waited has given up where another request has failed.
                    if not answer.done():
                        answer.set_result(said)
                else:
                    problem = f"answered what nobody asked: {line[:200]!r}"
                    break
            else:
                problem = f"ended with status {await process.wait()}"
        except (msgspec.MsgspecError, ValueError, KeyError) as error:
            problem = f"said what is no answer ({error}); docs/suite.md has what may be said"
        self._failure = SystemFailed(f"{self.name} {problem}")
        while self._waiting:
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_exception(self._failure)
