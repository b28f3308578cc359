"""Makes alerts.yml, the alert rules for Prometheus, from the table of figures in docs/operating.md.

    python contrib/prometheus/alert_rules.py          writes contrib/prometheus/alerts.yml

The last column of the table says of each figure when somebody is to look: ``critical`` or ``warning``, and behind it ``above N`` or
``below N``; nothing more means above 0, and ``-`` never. Of a histogram the slowest hundredth is meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gsg.monitoring.metrics import METRICS, Kind, Metric

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operating.md"
RULES = Path(__file__).with_name("alerts.yml")

GROWN_WITHIN, LASTS = "10m", "5m"
_ALERT = re.compile(r"(critical|warning)(?: (above|below) ([\d,.]+))?")


class Row(NamedTuple):
    """One of the table: what it is about, and its cells. A name that ends in ``...`` stands for all that begin so."""

    names: list[str]
    kind: str
    text: str
    alert: str


class Rule(NamedTuple):
    """An alert."""

    alert: str
    expr: str
    lasts: str
    severity: str
    summary: str
    description: str

    def lines(self) -> Iterator[str]:
        """As YAML, of which JSON's texts are a part."""
        yield f"      - alert: {self.alert}"
        yield f"        expr: {json.dumps(self.expr)}"
        if self.lasts:
            yield f"        for: {self.lasts}"
        yield "        labels:"
        yield f"          severity: {self.severity}"
        yield "        annotations:"
        yield f"          summary: {json.dumps(self.summary)}"
        yield f"          description: {json.dumps(self.description)}"


def rows(page: str) -> list[Row]:
    """Those of the table of figures."""
    table = page.partition("| name | type | what it says, or when it grows | alert |\n")[2].partition("\n\n")[0]
    found = []
    for line in table.splitlines()[1:]:
        names, kind, text, alert = (cell.strip() for cell in line.strip("|").split("|"))
        found.append(Row(re.findall(r"`([a-z_.]+)`", names), kind, text, alert))
    return found


def figures(page: str) -> list[tuple[Metric, Row]]:
    """Each figure with the row that is about it. Raises KeyError for a name that the registry does not know."""
    named = {name for row in rows(page) for name in row.names}
    found = []
    for row in rows(page):
        for name in row.names:
            if name.endswith("..."):
                like = [each for each in METRICS if each.startswith(name.removesuffix("...")) and each not in named]
                found += [(METRICS[each], row) for each in like]
            else:
                found.append((METRICS[name], row))
    return found


def rule_of(metric: Metric, row: Row) -> Rule | None:
    """The alert on a figure, None for none. Raises ValueError for a cell that says nothing known."""
    if row.alert == "-":
        return None
    read = _ALERT.fullmatch(row.alert)
    if read is None:
        raise ValueError(f"{row.alert!r} as the alert of {metric.name}; expected such as critical, warning above 10, or -")
    severity, side, limit = read.groups()
    sign, bound = "<" if side == "below" else ">", (limit or "0").replace(",", "")
    lasts = LASTS
    if metric.kind is Kind.COUNTER:
        expr, lasts = f"increase({metric.sample}[{GROWN_WITHIN}]) {sign} {bound}", ""
    elif metric.kind is Kind.HISTOGRAM:
        expr = f"histogram_quantile(0.99, sum by (job, instance, le) (rate({metric.sample}[{LASTS}]))) {sign} {bound}"
    else:
        expr = f"{metric.sample} {sign} {bound}"
    name = "".join(word.capitalize() for word in metric.name.split("_"))
    plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", row.text).replace("`", "")
    return Rule(f"Gsg{name}", expr, lasts, severity, f"{metric.name.replace('_', ' ')} at {{{{ $labels.instance }}}}", plain)


PEER_DOWN = Rule(
    "GsgPeerDown",
    'up{job="gsg"} == 0',
    "1m",
    "critical",
    "no answer from {{ $labels.instance }}",
    "the peer is dead, hangs or is cut off: docs/operating.md, When something is wrong",
)
"""That there are no figures is told by Prometheus' own."""


def document(page: str) -> str:
    """The rules as a file."""
    rules = [PEER_DOWN, *(rule for metric, row in figures(page) if (rule := rule_of(metric, row)) is not None)]
    head = "# Made by alert_rules.py from the table of figures in docs/operating.md: change that."
    lines = [head, "groups:", "  - name: gsg", "    rules:"]
    for rule in rules:
        lines += rule.lines()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    RULES.write_text(document(PAGE.read_text("utf-8")), "utf-8")
