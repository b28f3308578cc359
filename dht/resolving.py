"""Names to addresses, by the system's resolver, which waits as long as a name server says nothing.

Each name is looked up by a thread that dies with the process: those of the loop's executor are waited for as the loop ends, which a
silent name server draws out by half a minute. Whoever is tired of waiting cancels; the thread goes on alone and tells nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from threading import BoundedSemaphore, Thread
from typing import Any, TypeAlias

MAX_NAMES = 64
"""Names of this process that are looked up at once; one more fails at once, and whoever asked may ask again."""

Found: TypeAlias = list[tuple[str, int]]
"""Hosts as IP literals, and the port."""

_places = BoundedSemaphore(MAX_NAMES)


async def resolve(host: str, port: int, *, family: int = 0, type: int = socket.SOCK_STREAM) -> Found:
    """The addresses of a name or a literal, best first. Raises OSError."""
    loop = asyncio.get_running_loop()
    if getattr(loop, "is_simulated", False):
        return _found(await loop.getaddrinfo(host, port, family=family, type=type))
    with contextlib.suppress(socket.gaierror, UnicodeError):
        # A literal, which nobody has to be asked for.
        return _found(socket.getaddrinfo(host, port, family=family, type=type, flags=socket.AI_NUMERICHOST))
    places = _places
    if not places.acquire(blocking=False):
        raise OSError(None, f"{MAX_NAMES} other names are being looked up")
    answer: asyncio.Future[Found] = loop.create_future()

    def look_up() -> None:
        try:
            found, problem = _found(socket.getaddrinfo(host, port, family=family, type=type)), None
        except OSError as error:
            found, problem = [], error
        except UnicodeError as error:
            found, problem = [], OSError(None, f"no name of a host: {error}")
        finally:
            places.release()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_tell, answer, found, problem)

    try:
        Thread(target=look_up, name=f"looking up {host}", daemon=True).start()
    except RuntimeError as error:
        places.release()
        raise OSError(None, f"no thread to look it up with: {error}") from None
    return await answer


def _tell(answer: asyncio.Future[Found], found: Found, problem: OSError | None) -> None:
    if answer.done():
        return
    if problem is None:
        answer.set_result(found)
    else:
        answer.set_exception(problem)


def _found(answers: list[Any]) -> Found:  # Any: as getaddrinfo has them, by family
    return [(str(address[0]), int(address[1])) for *_, address in answers]
