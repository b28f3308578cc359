"""The standing query benchmark as others use it: the adapter of its page over pipes, real peers, and its commands."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.suite import files
from benchmarks.suite.__main__ import leaves, main
from benchmarks.suite.campus import TINY, Size
from benchmarks.suite.driver import Driver, Outcome, Pace
from benchmarks.suite.queries import TEMPLATES
from benchmarks.suite.systems.over_pipes import OverPipes, SystemFailed
from benchmarks.suite.systems.real_peers import RealPeers
from benchmarks.suite.systems.system import System, Tell
from benchmarks.suite.users import Line

pytestmark = pytest.mark.waits

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "suite.md").read_text("utf-8")
ADAPTER = PAGE.partition("```python\n")[2].partition("```")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("workload")
    files.generate(made, TINY, 1)
    return made


async def run(folder: Path, system: type[RealPeers] | Sequence[str], pace: Pace) -> Outcome:
    def make(tell: Tell) -> System:
        return RealPeers(tell, 2) if isinstance(system, type) else OverPipes(tell, system)

    return await Driver(files.Workload(folder), make, pace, lambda what, done, total: None).run()


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


async def test_the_adapter_of_the_page_is_right(folder: Path) -> None:
    outcome = await run(folder, program(ADAPTER), Pace(batch=200, paced=0, patience_s=0.0))

    assert outcome.verdict.wrong == ()
    assert (outcome.verdict.right, outcome.disagreeing) == (TINY.subscriptions, 0)
    assert outcome.measures.memory_bytes is None or outcome.measures.memory_bytes > 1_000_000


def test_the_adapter_of_the_page_is_short() -> None:
    assert 0 < len(ADAPTER.splitlines()) < 60


async def test_real_peers_are_right(tmp_path: Path) -> None:
    files.generate(tmp_path, Size(1_000, len(TEMPLATES), rounds=3), 1)

    outcome = await run(tmp_path, RealPeers, Pace(batch=100, per_s=100.0, paced=20, patience_s=30.0))

    assert outcome.verdict.wrong == ()
    assert (outcome.verdict.right, outcome.disagreeing) == (len(TEMPLATES), 0)
    assert len(outcome.measures.peers) == 2
    assert all(peer.messages and peer.bytes and peer.load for peer in outcome.measures.peers)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import sys; input(); sys.exit(3)", "command ended with status 3"),
        ("input(); print('hello'); input()", r"command said what is no answer \(.*\); docs/suite\.md has what may be said"),
        ("import os; input(); os.write(1, b'{}\\n{}\\n'); input()", "command answered what nobody asked"),
        ("""input(); print('{"error": "no disk"}'); input()""", "command could not settle: no disk"),
    ],
    ids=["ends", "no JSON", "unasked", "an error"],
)
async def test_a_program_that_fails_is_told(text: str, problem: str) -> None:
    async def settle_twice() -> None:
        async with OverPipes(lambda *_: None, program(text)) as system:
            await system.settle()
            await system.settle()

    with pytest.raises(SystemFailed, match=problem):
        await settle_twice()


async def test_the_answers_of_requests_that_were_given_up_are_passed_over(folder: Path) -> None:
    """Several subscriptions are under way when one of them fails."""
    text = """
import json, sys
for number, line in enumerate(sys.stdin):
    print(json.dumps({"error": "no disk"} if number == 2 else {"done": True}), flush=True)
"""

    with pytest.raises(ExceptionGroup) as raised:
        await run(folder, program(text), Pace())

    assert [str(error) for error in leaves(raised.value)] == ["command could not subscribe: no disk"]


async def test_a_refusal_comes_with_its_reason(folder: Path) -> None:
    refusing = """
import json, sys
for line in sys.stdin:
    do = json.loads(line)["do"]
    print('{"refused": "not today"}' if do == "subscribe" else '{"done": true}', flush=True)
"""
    outcome = await run(folder, program(refusing), Pace(paced=0, patience_s=0.0))

    assert (outcome.verdict.right, outcome.verdict.refused) == (0, TINY.subscriptions)
    assert outcome.reasons == {"not today": TINY.subscriptions}
    assert outcome.is_right


def test_commands_make_check_and_run(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "made"
    assert main(["generate", str(made), "--size", "tiny", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sha256"] == files.Workload(folder).described.sha256

    assert main(["check", str(made)]) == 0
    assert "60 of 60 reference answers are what pyoxigraph finds, change by change" in capsys.readouterr().out

    systems = ["--system", "space", "--system", "rdfpeers", "--peers", "3"]
    assert main(["run", "--workload", str(made), *systems, "--per-s", "10000"]) == 0
    said = capsys.readouterr().out
    assert "| what | space | rdfpeers |" in said
    assert "| subscriptions answered right | 60 of 60 | 51 of 60 |" in said
    assert "rdfpeers refused 6: not answered by this system: negated" in said


def test_wrong_rows_end_it_with_status_1(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text(ADAPTER.replace('tell(number, "-", rows[number] - now)', "pass"))

    status = main(
        ["run", "--workload", str(folder), "--command", f"{sys.executable} {adapter}", "--paced", "0", "--patience", "0", "--json"]
    )

    outcome = json.loads(capsys.readouterr().out)["outcomes"][0]
    assert status == 1
    assert outcome["verdict"]["wrong"]
    assert outcome["verdict"]["surplus"] > 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["run", "--workload", "/nowhere"], "/nowhere holds no workload"),
        (["run", "--changes", "10"], "10 changes; expected 1,000 to 100,000,000"),
        (["run", "--size", "tiny", "--command", "no-such-program"], "cannot start 'no-such-program': no such file or directory"),
        (["run", "--size", "tiny", "--command", ""], "the command is empty; expected a program with its arguments"),
        (["run", "--size", "tiny", "--command", "'x"], "no closing quotation; expected a program with its arguments"),
        (["run", "--size", "tiny", "--command", "false"], "command ended with status 1"),
    ],
    ids=["no workload", "no size", "no program", "nothing", "an open quote", "a program that ends"],
)
def test_what_cannot_be_done_ends_it_with_status_2(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert problem in capsys.readouterr().err


def test_the_page_has_all_templates_and_fields() -> None:
    assert [template.name for template in TEMPLATES if f"| `{template.name}`" not in PAGE] == []
    assert [name for name in (*Line.__struct_fields__, *files.AnswerLine.__struct_fields__) if f"`{name}`" not in PAGE] == []
    assert all(f"| {template.share} | {template.why} |" in PAGE for template in TEMPLATES)
    assert re.search(rf"`tiny` \| {TINY.changes:,} \| {TINY.subscriptions} \|", PAGE)
