"""`gsg ls` against a peer in a process of its own."""

from __future__ import annotations

import json
import re

import pytest
from commands import Gsg

pytestmark = pytest.mark.waits


def test_constants_are_listed_with_their_facts(gsg: Gsg) -> None:
    nothing = gsg("ls")
    published = gsg("publish", "-e", 'INSERT { (B1, ^on, "a text"), (B2, ^on, <http://example.org/a>), (B1, 7) }')

    table, least, as_json = gsg("ls"), gsg("ls", "--most", "1"), gsg("ls", "--json")

    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr == "gsg: there are no facts that everybody may read, and no subscriptions with constants\n"
    assert (published.exit_code, table.exit_code) == (0, 0), published.output
    rows = [re.split(r"  +", line.strip()) for line in table.stdout.splitlines() if re.search(r"\w", line)]
    assert rows[1:3] == [["on", "1/3", "2", "0"], ['"a text"', "2/3", "1", "0"]]
    assert ["<http://example.org/a>", "2/3", "1", "0"] in rows
    assert (["2", "1", "2"] in rows, ["3", "2", "5"] in rows) == (True, True)
    assert "keys: constants at positions." in " ".join(table.stdout.split())
    assert "these are 1 of 7; --most shows more, 1,000 at most" in least.stdout
    document = json.loads(as_json.stdout)
    assert document["constants"][0] == {"arity": 3, "position": 1, "constant": {"symbol": "on"}, "facts": 2, "templates": 0}
    assert document["totals"] == [{"arity": 2, "facts": 1, "keys": 2}, {"arity": 3, "facts": 2, "keys": 5}]
    assert document["silent"] == []


def test_less_than_one_constant_is_refused(gsg: Gsg) -> None:
    result = gsg("ls", "--most", "0")

    assert result.exit_code == 2
    assert "0 is not in the range x>=1" in result.stderr
