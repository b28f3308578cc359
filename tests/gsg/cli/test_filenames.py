"""Names of files that are none."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from gsg.cli import main

URL = "http://example.org/data.nt"


@pytest.mark.parametrize(
    "arguments",
    [
        ["subscribe", "--file", URL],
        ["explain", "--file", URL],
        ["peer", "--secret-file", URL],
        ["peer", "--allow-peers", URL],
        ["peer", "--pedro", ":0", "--pedro-secret", URL],
        ["publish", URL],
    ],
    ids=lambda arguments: " ".join(arguments[:-1]),
)
def test_a_url_is_no_file_and_is_shown_as_it_was_given(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 2
    assert URL in result.stderr
    assert f"fetch it first, such as with curl -O {URL}" in result.stderr
