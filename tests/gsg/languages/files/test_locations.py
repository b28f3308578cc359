"""What is a path of this machine, and what only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gsg.errors import LocalError
from gsg.languages.files.locations import path_of, scheme_of
from gsg.monitoring.trace_recorder import Parts


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ("s3://bucket/name", "s3"),
        ("s3a://bucket", "s3a"),
        ("gs://bucket/name", "gs"),
        ("dbfs:/name", "dbfs"),
        ("hdfs:///name", "hdfs"),
        ("abfss://box@account.example.org/name", "abfss"),
        ("https://example.org/t.nt", "https"),
        ("S3://Bucket", "S3"),
        (str(Path("s3://bucket/name")), "s3"),
    ],
)
def test_a_place_of_another_file_system_is_known_by_its_scheme(text: str, scheme: str) -> None:
    assert scheme_of(text) == scheme


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("results", "results"),
        ("/a/s3:/b", "/a/s3:/b"),
        ("./s3:/b", "s3:/b"),
        ("C:/Users/results", "C:/Users/results"),
        ("a:b", "a:b"),
        ("10:30/run", "10:30/run"),
        ("file:///a/two%20words", "/a/two words"),
        ("file:/a/b", "/a/b"),
    ],
)
def test_all_else_is_a_path_of_this_machine(text: str, path: str) -> None:
    assert scheme_of(text) is None
    assert path_of(text) == Path(path)


def test_a_trace_goes_to_this_machine_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(LocalError, match="cannot trace to gs: that is another file system; expected a folder of this machine"):
        Parts(Path("gs://bucket/traces"), bytes(20), 1)

    assert list(tmp_path.iterdir()) == []
