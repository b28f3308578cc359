"""The command gsg, against a peer in its own process: what it prints, and what it says when something is wrong."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from commands import END_S, Gsg, triples

from gsg import connect
from gsg.cli import main

pytestmark = pytest.mark.waits


def rows(gsg: Gsg, query: str) -> list[str]:
    result = gsg("subscribe", query, "--snapshot")
    assert result.exit_code == 0, result.output
    return sorted(result.stdout.splitlines())


# --- publish ------------------------------------------------------------------------------------------------------------------


def test_a_file_is_published_and_retracted(gsg: Gsg, tmp_path: Path) -> None:
    path = tmp_path / "data.nt"
    path.write_text(triples("plain", 2_500))

    published = gsg("publish", path)
    assert (published.exit_code, published.stdout) == (0, "")
    assert re.fullmatch(r"2,500 facts acknowledged in [\d.]+ s \([\d,]+/s\); 2,500 changed something\n", published.stderr)
    assert len(rows(gsg, "(?s, <x:plain>, *)")) == 2_500
    assert gsg("publish", path, "--retract").exit_code == 0
    assert rows(gsg, "(?s, <x:plain>, *)") == []


@pytest.mark.parametrize(
    ("name", "text", "arguments"),
    [
        ("a.nt.gz", '<x:s> <x:p-{}> "o" .\n', []),
        ("a.ttl", '@prefix x: <x:> . x:s x:p-{} "o" .\n', []),
        ("a.gsg", 'INSERT {{ (<x:s>, <x:p-{}>, "o") }}', []),
        ("a.txt", '<x:s> <x:p-{}> "o" .\n', ["--format", "nt"]),
        ("-", '<x:s> <x:p-{}> "o" .\n', ["--format", "nt"]),
    ],
    ids=["gzipped", "Turtle", "script", "by --format", "standard input"],
)
def test_formats_are_told_by_suffix_or_by_option(gsg: Gsg, tmp_path: Path, name: str, text: str, arguments: list[str]) -> None:
    word = re.sub(r"\W", "", name) or "stdin"
    data = text.format(word).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    result = gsg("publish", "-" if name == "-" else path, *arguments, "--quiet", input=data)

    assert (result.exit_code, result.output) == (0, "")
    assert rows(gsg, f"(<x:s>, <x:p-{word}>, ?o)") == ['+ ?o="o"']


def test_a_script_inserts_deletes_and_notifies(gsg: Gsg, tmp_path: Path) -> None:
    path = tmp_path / "a.gsg"
    path.write_text("INSERT { (scripted, 1), (scripted, 2) } DELETE { (scripted, 1) } NOTIFY { (scripted, 3) }")

    published = gsg("publish", path)

    assert published.exit_code == 0
    assert re.fullmatch(r"3 facts and 1 event acknowledged in [\d.]+ s \([\d,]+/s\); 3 changed something\n", published.stderr)
    assert rows(gsg, "(scripted, ?n)") == ["+ ?n=2"]


def test_a_script_with_a_mistake_is_not_said_to_have_been_begun(gsg: Gsg) -> None:
    result = gsg("publish", "--format", "gsg", "-", input="INSERT { (a, 1) ")

    assert result.exit_code == 2
    assert result.stderr.startswith("gsg: standard input line 1, ")


def test_one_fact_is_counted_in_the_singular(gsg: Gsg) -> None:
    whole = gsg("publish", "--format", "nt", "-", input=triples("single", 1))
    broken = gsg("publish", "--format", "nt", "-", input=triples("single", 1) + "oops\n")

    assert whole.stderr.startswith("1 fact acknowledged in ")
    assert broken.stderr.startswith("1 fact was acknowledged before this stopped\n")


def test_the_summary_is_json_where_that_is_asked_for(gsg: Gsg) -> None:
    script = "INSERT { (summed, 1), (summed, 1) } NOTIFY { (summed, 3) }"
    whole = gsg("publish", "--json", "--format", "gsg", "-", input=script)
    broken = gsg("publish", "--json", "--format", "nt", "-", input=triples("summed", 1) + "oops\n")

    told = [json.loads(each.stdout) for each in (whole, broken)]
    assert [each.pop("seconds") > 0 for each in told] == [True, True]
    assert told == [
        {"facts": 2, "changed": 1, "events": 1, "complete": True},
        {"facts": 1, "changed": 1, "events": 0, "complete": False},
    ]
    assert (whole.stderr, broken.stderr.startswith("gsg: standard input line 2, ")) == ("", True)


def test_a_malformed_line_in_the_middle_is_named_and_what_came_before_it_is_there(gsg: Gsg, tmp_path: Path) -> None:
    path = tmp_path / "data.nt"
    path.write_text(triples("before", 1_234) + "<x:s> <x:before> oops .\n" + triples("after", 10))

    result = gsg("publish", path)

    assert result.exit_code == 2
    assert "1,234 facts were acknowledged before this stopped\n" in result.stderr
    assert re.search(r"^gsg: data\.nt line 1235, column \d+: ", result.stderr, re.MULTILINE)
    assert "    <x:s> <x:before> oops .\n" in result.stderr
    assert len(rows(gsg, "(?s, <x:before>, *)")) == 1_234
    assert rows(gsg, "(?s, <x:after>, *)") == []


def test_a_malformed_script_applies_nothing(gsg: Gsg, tmp_path: Path) -> None:
    path = tmp_path / "a.gsg"
    path.write_text("INSERT { (halfway, 1) }\nINSRT { (halfway, 2) }\n")

    result = gsg("publish", path)

    assert result.exit_code == 2
    assert re.search(r"^gsg: a\.gsg line 2, column 1: .*INSERT.*\n    INSRT .*\n    \^", result.stderr, re.MULTILINE)
    assert rows(gsg, "(halfway, ?n)") == []


@pytest.mark.parametrize(
    ("name", "data", "arguments", "problem"),
    [
        (
            "a.gsg",
            b"SUBSCRIBE { (?x) }",
            [],
            "a.gsg holds a SUBSCRIBE block, which has nobody to read it here; use gsg subscribe --file",
        ),
        ("a.gsg", b"NOTIFY { (a) }", ["--retract"], "a.gsg holds more than INSERT blocks, and only those can be retracted"),
        (
            "a.gsg",
            b"INSERT { (\xff) }",
            [],
            "a.gsg line 1, column 11: byte FF is no UTF-8; expected a text in UTF-8 (10 bytes stand before it",
        ),
        ("a.csv", b"a,b,c", [], "a.csv"),
        ("a.nt.gz", b"not gzipped", [], "a.nt.gz"),
    ],
    ids=["a subscription", "retracting an event", "no UTF-8", "unknown suffix", "no gzip"],
)
def test_files_that_cannot_be_published_say_why(
    gsg: Gsg, tmp_path: Path, name: str, data: bytes, arguments: list[str], problem: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)

    result = gsg("publish", path, *arguments)

    assert result.exit_code == 2
    assert "gsg: " in result.stderr
    assert problem in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", ["none.nt", "none"])
def test_a_file_that_is_not_there_is_named(gsg: Gsg, tmp_path: Path, name: str) -> None:
    result = gsg("publish", tmp_path / name)

    assert (result.exit_code, result.stderr) == (
        2,
        f"gsg: cannot read {tmp_path / name}: there is no such file; "
        "check its name, or give '-' and --format to publish standard input\n",
    )


@pytest.mark.parametrize("arguments", [["subscribe"], ["explain"], ["explain", "--offline"]], ids=" ".join)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none", "there is no such file; write the query into it, or give it as an argument"),
        (".", "is a directory; expected a file that holds a query"),
    ],
)
def test_a_file_of_a_query_that_cannot_be_read_is_named(
    gsg: Gsg, tmp_path: Path, arguments: list[str], name: str, said: str
) -> None:
    result = gsg(*arguments, "--file", tmp_path / name)

    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"gsg: cannot read {tmp_path / name}: {said}\n")


def test_a_file_is_published_for_named_readers(gsg: Gsg, tmp_path: Path) -> None:
    here, elsewhere = json.loads(gsg("status", "--json").stdout)["peers"][0]["peer"], "ab" * 20
    assert f"whose id is {here}\n" in gsg("status").stdout
    ours, theirs = tmp_path / "ours.gsg", tmp_path / "theirs.gsg"
    ours.write_text("INSERT { (named, 1) }")
    theirs.write_text("INSERT { (named, 2) }")

    assert gsg("publish", ours, "--audience", f"{elsewhere}, {here}").exit_code == 0
    assert gsg("publish", theirs, "--audience", elsewhere, "--audience", "cd" * 20).exit_code == 0
    assert rows(gsg, "(named, ?n)") == ["+ ?n=1"]
    assert "; 0 changed something" in gsg("publish", ours, "--retract", "--audience", here).stderr
    assert "; 1 changed something" in gsg("publish", ours, "--retract", "--audience", here, "--audience", elsewhere).stderr
    assert rows(gsg, "(named, ?n)") == []

    refused = gsg("publish", ours, "--audience", "bob")
    assert refused.exit_code == 2
    assert (
        refused.stderr
        == "gsg: 'bob' in an audience is no peer id; expected 40 hexadecimal digits, as gsg status --json shows them\n"
    )


# --- subscribe ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def colours(gsg: Gsg) -> None:
    gsg("publish", "-", "--format", "gsg", input='INSERT { (ball, colour, "red"), (ball, size, 1.5), (cube, colour, <x:blue>) }')


@pytest.mark.usefixtures("colours")
def test_a_snapshot_is_the_rows_that_hold_now(gsg: Gsg) -> None:
    assert rows(gsg, "(?what, colour, ?c)") == ['+ ?what=ball ?c="red"', "+ ?what=cube ?c=<x:blue>"]
    assert rows(gsg, "(?what, weight, ?w)") == []


@pytest.mark.usefixtures("colours")
def test_rows_are_printed_as_json_lines(gsg: Gsg) -> None:
    result = gsg("subscribe", "(?what, colour, ?c), (?what, size, ?s)", "--jsonl", "--snapshot")

    (line,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert datetime.fromisoformat(line.pop("time")).utcoffset() == timedelta(0)
    assert line == {"sign": "+", "row": {"what": "ball", "c": '"red"', "s": 1.5}}


@pytest.mark.usefixtures("colours")
@pytest.mark.parametrize("extra", [[], ["--snapshot"]], ids=["live", "snapshot"])
def test_a_count_ends_the_output(gsg: Gsg, extra: list[str]) -> None:
    result = gsg("subscribe", "(?what, colour, *)", "--count", 1, *extra)

    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)


@pytest.mark.usefixtures("colours")
def test_warnings_go_to_standard_error(gsg: Gsg) -> None:
    ran = gsg("subscribe", "(?x, ^warned, ?a), (?y, ^warned, ?b)", "--snapshot")

    assert ran.stdout == ""
    assert ran.stderr.startswith("gsg: warning: cross product: (?x, warned, ?a) and (?y, warned, ?b) share no variable")


@pytest.mark.usefixtures("colours")
def test_a_query_is_read_from_a_file(gsg: Gsg, tmp_path: Path) -> None:
    path = tmp_path / "query.gsg"
    path.write_text("SUBSCRIBE { # all balls\n  (ball, size, ?s) }")

    assert gsg("subscribe", "--file", path, "--snapshot").stdout == "+ ?s=1.5\n"


def test_live_rows_come_as_others_publish(url: str, gsg: Gsg) -> None:
    gsg("publish", "-", "--format", "gsg", input="INSERT { (live, 1) }")
    reading = subprocess.Popen(
        [sys.executable, "-m", "gsg", "subscribe", "(live, ?n)", "--count", "4", "--peer", url], stdout=subprocess.PIPE, text=True
    )
    assert reading.stdout is not None
    first = reading.stdout.readline()

    gsg("publish", "-", "--format", "gsg", input="INSERT { (live, 2) } NOTIFY { (live, 3) } DELETE { (live, 1) }")
    rest, _ = reading.communicate(timeout=END_S)

    assert (reading.returncode, first + rest) == (0, "+ ?n=1\n+ ?n=2\n! ?n=3\n- ?n=1\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["(?x, on"], "gsg: subscription line 1, column 8: "),
        (["(?x)", "--language", "prolog"], "gsg: unknown language 'prolog'; known are: gsg"),
        (["--file", "/nowhere/at/all"], "gsg: cannot read /nowhere/at/all: "),
        ([], "Error: give the query as TEXT, or its file with --file"),
        (["(?x)", "--file", "f"], "Error: give the query as TEXT, or its file with --file, not both"),
        (["(?x)", "--count", "0"], "Error: Invalid value for '--count'"),
    ],
    ids=["half a query", "unknown language", "no file", "no query", "two queries", "no rows"],
)
def test_a_subscription_that_cannot_be_says_why(gsg: Gsg, arguments: list[str], problem: str) -> None:
    result = gsg("subscribe", *arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr


# --- status -------------------------------------------------------------------------------------------------------------------


EXPLAINED = "(?x, ^under, ?y), (?y, ^hue, ^grey)"


@pytest.fixture
async def standing(url: str) -> AsyncIterator[str]:
    """The number of a subscription to EXPLAINED, with one row and a tuple that makes none."""
    async with connect(url) as client:
        await client.run("INSERT { (s1, ^under, s2), (s3, ^under, s4), (s2, ^hue, ^grey) }")
        async with await client.subscribe(EXPLAINED) as subscription:
            yield str(subscription.number)
        await client.run("DELETE { (s1, ^under, s2), (s3, ^under, s4), (s2, ^hue, ^grey) }")


async def explained(gsg: Gsg, *arguments: str, code: int = 0) -> str:
    """What `gsg explain` says, in a thread: the client of the subscription goes on reading."""
    result = await asyncio.to_thread(gsg, "explain", *arguments)
    assert result.exit_code == code, result.output
    return result.stderr if code else result.stdout


async def test_a_query_is_explained_with_anchors_and_counts(gsg: Gsg, standing: str, running_peer: dict[str, str]) -> None:
    said = await explained(gsg, EXPLAINED)
    counted = json.loads(await explained(gsg, EXPLAINED, "--json"))

    assert "  1. (?y, hue, grey)  1 fact\n" in said
    assert "  2. (?x, under, ?y)  2 facts  on ?y\n" in said
    assert f"     anchor under at position 1, {running_peer['listen']}: 2 facts, 1 template, posted already" in said
    assert [step["facts"] for step in counted["steps"]] == [1, 2]


async def test_subscriptions_are_listed_with_what_they_hold(gsg: Gsg, standing: str) -> None:
    table = await explained(gsg)
    listed = json.loads(await explained(gsg, "--json"))
    one = await explained(gsg, "--subscription", standing)

    assert "shared by" in table
    (mine,) = [held for held in listed if str(held["number"]) == standing]
    assert (mine["text"], mine["rows"], mine["tokens"], mine["language"]) == (EXPLAINED, 1, 2, "gsg")
    assert "joined in this order" in one
    assert json.loads(await explained(gsg, "--subscription", standing, "--json"))["text"] == EXPLAINED


async def test_rows_are_explained(gsg: Gsg, standing: str) -> None:
    why = await explained(gsg, "--subscription", standing, "--why", "?x=s1")
    why_not = await explained(gsg, "--subscription", standing, "--why-not", '{"x": "s3"}')
    refused = json.loads(await explained(gsg, "--subscription", standing, "--why-not", "?x=s3", "--json"))

    assert why == "?x=s1 holds, in one way:\n  (s1, under, s2)  meets (?x, under, ?y)\n  (s2, hue, grey)  meets (?y, hue, grey)\n"
    assert "?x=s3 does not hold:\n" in why_not
    assert refused["because"] == ["of 1 tuple that match (?y, hue, grey) with the values of the row none joins with ?x=s3 ?y=s4"]


async def test_networks_are_drawn(gsg: Gsg, standing: str, tmp_path: Path) -> None:
    picture = tmp_path / "network.svg"
    for arguments in ([], ["--subscription", standing], [EXPLAINED]):
        assert await explained(gsg, *arguments, "--graph", str(picture)) == f"wrote {picture}\n"
        assert ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert "/nowhere/at/all: no such file or directory; expected a name in a folder that is there" in await explained(
        gsg, "--graph", "/nowhere/at/all", code=2
    )


def test_a_plan_needs_no_peer(free_port: int) -> None:
    environment = {"GSG_PEER": f"http://127.0.0.1:{free_port}"}
    offline = CliRunner(env=environment).invoke(main, ["explain", "--offline", EXPLAINED])
    asking = CliRunner(env=environment).invoke(main, ["explain", EXPLAINED])

    assert offline.stdout.startswith("gsg query, rows of ?x ?y\njoined in this order (nobody was asked for counts")
    assert asking.exit_code == 1
    assert "gsg: no peer answers at" in asking.stderr
    assert "--offline explains a query without one" in asking.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["(?x)", "--subscription", "1"], "a query, or the number of a subscription, not both"),
        (["(?x)", "--file", "f"], "the query as TEXT, or its file with --file, not both"),
        (["--why", "?x=1"], "--why and --why-not need --subscription ID"),
        (["--subscription", "1", "--why", "?x=1", "--why-not", "?x=2"], "give --why or --why-not, not both"),
        (["--offline"], "--offline needs a query"),
        (["--graph", "f", "--json"], "--graph writes a picture, not JSON"),
        (["--graph", "g.png"], "g.png ends in .png, and what is drawn is SVG; expected a name such as g.svg"),
        (["--subscription", "1", "--why", "?x=1", "--graph", "f"], "give --graph, or --why or --why-not"),
        (["--subscription", "999999"], "gsg: no subscription 999999 at this peer"),
        (["--subscription", "1", "--why", "x"], 'gsg: a row is expected to be like ?x=a ?y="b c" ?n=1'),
        (["(?x, on"], "gsg: subscription line 1, column 8: "),
    ],
)
def test_what_cannot_be_explained_says_why(gsg: Gsg, arguments: list[str], problem: str) -> None:
    result = gsg("explain", *arguments)

    assert result.exit_code == 2
    assert problem in result.stderr


def test_status_as_json_has_every_figure(gsg: Gsg, running_peer: dict[str, str]) -> None:
    result = gsg("status", "--json")

    (peer,) = json.loads(result.stdout)["peers"]
    assert (result.exit_code, peer["address"], peer["share"]) == (0, running_peer["listen"], 1.0)
    assert {"peer", "facts", "entries", "keys", "templates", "feeds", "links", "published", "matched"} <= set(peer)


def test_status_is_a_table_with_its_legend(gsg: Gsg, running_peer: dict[str, str]) -> None:
    result = gsg("status")

    assert result.exit_code == 0
    assert result.stdout.startswith(f"1 peer known to {running_peer['listen']}, whose id is ")
    assert "share of all keys that the peer is responsible for" in result.stdout


# --- the command itself -------------------------------------------------------------------------------------------------------


def test_help_lists_the_commands() -> None:
    result = CliRunner().invoke(main, ["--help"])

    assert result.exit_code == 0
    assert re.findall(r"^  (\w+)  +\w", result.stdout, re.MULTILINE) == [
        "peer",
        "publish",
        "subscribe",
        "channel",
        "topics",
        "explain",
        "ls",
        "status",
        "check",
        "cert",
        "simulate",
    ]


@pytest.mark.parametrize("command", ["peer", "publish", "subscribe", "explain", "ls", "status", "simulate"])
def test_every_command_has_help(command: str) -> None:
    result = CliRunner().invoke(main, [command, "-h"])

    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: main {command} ")


def test_an_unknown_command_is_refused() -> None:
    result = CliRunner().invoke(main, ["pubish"])

    assert result.exit_code == 2
    assert "No such command 'pubish'" in result.stderr


def test_help_and_version_load_nothing_that_takes_time() -> None:
    heavy = ("lark", "msgspec", "starlette", "uvicorn", "websockets", "rich", "rdflib", "pyoxigraph", "kademlia", "networkx")
    code = (
        "import sys\nfrom gsg.cli import main\n"
        "for word in ('--help', '--version'): main([word], standalone_mode=False)\n"
        f"print('loaded:', *sorted({{name.partition('.')[0] for name in sys.modules}} & set({heavy!r})))"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.splitlines()[-1] == "loaded:"
