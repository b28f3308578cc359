"""As much of Helm as the chart of contrib/ needs: values, pipes, and parts that stand under a condition.

What the chart uses beyond that fails here, so that nobody takes a template for tried that was not.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "contrib" / "helm" / "gsg"
_TAG = re.compile(r"(?:\n[ ]*)?\{\{-[ ]*(if|else|end)\b([^}]*)\}\}|(?:\n[ ]*)?\{\{-[ ]*([^}]*)\}\}|\{\{[ ]*([^}]*)\}\}")


def default_values() -> dict[str, Any]:  # Any: as YAML has it
    """What stands in values.yaml."""
    values: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    return values


def render(values: dict[str, Any], release: str = "gsg") -> dict[str, dict[str, Any]]:
    """The objects of the chart by kind and name."""
    about = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    scope = {"Values": values, "Release": {"Name": release}, "Chart": {"AppVersion": about["appVersion"]}}
    made = [yaml.safe_load(_text(path.read_text("utf-8"), scope)) for path in sorted((CHART / "templates").glob("*.yaml"))]
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in made}


def _text(template: str, scope: dict[str, Any]) -> str:
    out, at, shown = "", 0, [True]
    for tag in _TAG.finditer(template):
        word, condition, trimmed, plain = tag.groups()
        if all(shown):
            out += template[at : tag.start()]
        at = tag.end()
        if word == "if":
            shown.append(bool(_value(condition.strip(), scope)))
        elif word == "else":
            shown[-1] = not shown[-1]
        elif word == "end":
            shown.pop()
        elif all(shown):
            out += str(_value((trimmed or plain).strip(), scope))
    assert shown == [True], "each if has its end"
    return out + template[at:]


def _value(expression: str, scope: dict[str, Any]) -> Any:
    first, *pipes = (part.strip() for part in expression.split("|"))
    words = first.split()
    value = _of(words[-1], scope)
    for call in [*([words[0]] if len(words) == 2 else []), *pipes]:
        name, *arguments = call.split()
        match name:
            case "quote":
                value = json.dumps(str(value))
            case "default":
                value = value or _of(arguments[0], scope)
            case "toYaml":
                value = yaml.safe_dump(value).rstrip()
            case "nindent":
                value = "\n" + indent(value, " " * int(arguments[0]))
            case _:
                raise AssertionError(f"{name} in {expression}: teach chart.py what it does")
    return value


def _of(path: str, scope: dict[str, Any]) -> Any:
    assert path.startswith("."), f"{path} is no path into the values"
    found: Any = scope
    for name in path.split(".")[1:]:
        found = found[name]
    return found
