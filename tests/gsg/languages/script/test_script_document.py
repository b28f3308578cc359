"""The document of GSG script says what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gsg.errors import BadText
from gsg.languages.script import parse

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "script.md"


def examples() -> list[str]:
    pages = [DOCUMENT, DOCUMENT.parents[1] / "examples" / "README.md", DOCUMENT.parents[1] / "README.md"]
    return [text for page in pages for text in re.findall(r"```gsg\n(.*?)```", page.read_text("utf-8"), re.DOTALL)]


@pytest.mark.parametrize("text", examples())
def test_the_examples_of_the_documents_are_right(text: str) -> None:
    assert parse(text)


def mistakes() -> list[tuple[str, str]]:
    return re.findall(r"```gsg-mistake\n(.*?)```\n+```text\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize(("text", "answer"), mistakes())
def test_the_mistakes_of_the_document_are_answered_as_it_says(text: str, answer: str) -> None:
    with pytest.raises(BadText) as caught:
        parse(text)

    assert str(caught.value) == answer.rstrip("\n")
