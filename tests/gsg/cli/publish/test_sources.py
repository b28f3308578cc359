"""What gsg publish reads, before a peer is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from gsg.cli.publish.sources import check, opened
from gsg.errors import LocalError

FORGED = "a\n+ ?who=admin.nt"


def test_the_name_of_a_file_makes_no_line_of_its_own_in_what_is_said(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"a\\u000A\+ \?who=admin\.nt: there is no such file"):
        check(str(tmp_path / FORGED), None)
    (tmp_path / FORGED).mkdir()
    with pytest.raises(LocalError, match="is a directory") as folder:
        check(str(tmp_path / FORGED), None)

    assert "\n" not in str(folder.value)


def test_a_mistake_in_a_file_is_told_by_a_name_of_one_line(tmp_path: Path) -> None:
    (tmp_path / FORGED).write_text("")

    with opened(str(tmp_path / FORGED), None, None) as source:
        assert source.name == "a\\u000A+ ?who=admin.nt"
