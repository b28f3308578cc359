"""The thread of a client for programs without ``async``: a loop that serves one asynchronous client, and what others ask of it.

Which client is not known here: it is a peer's in client/blocking.py, and Pedro's in pedro_compat/client/blocking.py, which loads
nothing of the other one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from ..errors import DoorClosed, LocalError

Answer = TypeVar("Answer")
Entered = TypeVar("Entered")
Wrapped = TypeVar("Wrapped")
WrappedOut = TypeVar("WrappedOut", covariant=True)
Parameters = ParamSpec("Parameters")


class ClientThread:
    """Serves one client from :meth:`open` to :meth:`close`; ``name`` begins the names of its threads."""

    def __init__(self, name: str = "gsg") -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._ending = threading.Lock()
        """Held for moments only: nothing is given to a loop that is about to stop."""
        self.callbacks = ThreadPoolExecutor(1, thread_name_prefix=f"{name} callbacks")
        """The thread of callbacks. What waits for it is one batch of each subscription at most."""
        self._tasks: set[asyncio.Task[None]] = set()
        """What was started: bounded by the subscriptions with callbacks. They end with the loop at the latest."""
        self._thread: threading.Thread | None = None

    def open(self, make: Callable[[], AbstractAsyncContextManager[Entered]]) -> Entered:
        """Start the thread, and make and enter a client there, once. Raises what that does."""
        opened: Future[Entered] = Future()

        def serve() -> None:
            asyncio.run(self._serve(_hold(make, opened)))

        self._thread = threading.Thread(target=serve, name=f"{self._name} client", daemon=True)
        self._thread.start()
        try:
            return opened.result()
        except BaseException:
            self.close()
            raise

    async def _serve(self, hold: Coroutine[Any, Any, None]) -> None:  # Any: as in call
        self._loop = asyncio.get_running_loop()
        # Whoever waits for it to connect may give up, by Ctrl-C: it is to end then as well.
        holding, stopping = asyncio.ensure_future(hold), asyncio.ensure_future(self._stop.wait())
        await asyncio.wait((holding, stopping), return_when=asyncio.FIRST_COMPLETED)
        holding.cancel()
        await asyncio.wait((holding,))

    def start(self, work: Coroutine[Any, Any, None]) -> None:  # Any: as in call
        """Do this in the client's thread until it is done or the client is closed. Raises DoorClosed where that is so already."""
        self.call(self._start(work))

    async def _start(self, work: Coroutine[Any, Any, None]) -> None:  # Any: as in call
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def call(self, work: Coroutine[Any, Any, Answer]) -> Answer:  # Any: what a coroutine passes to its loop concerns nobody
        """Run this in the client's thread and wait for it. Raises DoorClosed where the client is closed, or is meanwhile;
        LocalError in that thread itself, which would wait for itself."""
        if threading.current_thread() is self._thread:
            work.close()
            raise LocalError(
                "the client's own thread cannot wait for an answer; call it from another one, such as a callback of rows"
            )
        with self._ending:
            if self._loop is None:
                work.close()
                raise DoorClosed("this client is closed; connect with another one")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise DoorClosed("this client was closed meanwhile; connect with another one") from None
        except BaseException:
            future.cancel()  # Ctrl-C in the caller's thread: nobody waits for it any more
            raise

    def close(self) -> None:
        """End the thread, and all that waits for it. Closing twice is allowed."""
        with self._ending:
            loop, self._loop = self._loop, None
        if loop is not None:
            with suppress(RuntimeError):  # it has ended already, as where nobody answered
                loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()
        # It is not waited for: what is running may be what closes the client.
        self.callbacks.shutdown(wait=False, cancel_futures=True)


async def _hold(make: Callable[[], AbstractAsyncContextManager[Entered]], opened: Future[Entered]) -> None:
    """Make and enter a client, say that it is there, or why it is not, and hold it until this is cancelled."""
    try:
        async with make() as client:
            opened.set_result(client)
            await asyncio.Event().wait()
    except Exception as error:
        if opened.done():
            raise
        opened.set_exception(error)


class Wrapping(Protocol[WrappedOut]):
    """Something that waits, around something asynchronous."""

    def _parts(self) -> tuple[ClientThread, WrappedOut]:
        """What is asynchronous, and the thread that it lives in."""


def blocking(
    verb: Callable[Concatenate[Wrapped, Parameters], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[Wrapping[Wrapped], Parameters], Answer]:
    """The verb of something asynchronous, for what is around it: it waits for its answer."""

    @wraps(verb)
    def wait(self: Wrapping[Wrapped], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        thread, wrapped = self._parts()
        return thread.call(verb(wrapped, *args, **kwargs))

    return wait
