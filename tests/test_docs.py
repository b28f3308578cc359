"""What the pages show works: every fenced block is run, against real peers where it needs some.

    python           executed in a process of its own; a ``text`` block that follows at once is what it prints
    gsg              parsed as GSG script
    gsg-mistake      refused, with the ``text`` block that follows
    console          lines after ``$``: a ``gsg`` command or ``curl`` is run, or for ``gsg peer`` its options are; ``make`` has such
                     a target
    text, mermaid    for people, where nothing above claims it

Addresses of a peer that runs at its default ports become those of the peer that runs here.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from gsg.cli import main as gsg_command
from gsg.cli.processes import PeerProcess, peers
from gsg.errors import BadText
from gsg.languages import parse_query
from gsg.languages.script import parse

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    path
    for pattern in ("*.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "benchmarks/*.md")
    for path in sorted(ROOT.glob(pattern))
]
LANGUAGES = {"python", "gsg", "gsg-mistake", "sparql", "console", "text", "mermaid"}
CURL = r"(?:printf .* \| )?curl "
PATIENCE_S = 30
"""After this, what should have come by then is a failure rather than a test that hangs."""


class Block(NamedTuple):
    """A fenced block; ``after`` is the text block that follows with nothing but blank lines between, or None."""

    page: Path
    line: int
    language: str
    body: str
    after: str | None


def blocks(*languages: str) -> list[Block]:
    return [block for page in PAGES for block in blocks_of(page) if not languages or block.language in languages]


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for found in re.finditer(r"^```([\w-]*)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", text, re.MULTILINE | re.DOTALL):
        yield Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2], found[3])


def place(block: Block) -> str:
    return f"{block.page.relative_to(ROOT)}:{block.line}"


def commands(block: Block) -> list[str]:
    return [line.removeprefix("$ ") for line in block.body.splitlines() if line.startswith("$ ")]


def shell_commands() -> list[tuple[str, str]]:
    return [(place(block), command) for block in blocks("console") for command in commands(block)]


@pytest.fixture
async def peer() -> AsyncIterator[PeerProcess]:
    async with peers(1, pedro=True) as running:
        yield running[0]


@pytest.fixture
def environment(peer: PeerProcess) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"GSG_PEER": peer.url, "PATH": path}


@pytest.fixture
def here(peer: PeerProcess) -> Callable[[str], str]:
    """Puts the running peer's addresses in the place of the default ones."""
    pedro_port = peer.pedro.rpartition(":")[2]
    door = peer.url.removeprefix("http:")
    return lambda text: text.replace("//127.0.0.1:8470", door).replace("4550", pedro_port)


def test_pages_hold_blocks_of_known_languages_only() -> None:
    assert [place(block) for block in blocks() if block.language not in LANGUAGES] == []
    assert blocks("python")
    assert blocks("console")


@pytest.mark.parametrize("block", blocks("python"), ids=place)
async def test_python_runs_and_prints_what_follows_it(block: Block, here: Callable[[str], str]) -> None:
    code = here(block.body)

    ran = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-c", code), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    said, complained = await asyncio.wait_for(ran.communicate(), PATIENCE_S)

    assert (ran.returncode, complained.decode()) == (0, "")
    assert said.decode() == (block.after or "")


@pytest.mark.parametrize("block", blocks("gsg"), ids=place)
def test_scripts_parse(block: Block) -> None:
    assert parse(block.body)


@pytest.mark.parametrize("block", blocks("sparql"), ids=place)
def test_sparql_queries_are_subscriptions(block: Block) -> None:
    assert parse_query(block.body, "sparql").select


@pytest.mark.parametrize("block", blocks("gsg-mistake"), ids=place)
def test_mistakes_are_answered_as_the_page_says(block: Block) -> None:
    with pytest.raises(BadText) as refused:
        parse(block.body)

    assert f"{refused.value}\n" == block.after


@pytest.mark.parametrize(("where", "command"), [entry for entry in shell_commands() if entry[1].startswith("make")])
def test_make_has_the_targets_that_pages_name(where: str, command: str) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = [word for word in command.split()[1:] if "=" not in word]

    assert set(named) <= set(targets), where


@pytest.mark.parametrize(("where", "command"), [entry for entry in shell_commands() if entry[1].startswith("gsg peer")])
def test_gsg_peer_has_the_options_that_pages_name(where: str, command: str) -> None:
    # A command keeps the help option of the first context that it meets, so it is to be the one of `gsg`.
    group = click.Context(gsg_command, **gsg_command.context_settings)
    started = gsg_command.get_command(group, "peer")
    assert started is not None, where

    context = started.make_context("peer", shlex.split(command)[2:], parent=group)

    assert context.params["http"] is not None


@pytest.mark.parametrize(("where", "command"), [entry for entry in shell_commands() if entry[1].startswith("gsg simulate")])
def test_gsg_simulate_has_the_options_that_pages_name(where: str, command: str) -> None:
    group = click.Context(gsg_command, **gsg_command.context_settings)
    simulate = gsg_command.get_command(group, "simulate")
    assert isinstance(simulate, click.Group), where
    name, *arguments = shlex.split(command)[2:]
    started = simulate.get_command(click.Context(simulate, parent=group), name)
    assert started is not None, where

    context = started.make_context(name, arguments, parent=group)

    assert context.params


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_curl_is_answered_as_it_goes_on_or_succeeds(
    environment: dict[str, str], here: Callable[[str], str], tmp_path: Path
) -> None:
    (tmp_path / ".curlrc").write_text("silent\nfail\n")
    asked = [command for _, command in shell_commands() if re.match(CURL, command)]
    for command in asked:
        process = await start(
            f"exec {here(command)}" if "|" not in command else here(command), environment | {"CURL_HOME": str(tmp_path)}
        )
        if " -GN " in command:
            assert await line_of(process) == "retry: 2000", command
            process.kill()
            await process.wait()
        else:
            await asyncio.wait_for(process.communicate(), PATIENCE_S)
            assert process.returncode == 0, command

    assert asked


def test_every_command_of_the_pages_is_one_of_those_tried_here() -> None:
    tried = re.compile(
        r"make( |$)|gsg (cert|peer|publish|subscribe|explain|simulate|status)( |$)|(echo .* \| )gsg publish |" + CURL
    )

    assert [where for where, command in shell_commands() if not tried.match(command)] == []


async def test_the_readme_leads_from_nothing_to_rows(environment: dict[str, str]) -> None:
    asking, told = next(
        (block, block.body.splitlines()[1:])
        for block in blocks("console")
        if block.page.name == "README.md" and block.body.startswith("$ gsg subscribe")
    )
    publish, retract, status = next(
        commands(block) for block in blocks("console") if block.page.name == "README.md" and "$ gsg publish" in block.body
    )
    appearing = [line for line in told if line.startswith("+")]

    subscriber = await start(f"exec {commands(asking)[0]}", environment)
    try:
        assert await run(publish, environment) == ""
        assert sorted([await line_of(subscriber) for _ in appearing]) == appearing
        assert await run(retract, environment) == ""
        assert [await line_of(subscriber)] == told[len(appearing) :]
        assert "peer known to 127.0.0.1:" in await run(status, environment)
    finally:
        subscriber.terminate()
        await subscriber.wait()


async def test_the_page_on_explanations_shows_what_the_command_says(environment: dict[str, str]) -> None:
    offline, asking = (block for block in blocks("console") if block.page.name == "explain.md")
    script = next(block.body for block in blocks("python") if block.page.name == "explain.md")
    facts = script.split('"""')[1]
    query = script.rsplit('"', 2)[1]

    (command,) = commands(offline)
    assert await run(command, environment) == offline.body.split("\n", 1)[1]
    await run(f"echo '{facts}' | gsg publish - --format gsg", environment)
    subscriber = await start(f"exec gsg subscribe '{query}'", environment)
    try:
        assert (await line_of(subscriber)).startswith("+ ?x=")
        listed, one, why, why_not = [await run(command, environment) for command in commands(asking)]
    finally:
        subscriber.terminate()
        await subscriber.wait()
    assert "shared by" in listed
    assert "joined in this order" in one
    assert why.startswith("?x=B1 holds, in one way:")
    assert "of 2 tuples that match (?y, left-of, ?z) none has the values of the row" in why_not


async def start(command: str, environment: dict[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_shell(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


async def run(command: str, environment: dict[str, str]) -> str:
    """What a command prints; that it succeeds is asserted."""
    process = await start(command, environment)
    said, complained = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 0, complained.decode()
    return said.decode()


async def line_of(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)).decode().removesuffix("\n")


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/simulation/*.html")), ids=lambda page: page.stem)
def test_a_report_says_which_commit_made_it_and_no_place_of_a_machine(page: Path) -> None:
    ran = dict(re.findall(r"<th>([^<]*)</th><td>([^<]*)</td>", page.read_text("utf-8")))

    assert re.fullmatch("[0-9a-f]{12}", ran["commit"])
    assert [value for value in ran.values() if value.startswith(("/", "~"))] == []
