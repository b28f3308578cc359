"""The table of figures, the registry, the alert rules and the dashboard say the same."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import gsg.http.page
from gsg.monitoring.metrics import METRICS, Kind

CONTRIB = Path(__file__).resolve().parents[2] / "contrib"
SERIES = re.compile(r"\b(?:gsg|process)_[a-z_]+")


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """contrib/prometheus/alert_rules.py."""
    spec = importlib.util.spec_from_file_location("alert_rules", CONTRIB / "prometheus" / "alert_rules.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(generator: ModuleType) -> str:
    text: str = generator.PAGE.read_text("utf-8")
    return text


def test_every_figure_has_one_place_in_the_table_with_its_type(generator: ModuleType) -> None:
    figures = generator.figures(page(generator))

    assert [name for name, count in Counter(metric.name for metric, _ in figures).items() if count > 1] == []
    assert {metric.name for metric, _ in figures} == set(METRICS)
    assert [metric.name for metric, row in figures if row.kind != metric.kind.value] == []


def test_every_figure_of_pedro_is_explained_on_its_page() -> None:
    pedro = (CONTRIB.parent / "docs" / "pedro.md").read_text("utf-8")

    assert [name for name in METRICS if name.startswith("pedro_") and f"| `{name}` |" not in pedro] == []


def test_the_rules_are_those_that_the_table_makes(generator: ModuleType) -> None:
    assert generator.RULES.read_text("utf-8") == generator.document(page(generator))


def test_prometheus_reads_the_rules(generator: ModuleType) -> None:
    [group] = yaml.safe_load(generator.RULES.read_text("utf-8"))["groups"]
    rules = {rule["alert"]: rule for rule in group["rules"]}

    assert len(rules) == len(group["rules"]) > 20
    assert rules["GsgDiskFailures"]["expr"] == "increase(gsg_disk_failures_total[10m]) > 0"
    assert rules["GsgDiskFailures"]["labels"] == {"severity": "critical"}
    assert (rules["GsgDiskWaiting"]["expr"], rules["GsgDiskWaiting"]["for"]) == ("gsg_disk_waiting > 10000", "5m")
    assert rules["GsgReady"]["expr"] == "gsg_ready < 1"
    assert rules["GsgEventRow"]["expr"].startswith(
        "histogram_quantile(0.99, sum by (job, instance, le) (rate(gsg_event_row_seconds_"
    )
    assert {rule["labels"]["severity"] for rule in rules.values()} == {"critical", "warning"}
    assert [name for name, rule in rules.items() if "](" in rule["annotations"]["description"]] == []


def test_a_cell_that_says_nothing_known_is_refused(generator: ModuleType) -> None:
    row = generator.Row(["ready"], "gauge", "", "sometimes")

    with pytest.raises(ValueError, match="'sometimes' as the alert of ready; expected such as critical, warning above 10, or -"):
        generator.rule_of(METRICS["ready"], row)


def known_series() -> set[str]:
    of_process = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
    histograms = {
        f"{metric.family}{end}" for metric in METRICS.values() if metric.kind is Kind.HISTOGRAM for end in ("_sum", "_count")
    }
    return {metric.sample for metric in METRICS.values()} | histograms | of_process | {"gsg_build_info"}


def test_the_dashboard_asks_for_series_that_there_are() -> None:
    dashboard = json.loads((CONTRIB / "grafana" / "gsg.json").read_text("utf-8"))

    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    named = {series for expr in asked if "__name__" not in expr for series in SERIES.findall(expr)}
    assert len(named) > 15
    assert named - known_series() == set()


def test_what_has_grown_is_looked_for_among_all_counters_that_tell_of_trouble() -> None:
    dashboard = json.loads((CONTRIB / "grafana" / "gsg.json").read_text("utf-8"))
    [expr] = [
        target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", []) if "__name__" in target["expr"]
    ]
    [pattern] = re.findall(r'__name__=~"([^"]+)"', expr)

    counters = {metric.sample for metric in METRICS.values() if metric.kind is Kind.COUNTER}
    assert {each for each in counters if not re.fullmatch(pattern, each)} == {
        f"gsg_{name}_total"
        for name in (
            *("published", "matched", "sent_messages", "sent_bytes", "links_held", "templates_fanned_out"),
            *("feed_changes_received", "feed_facts_received", "feed_events_received"),
        )
    }


def test_panels_lie_beside_each_other_and_have_names_of_their_own() -> None:
    panels = json.loads((CONTRIB / "grafana" / "gsg.json").read_text("utf-8"))["panels"]
    places = Counter(
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    )

    assert [place for place, count in places.items() if count > 1 or place[0] > 23] == []
    assert len({panel["title"] for panel in panels}) == len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_takes_the_rules(generator: ModuleType) -> None:
    subprocess.run(["promtool", "check", "rules", str(generator.RULES)], check=True, timeout=60)


def test_the_page_of_a_peer_has_the_advice_of_the_table(generator: ModuleType) -> None:
    [file] = Path(gsg.http.page.__file__).with_name("files").glob("advice-*.json")
    told = {tuple(row["names"]): row for row in json.loads(file.read_text("utf-8"))}

    rows = generator.rows(page(generator))
    assert {names: row["kind"] for names, row in told.items()} == {tuple(row.names): row.kind for row in rows}
    for row in rows:
        of_page = told[tuple(row.names)]
        severity = row.alert.partition(" ")[0]
        assert of_page["severity"] == ("" if severity == "-" else severity)
        words = re.findall(r"\w+", of_page["text"])
        assert len(words) > 2
        assert set(words) <= set(re.findall(r"\w+", row.text)), f"{row.names}: make the page again, cd web && node build.mjs"
