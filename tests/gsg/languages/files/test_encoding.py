"""What the bytes of a text may be, and what is said of those that are none."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import dht
from gsg import Network
from gsg.errors import BadText, LocalError
from gsg.languages import parse_query
from gsg.languages.files.encoding import HEAD_BYTES, decoded, foreign, read_text
from gsg.network import allowed_from

MARK = b"\xef\xbb\xbf"


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(MARK + "größer".encode())

    assert read_text(path) == decoded(path.read_bytes(), "a.txt") == "größer"
    assert decoded("a\ufeffb".encode(), "a.txt") == "a\ufeffb"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", ["<http://example.org/a>", "INSERT { (a) }", "größer"])
def test_wide_texts_are_refused_by_name(encoding: str, text: str) -> None:
    with pytest.raises(LocalError, match=rf"^cannot read a: it is {encoding[:6].upper()}; save it as UTF-8"):
        decoded(text.encode(encoding), "a")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b"INSERT { (a) }", mtime=0), "it is packed by gzip; unpack it first (gunzip)"),
        (b"PK\x03\x04....", "it is packed by zip; unpack it first (unzip)"),
        (b"BZh91AY&SY..", "it is packed by bzip2; unpack it first (bunzip2)"),
    ],
)
def test_packed_files_are_refused_by_name(data: bytes, said: str) -> None:
    assert foreign(data[:HEAD_BYTES]) == said


@pytest.mark.parametrize("data", [b"", b"a", b"\0", b"BZh are three letters", b"PK", "é".encode(), b"a\0b", b"\0\0\0\0"])
def test_short_and_odd_texts_are_texts(data: bytes) -> None:
    assert foreign(data[:HEAD_BYTES]) == ""


def test_a_byte_that_is_no_utf8_is_told_with_its_line_and_its_offset() -> None:
    with pytest.raises(BadText) as caught:
        decoded("é\nab".encode() + b"\xe9!", "a.gsg")

    assert (caught.value.line, caught.value.column) == (2, 3)
    assert "byte E9 is no UTF-8; expected a text in UTF-8 (5 bytes stand before it" in str(caught.value)


def test_a_secret_and_a_list_of_peers_are_the_same_with_a_mark_before_them() -> None:
    assert Network(MARK + b"what only members know\n") == Network(b"what only members know")
    assert allowed_from("\ufeff" + "ab" * dht.ID_BYTES) == {b"\xab" * dht.ID_BYTES}


@pytest.mark.parametrize(("language", "text"), [("gsg", "(?x, ^on, ?y)"), ("sparql", "SELECT ?x WHERE { ?x <x:on> ?y }")])
def test_a_query_is_the_same_with_a_mark_before_it(language: str, text: str) -> None:
    assert parse_query("\ufeff" + text, language) == parse_query(text, language)
