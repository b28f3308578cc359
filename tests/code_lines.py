"""Lines of product code without blanks, comments and docstrings, by room: python tests/code_lines.py [FOLDER ...]"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

from import_graph import PACKAGES, ROOT

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """Lines of a module that hold code; a string that stands alone, as docstrings do, is none."""
    said: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            said.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - said)


def rooms(folders: list[Path]) -> dict[Path, int]:
    """Lines of code of each folder that holds modules, those of its subfolders apart."""
    found: dict[Path, int] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            found[path.parent] = found.get(path.parent, 0) + code_lines(path.read_text("utf-8"))
    return found


if __name__ == "__main__":
    counted = rooms([Path(each).resolve() for each in sys.argv[1:]] or [ROOT / package for package in PACKAGES])
    for folder, lines in counted.items():
        print(f"{lines:7,} {folder.relative_to(ROOT)}")
    print(f"{sum(counted.values()):7,} in all")
