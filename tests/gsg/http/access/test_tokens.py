"""The token file of a door."""

from __future__ import annotations

import logging
import os
from hashlib import sha256
from pathlib import Path

import pytest
from token_files import written

from gsg import BadText, LocalError
from gsg.http.access.principals import Principal, Role
from gsg.http.access.tokens import MAX_FILE_BYTES, TokenFile, digest_of, parse_tokens

TOKEN = "0123456789abcdef"
READER = bytes(range(20))


def test_a_line_says_who_has_a_token_and_what_they_may_do() -> None:
    tokens = parse_tokens(f"# who\n\n{TOKEN}\tread,publish kitchen # the sensor\n{TOKEN}1 publish meter {READER.hex()}\n")

    assert tokens.by_digest(digest_of(TOKEN)) == Principal("kitchen", frozenset({Role.READ, Role.PUBLISH}))
    assert tokens.by_digest(digest_of(TOKEN + "1")) == Principal("meter", frozenset({Role.PUBLISH}), frozenset({READER}))
    assert tokens.by_digest(digest_of(TOKEN + "2")) is None
    assert len(tokens) == 2


def test_a_file_may_have_the_hash_of_a_token_instead() -> None:
    tokens = parse_tokens(f"sha256:{sha256(TOKEN.encode()).hexdigest()} admin me")

    assert tokens.by_digest(digest_of(TOKEN)) == Principal("me", frozenset({Role.ADMIN}))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("secret read", '2 fields; expected "TOKEN ROLES NAME"'),
        (f"{TOKEN} read a b c", "5 fields"),
        ("short read me", "the token of me has 5 characters; expected 16 to 1000"),
        (f"{'x' * 1_001} read me", "the token of me has 1001 characters"),
        (f"{TOKEN}ä read me", "the token of me has 17 characters"),
        (f"{TOKEN} write me", "'write' as a role of me; expected read, publish, admin"),
        (f"{TOKEN} read, me", "'' as a role of me"),
        (f"{TOKEN} read me/you", "'me/you' as a name"),
        ("sha256:0f read me", "no SHA-256 of the token of me; expected 64 hexadecimal digits"),
        (f"sha256:{'g' * 64} read me", "no SHA-256"),
        (f"{TOKEN} publish me 00ff", "'00ff' in an audience is no peer id"),
        (f"{TOKEN} read a\n{TOKEN} read b", "the token of b is that of a too"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_without_the_token(line: str, problem: str) -> None:
    with pytest.raises(BadText) as told:
        parse_tokens(f"\n{line}\n")

    assert problem in str(told.value)
    assert told.value.line == (3 if "\n" in line else 2)
    assert TOKEN not in str(told.value)


@pytest.mark.parametrize("text", ["", "# nobody\n"])
def test_a_file_without_tokens_is_none(text: str) -> None:
    with pytest.raises(LocalError, match="no token in it"):
        parse_tokens(text)


def test_what_a_file_says_holds_from_when_it_is_written(tmp_path: Path) -> None:
    file = TokenFile(written(tmp_path / "tokens", [f"{TOKEN} read me"]))

    assert not file.refresh()
    written(tmp_path / "tokens", [f"{TOKEN} read,publish me", f"{TOKEN}1 read you"])
    assert file.refresh()
    assert len(file.tokens) == 2
    assert not file.refresh()


def test_a_file_that_cannot_be_read_any_more_leaves_what_it_said_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "tokens", [f"{TOKEN} read me"])
    file = TokenFile(path)

    written(path, ["nonsense"])
    assert not file.refresh()
    assert not file.refresh()
    path.unlink()
    assert not file.refresh()
    assert not file.refresh()

    assert len(file.tokens) == 1
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    assert "the tokens stay as they were" in caplog.text
    written(path, [f"{TOKEN} read me", f"{TOKEN}1 read you"])
    assert file.refresh()


def test_a_file_that_is_none_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="no such file or directory; make one with `\\(umask 077; echo"):
        TokenFile(tmp_path / "nowhere")
    (tmp_path / "long").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(LocalError, match="longer than a token file may be, 1,048,576 bytes"):
        TokenFile(tmp_path / "long")
    (tmp_path / "latin").write_bytes(b"\xff")
    with pytest.raises(LocalError, match="no text in UTF-8"):
        TokenFile(tmp_path / "latin")
    with pytest.raises(BadText, match=r"line 1, column 1: 1 fields"):
        TokenFile(written(tmp_path / "wrong", ["x"]))


@pytest.mark.skipif(os.name != "posix", reason="files have no modes here")
def test_a_file_that_others_can_read_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path / "tokens", [f"{TOKEN} read me"])
    path.chmod(0o644)

    TokenFile(path)

    assert "can be read by others (mode 0644); chmod 600 it" in caplog.text
