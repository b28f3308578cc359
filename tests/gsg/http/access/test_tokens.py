"""The token file of a door."""

from __future__ import annotations

import logging
import os
from hashlib import sha256
from pathlib import Path

import pytest
from token_files import written

import gsg.http.access.tokens
from gsg import BadText, LocalError
from gsg.http.access.principals import Principal, Role
from gsg.http.access.tokens import MAX_FILE_BYTES, TokenFile, Tokens, digest_of, parse_tokens

TOKEN = "0123456789abcdef"
READER = bytes(range(20))


def test_a_line_says_who_has_a_token_and_what_they_may_do() -> None:
    tokens = parse_tokens(f"# who\n\n{TOKEN}\tread,publish kitchen # the sensor\n{TOKEN}1 publish meter {READER.hex()}\n")

    digest, other = digest_of(TOKEN), digest_of(TOKEN + "1")
    assert tokens.by_digest(digest) == Principal("kitchen", frozenset({Role.READ, Role.PUBLISH}), None, digest)
    assert tokens.by_digest(other) == Principal("meter", frozenset({Role.PUBLISH}), frozenset({READER}), other)
    assert tokens.by_digest(digest_of(TOKEN + "2")) is None
    assert len(tokens) == 2


def test_a_file_may_have_the_hash_of_a_token_instead() -> None:
    tokens = parse_tokens(f"sha256:{sha256(TOKEN.encode()).hexdigest()} admin me")

    assert tokens.by_digest(digest_of(TOKEN)) == Principal("me", frozenset({Role.ADMIN}), None, digest_of(TOKEN))


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

    written(tmp_path / "tokens", [f"{TOKEN} read,publish me", f"{TOKEN}1 read you"])
    file.refresh()

    assert len(file.tokens) == 2
    tokens = file.tokens
    file.refresh()
    assert file.tokens is tokens  # it was not read again


def test_what_is_written_while_a_file_is_read_is_seen_at_the_next_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "tokens", [f"{TOKEN} read me"])
    file = TokenFile(path)
    load = gsg.http.access.tokens._load

    def load_beside_a_writer(found: Path) -> Tokens:
        try:
            return load(found)
        finally:
            written(path, [f"{TOKEN} read me", f"{TOKEN}1 read you"])

    monkeypatch.setattr(gsg.http.access.tokens, "_load", load_beside_a_writer)
    written(path, ["begun"])
    file.refresh()
    monkeypatch.setattr(gsg.http.access.tokens, "_load", load)
    file.refresh()

    assert len(file.tokens) == 2


def test_a_file_that_cannot_be_read_any_more_leaves_what_it_said_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "tokens", [f"{TOKEN} read me"])
    file = TokenFile(path)

    written(path, ["nonsense"])
    file.refresh()
    file.refresh()
    path.unlink()
    file.refresh()
    file.refresh()

    assert len(file.tokens) == 1
    assert file.is_stale
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    assert "the tokens stay as they were" in caplog.text
    written(path, [f"{TOKEN} read me", f"{TOKEN}1 read you"])
    file.refresh()
    assert len(file.tokens) == 2
    assert not file.is_stale


def test_a_file_that_has_no_token_at_two_looks_lets_nobody_in(tmp_path: Path) -> None:
    path = written(tmp_path / "tokens", [f"{TOKEN} read me"])
    file = TokenFile(path)

    written(path, ["# written anew"])
    file.refresh()
    assert len(file.tokens) == 1
    file.refresh()
    assert (len(file.tokens), file.is_stale) == (0, False)
    written(path, [f"{TOKEN} read me"])
    file.refresh()
    assert len(file.tokens) == 1


def test_two_tokens_of_one_name_are_told_apart() -> None:
    tokens = parse_tokens(f"{TOKEN} read me\n{TOKEN}1 read me")

    assert tokens.by_digest(digest_of(TOKEN)) != tokens.by_digest(digest_of(TOKEN + "1"))


@pytest.mark.skipif(os.name != "posix", reason="files have no modes here")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path / "tokens", [f"{TOKEN} read me"])
    path.chmod(mode)

    with pytest.raises(LocalError, match="can be written by others"):
        TokenFile(path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a file to somebody")
def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "tokens", [f"{TOKEN} read me"])
    os.chown(path, 12_345, 12_345)

    with pytest.raises(LocalError, match=r"is another user's \(uid 12345\)"):
        TokenFile(path)


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
