"""examples/detection.py: what rules of the Sigma project say, and which of them real events match.

The real rules and events are skipped where the shared data does not lie beside the project (GSG_SHARED names another place for it).
"""

from __future__ import annotations

import json
import os
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gsg.channels.languages import predicate
from gsg.channels.languages.evaluation import holds
from gsg.channels.languages.relations import Relations
from gsg.channels.languages.source import compiled

ROOT = Path(__file__).resolve().parents[3]
SIGMA = Path(os.environ.get("GSG_SHARED", ROOT.parent / "shared")) / "data" / "sigma"
sys.path.append(str(ROOT / "examples"))  # examples are programs, which are started from their folder

from detection import Detection, findings, loaded, main, measured  # noqa: E402
from sigma_rules import Refused, translated  # noqa: E402
from sigma_sources import fields_of_log, source_text  # noqa: E402

real = pytest.mark.skipif(not SIGMA.exists(), reason=f"the rules are not at {SIGMA}")
RELATIONS = Relations()


def rule(condition: str = "selection", **selections: Any) -> dict[str, Any]:
    return {
        "id": "1",
        "title": "A rule",
        "author": "its author",
        "level": "low",
        "logsource": {"category": "test"},
        "detection": {**selections, "condition": condition},
    }


def says(given: dict[str, Any], **fields: Any) -> bool:
    """Whether a rule holds of an event of its log source, by both ways to say it."""
    condition = predicate.parse(translated(given).text, RELATIONS)
    event = {"logsource.category": "test", **{name.replace("__", "."): value for name, value in fields.items()}}
    answers = {holds(condition, event, {}, RELATIONS), compiled(condition, RELATIONS)(event, {})}
    assert len(answers) == 1
    return answers.pop()


# --- real rules and events ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def detection() -> Detection:
    return loaded(SIGMA / "rules.jsonl.gz")


@real
def test_all_rules_are_read_but_those_with_placeholders(detection: Detection) -> None:
    assert len(detection.rules) == 1_908
    assert detection.refused == {"placeholder": 2}
    assert "'%known_cdcs%' of Attributes by 'expand'" in detection.reasons[0][1]


@real
def test_every_event_is_matched_by_the_rules_that_it_names(detection: Detection) -> None:
    found = [finding for finding, _ in findings(detection, SIGMA / "events.jsonl.gz")]

    assert len(found) == 91
    assert [finding.missed for finding in found] == [[]] * 91


def test_what_is_printed_names_title_and_author(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = tmp_path / "rules.jsonl"
    rules.write_text("\n".join(map(json.dumps, [rule(selection={"a": 1}), rule(selection={"a|expand": "%list%"})])))
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps({"event": {"logsource": {"category": "test"}, "a": 1}, "rules": ["1"]}))

    assert main(["--rules", str(rules), "--events", str(events)]) == 0

    said = capsys.readouterr().out
    assert said.startswith("1 rules loaded in ")
    assert "1 refused: 1 for a placeholder" in said
    assert "event 1: A rule (low), by its author\n" in said
    assert "1 of 1 events matched by the rules that they name" in said


def test_what_is_printed_as_json_names_title_and_author(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = tmp_path / "rules.jsonl"
    rules.write_text(json.dumps(rule(selection={"a": 1})))
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps({"event": {"logsource.category": "test", "a": "1"}, "rules": ["1", "2"]}))

    assert main(["--json", "--rules", str(rules), "--events", str(events)]) == 1

    said = json.loads(capsys.readouterr().out)
    known = {"id": "1", "title": "A rule", "author": "its author", "level": "low"}
    assert said["events"] == [{"event": 1, "rules": [known], "missed": ["2"]}]


def test_a_file_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--rules", str(tmp_path / "none.jsonl")]) == 2

    assert "No such file" in capsys.readouterr().err


def test_a_line_that_is_no_object_is_told_with_its_number(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = tmp_path / "rules.jsonl"
    rules.write_text("{}\n[]\n")

    assert main(["--rules", str(rules)]) == 2

    assert "rules.jsonl, line 2: no JSON object; expected one a line" in capsys.readouterr().err


# --- what rules say -------------------------------------------------------------------------------------------------------------

SELECTIONS = {
    "case": ({"a": "X"}, {"a": "x"}, {"a": "xx"}),
    "all fields of a map": ({"a": "x", "b": "y"}, {"a": "x", "b": "y"}, {"a": "x"}),
    "one value of a list": ({"a": ["x", "y"]}, {"a": "y"}, {"a": "z"}),
    "one map of a list": ([{"a": "x"}, {"b": "y"}], {"b": "y"}, {"b": "x"}),
    "contains": ({"a|contains": "b"}, {"a": "aBc"}, {"a": "ac"}),
    "contains all": ({"a|contains|all": ["b", "c"]}, {"a": "bc"}, {"a": "b"}),
    "startswith": ({"a|startswith": "b"}, {"a": "bc"}, {"a": "ab"}),
    "endswith": ({"a|endswith": "\\b.exe"}, {"a": "c:\\B.EXE"}, {"a": "b.exe"}),
    "wildcard": ({"a": "x*y?z"}, {"a": "x1y2z"}, {"a": "x1yz"}),
    "wildcard at the end": ({"a": "x*"}, {"a": "xy"}, {"a": "ax"}),
    "wildcard in contains": ({"a|contains": "x*y"}, {"a": "0x1y2"}, {"a": "yx"}),
    "quoted wildcard": ({"a": "x\\*"}, {"a": "x*"}, {"a": "xy"}),
    "quoted backslash before a wildcard": ({"a": "x\\\\*"}, {"a": "x\\y"}, {"a": "x*"}),
    "backslash": ({"a": "\\x\\"}, {"a": "\\X\\"}, {"a": "x"}),
    "two backslashes": ({"a|startswith": "\\\\\\\\host"}, {"a": "\\\\host\\c$"}, {"a": "\\host"}),
    "any value": ({"a": "*"}, {"a": "x"}, {"a": None}),
    "null where nothing is": ({"a": None}, {}, {"a": "x"}),
    "null where null is": ({"a": None}, {"a": None}, {"a": 0}),
    "null where no text is": ({"a": None}, {"a": ""}, {"a": False}),
    "no text": ({"a": ""}, {"a": ""}, {}),
    "number beside a number": ({"a": 1}, {"a": 1}, {"a": True}),
    "number beside a text": ({"a": 10}, {"a": "10"}, {"a": "010"}),
    "text beside a number": ({"a": "10"}, {"a": 10}, {"a": 1}),
    "truth beside a text": ({"a": True}, {"a": "True"}, {"a": 1}),
    "truth": ({"a": True}, {"a": True}, {"a": False}),
    "regular expression": ({"a|re": "b[0-9]"}, {"a": "ab1"}, {"a": "aB1"}),
    "regular expression without regard to case": ({"a|re|i": "b[0-9]$"}, {"a": "aB1"}, {"a": "aB12"}),
    "network": ({"a|cidr": "10.0.0.0/8"}, {"a": "10.1.2.3"}, {"a": "11.1.2.3"}),
    "field": ({"a|fieldref": "b"}, {"a": "x", "b": "x"}, {"a": "x", "b": "y"}),
    "dash for slash": ({"a|contains|windash": " /f "}, {"a": "x -f y"}, {"a": "x +f y"}),
    "dashes of two options": ({"a|endswith|windash": " -s -i"}, {"a": "x /s \N{EN DASH}i"}, {"a": "x/s -i y"}),
    "no dash within a word": ({"a|contains|windash": "b-c"}, {"a": "b-c"}, {"a": "b/c"}),
    "base64": ({"a|base64|contains": "foobar"}, {"a": "x Zm9vYmFy"}, {"a": "foobar"}),
    "base64 from the second byte on": ({"a|base64offset|contains": "foobar"}, {"a": "eGZvb2Jhcng="}, {"a": "foobar"}),
    "base64 from the third byte on": ({"a|base64offset|contains": "foobar"}, {"a": "eHhmb29iYXI="}, {"a": "eHg="}),
    "base64 of wide characters": ({"a|wide|base64offset|contains": "ping"}, {"a": "cABpAG4AZwA="}, {"a": "cGluZw=="}),
    "name with a dot": ({"b.c": "x"}, {"b__c": "x"}, {"b": "x"}),
    "text in any field": (["x*z", "y"], {"b": "aXyZ"}, {"b": "x"}),
    "texts in any fields": ({"|all": ["x", 200]}, {"b": "x", "c": "200"}, {"b": "x"}),
}


@pytest.mark.parametrize(("selection", "event", "other"), SELECTIONS.values(), ids=SELECTIONS)
def test_a_selection_says(selection: Any, event: dict[str, Any], other: dict[str, Any]) -> None:
    assert says(rule(selection=selection), **event)
    assert not says(rule(selection=selection), **other)


CONDITIONS = {
    "not before and before or": ("s1 or s2 and not s3", {"b": 1, "c": 0}, {"b": 1, "c": 1}),
    "brackets": ("(s1 or s2) and s3", {"a": 1, "c": 1}, {"a": 1}),
    "not of brackets": ("not (s1 or s2)", {"c": 1}, {"b": 1}),
    "one of several": ("1 of s*", {"b": 1}, {"d": 1}),
    "all of several": ("all of s*", {"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 1}),
    "one of them, but for names that begin with _": ("1 of them", {"d": 1}, {"e": 1}),
    "all of them": ("all of them", {"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 1}),
    "capitals": ("s1 AND NOT 1 OF t*", {"a": 1}, {"a": 1, "d": 1}),
}
NAMED = {"s1": {"a": 1}, "s2": {"b": 1}, "s3": {"c": 1}, "t1": {"d": 1}, "_e": {"e": 1}}


@pytest.mark.parametrize(("condition", "event", "other"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_condition_says(condition: str, event: dict[str, Any], other: dict[str, Any]) -> None:
    assert says(rule(condition, **NAMED), **event)
    assert not says(rule(condition, **NAMED), **other)


REFUSED = {
    "placeholder": ({"selection": {"a|contains|expand": "%x%"}}, "selection", "'%x%' of a by 'expand'"),
    "unknown modifier": ({"selection": {"a|gte": 3}}, "selection", "3 of a by 'gte'; expected one of contains, startswith"),
    "wide without base64": ({"selection": {"a|wide|contains": "x"}}, "selection", "'x' of a by 'wide'"),
    "wildcard in base64": ({"selection": {"a|base64|contains": "x*"}}, "selection", "a value with wildcards cannot be"),
    "no value": ({"selection": {"a": []}}, "selection", "no value for 'a'"),
    "no field": ({"selection": {"|contains": "x"}}, "selection", "'|contains' without a field"),
    "many dashes": ({"selection": {"a|windash|contains": " -a -b -c -d -e"}}, "selection", "a value with 5 dashes by 'windash'"),
    "no such selection": ({"s": {"a": 1}}, "s and t", "no selection is called 't' in 's and t'"),
    "none of several": ({"s": {"a": 1}}, "1 of t*", "'1' of 't*'; expected 1 or all, of selections that are there"),
    "a count": ({"s": {"a": 1}}, "2 of s*", "'2' of 's*'"),
    "open bracket": ({"s": {"a": 1}}, "(s", "'( s' ends too early"),
    "bracket closed twice": ({"s": {"a": 1}}, "(s))", "')' where '( s ) )' should end"),
    "deep brackets": ({"s": {"a": 1}}, "(" * 30 + "s" + ")" * 30, "nested more than 20 deep"),
    "long condition": ({"s": {"a": 1}}, " or ".join(["s"] * 200), "399 words; expected at most 200"),
    "deep lists": ({"s": [[[[[[[[[[[[[[[[[[[[[[["x"]]]]]]]]]]]]]]]]]]]]]]]}, "s", "lists nested more than 20 deep"),
}


@pytest.mark.parametrize(("selections", "condition", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_translated_is_refused_by_name(selections: dict[str, Any], condition: str, problem: str) -> None:
    with pytest.raises(Refused) as refused:
        translated(rule(condition, **selections))

    assert problem in str(refused.value)


def test_a_rule_that_lacks_a_part_is_refused() -> None:
    with pytest.raises(Refused, match="incomplete: no 'detection'; expected id, title, author, logsource and detection"):
        translated({"id": "1", "logsource": {}})


def test_a_regular_expression_with_look_around_is_counted_as_one_of_the_predicate_language() -> None:
    detection = Detection()

    detection.subscribe(rule(selection={"a|re": "(?!b)c"}))

    assert detection.refused == {"predicate": 1}
    assert "it has no look-around" in detection.reasons[0][1]


# --- log sources and events -----------------------------------------------------------------------------------------------------

RECORD = {
    "Event": {
        "#attributes": {"xmlns": "x"},
        "System": {
            "Provider": {"#attributes": {"Name": "Microsoft-Windows-Sysmon", "Guid": "G"}},
            "EventID": 1,
            "Channel": "Microsoft-Windows-Sysmon/Operational",
            "Computer": "host1",
            "Correlation": None,
        },
        "EventData": {"Image": "a.exe", "Channel": "another", "Data": {"#text": ["one", 2]}},
    }
}


def test_a_record_of_windows_has_the_fields_that_rules_name() -> None:
    assert fields_of_log(RECORD) == {
        "Image": "a.exe",
        "Data": "one\n2",
        "Provider_Name": "Microsoft-Windows-Sysmon",
        "Provider_Guid": "G",
        "EventID": 1,
        "Channel": "Microsoft-Windows-Sysmon/Operational",
        "Computer": "host1",
        "Correlation": None,
    }


def test_user_data_of_windows_has_a_name_around_it_that_rules_leave_out() -> None:
    record = {"Event": {"System": {"EventID": 5858}, "UserData": {"Operation": {"#attributes": {"xmlns": "x"}, "User": "u"}}}}

    assert fields_of_log(record) == {"EventID": 5858, "User": "u"}


def test_another_record_has_the_names_of_inner_records_joined_by_dots() -> None:
    assert fields_of_log({"a": {"b": {"c": 1}, "d": [1, "x"]}}) == {"a.b.c": 1, "a.d": "1\nx"}


SOURCES = {
    "category": ({"product": "windows", "category": "process_creation"}, True),
    "category of another event": ({"product": "windows", "category": "file_event"}, False),
    "category of another channel": ({"product": "windows", "category": "ps_script"}, False),
    "service": ({"product": "windows", "service": "sysmon"}, True),
    "another service": ({"product": "windows", "service": "security"}, False),
    "all of Windows": ({"product": "windows"}, True),
    "category by a driver of its own": ({"product": "windows", "category": "file_access"}, False),
    "another product": ({"product": "linux", "category": "process_creation"}, False),
    "category of no product": ({"category": "webserver"}, False),
}


@pytest.mark.parametrize(("source", "is_its"), SOURCES.values(), ids=SOURCES)
def test_an_event_is_of_a_log_source(source: dict[str, str], is_its: bool) -> None:
    assert holds(predicate.parse(source_text(source), RELATIONS), fields_of_log(RECORD), {}, RELATIONS) is is_its


def test_whoever_collects_a_log_says_what_it_is() -> None:
    condition = predicate.parse(source_text({"product": "linux", "service": "sshd"}), RELATIONS)

    assert holds(condition, fields_of_log({"logsource": {"product": "linux", "service": "sshd"}}), {}, RELATIONS)
    assert not holds(condition, fields_of_log({"logsource": {"product": "linux", "service": "cron"}}), {}, RELATIONS)


def test_speed_is_measured_by_the_clock_that_is_given() -> None:
    detection = Detection()
    detection.subscribe(rule(selection={"a": 1}))
    ticks = count()

    speed = measured(detection, [{"a": 1}], lambda: next(ticks) / 8)

    assert speed.compile == pytest.approx(speed.scan)
    assert speed.scan > 0
