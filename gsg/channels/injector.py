"""Events around calls: a decorator that publishes what is called, by whom, how long it took, and how it ended.

    @traced(channel)
    async def serve(request): ...

Filman and Lee, section "Applications": an injector stands on the path of a call and generates events, for whoever wants to see
them. Each call carries its number on, in the environment (:mod:`.environment`), so that the calls that it makes name it as their
caller, in tasks, threads and processes too.
"""

from __future__ import annotations

import functools
import inspect
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from ..errors import GsgError
from . import environment
from .channel import Channel

log = logging.getLogger(__name__)

Given = ParamSpec("Given")
Result = TypeVar("Result")
CALL = "call"
"""The name in the environment by which a call is known to those that it makes."""


def traced(
    channel: Channel, *, clock: Callable[[], float] = time.perf_counter
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Publish an event ``{"type": "call", "of", "call", "caller", "seconds", "failed"}`` after each call of a function or a
    coroutine function; ``failed`` is missing where nothing was raised, ``caller`` where no traced call is around."""

    def decorate(function: Callable[Given, Result]) -> Callable[Given, Result]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def called(*given: Given.args, **named: Given.kwargs) -> Any:  # Any: whatever the coroutine returns
                with _told(channel, function.__qualname__, clock):
                    return await function(*given, **named)

            return called  # type: ignore[return-value]  # a coroutine function, as it was

        @functools.wraps(function)
        def called_at_once(*given: Given.args, **named: Given.kwargs) -> Result:
            with _told(channel, function.__qualname__, clock):
                return function(*given, **named)

        return called_at_once

    return decorate


@contextmanager
def _told(channel: Channel, name: str, clock: Callable[[], float]) -> Iterator[None]:
    call, caller, began_s = uuid.uuid4().hex[:12], environment.current().get(CALL), clock()
    event: dict[str, Any] = {"type": "call", "of": name, "call": call}  # Any: values of an event
    if caller is not None:
        event["caller"] = caller
    try:
        with environment.attached(**{CALL: call}):
            yield
    except BaseException as error:
        event["failed"] = f"{type(error).__name__}: {error}"
        raise
    finally:
        try:
            channel.publish({**event, "seconds": clock() - began_s})
        except GsgError as error:  # the call has ended as it has: its trace is not to change that
            log.warning("channel %s: a call of %s is not traced: %s", channel.name, name, error)
