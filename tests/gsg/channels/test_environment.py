"""What a publisher's context carries on."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from threading import Thread

import pytest

from gsg.channels import environment
from gsg.errors import BadTerm


def test_values_are_carried_within_the_block_and_added_to_those_outside() -> None:
    with environment.attached(user="Fred"), environment.attached(request=17):
        inside = dict(environment.current())

    assert (inside, dict(environment.current())) == ({"user": "Fred", "request": 17}, {})


async def test_tasks_and_threads_carry_them_on() -> None:
    found = []
    with environment.attached(user="Fred"):
        task = asyncio.create_task(asyncio.to_thread(environment.current))
        thread = Thread(target=environment.carried(lambda: found.append(environment.current())))
    thread.start()
    thread.join()

    assert (await task, found) == ({"user": "Fred"}, [{"user": "Fred"}])


def test_a_called_process_carries_them_on() -> None:
    program = "import json; from gsg.channels import environment; print(json.dumps(environment.current()))"
    with environment.attached(user="Fred"):
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment.for_process(), capture_output=True, text=True, check=True
        )

    assert json.loads(ran.stdout) == {"user": "Fred"}


@pytest.mark.parametrize("text", ["", "[1]", "{", "x" * 20_000])
def test_what_a_process_is_given_wrongly_is_left_out(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.VARIABLE, text)

    assert environment.current() == {}


def test_too_much_is_refused() -> None:
    with pytest.raises(BadTerm, match="of more than 16,384 characters"), environment.attached(text="x" * 20_000):
        pass
