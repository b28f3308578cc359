"""The options of ``readStream`` and ``read``: what each may be, and what an option that is none is told.

Spark hands options over as texts and does not look at case.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ..errors import BadParameter

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from gsg import AsyncClient

OF_STREAM = ("spool", "maxRowsPerBatch", "maxSpoolBytes", "onGap")
OF_QUERY = ("peers", "query", "language", "termFormat", "maxTokens", "tokenFile", "caFile", "certFile", "keyFile")
OF_SPARK = ("path",)
"""What Spark adds by itself: load("...") is refused with the other options in mind."""

ON_GAP = ("warn", "row", "fail")
"""Where events may have been missed: a warning in the log, that and a row without a sign, or the end of the stream."""


@dataclass(frozen=True)
class SourceOptions:
    """What somebody wants to read. Made by :func:`source_options`."""

    peers: str
    query: str
    language: str = "gsg"
    term_format: str = "plain"
    max_tokens: int | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    spool: Path | None = None
    max_rows: int | None = None
    """Rows of a micro-batch at most."""
    max_spool_bytes: int | None = None
    on_gap: str = "warn"

    def variables(self) -> tuple[str, ...]:
        """The variables of the query. Raises BadParameter for a query that is none: its first line says where and why."""
        from gsg.errors import LocalError
        from gsg.languages import parse_query

        try:
            return parse_query(self.query, self.language).select
        except LocalError as error:
            raise BadParameter(f"the option query: {error}") from None

    def connect(self, **more: Any) -> AbstractAsyncContextManager[AsyncClient]:  # Any: as in gsg.connect
        """A client of one of the peers. Raises BadParameter for files that cannot be read."""
        import gsg
        from gsg.errors import LocalError

        try:
            tls = None
            if (self.ca_file, self.cert_file, self.key_file) != (None, None, None):
                from gsg.doors.tls import client_context

                tls = client_context(self.ca_file, self.cert_file, self.key_file)
            return gsg.connect(self.peers, tls=tls, token=self._token(), **more)
        except LocalError as error:
            raise BadParameter(str(error)) from None

    def _token(self) -> Callable[[], str] | None:
        """What reads the file of the token anew each time: another one may have taken its place."""
        file = self.token_file
        if file is None:
            return None
        _read_token(file)
        return lambda: _read_token(file)


def source_options(given: Mapping[str, str], *, stream: bool) -> SourceOptions:
    """What options of a stream, or of a query that is asked once, mean. Raises BadParameter."""
    known = {name.lower(): name for name in (*OF_QUERY, *(OF_STREAM if stream else ()))}
    options = {name.lower(): text for name, text in given.items()}
    for name in options:
        if name not in known:
            _refuse(name, known, stream=stream)
    for name in ("peers", "query"):
        if not options.get(name, "").strip():
            example = "http://127.0.0.1:8470" if name == "peers" else "(?x, ^on, ?y)"
            raise BadParameter(f'the option {name} is missing; expected one such as .option("{name}", "{example}")')
    return SourceOptions(
        # A peer's door is said as ws:// too, where somebody thinks of the WebSocket that it becomes.
        peers=",".join(_as_http(url.strip()) for url in options["peers"].split(",")),
        query=options["query"],
        language=_choice(options, "language", ("gsg", "sparql")),
        term_format=_choice(options, "termFormat", ("plain", "n3")),
        max_tokens=_number(options, "maxTokens"),
        token_file=_file(options, "tokenFile"),
        ca_file=_file(options, "caFile"),
        cert_file=_file(options, "certFile"),
        key_file=_file(options, "keyFile"),
        spool=spool_folder(options.get("spool", "")) if stream else None,
        max_rows=_number(options, "maxRowsPerBatch"),
        max_spool_bytes=_number(options, "maxSpoolBytes"),
        on_gap=_choice(options, "onGap", ON_GAP),
    )


def spool_folder(text: str) -> Path:
    """The folder of a spool. Raises BadParameter where none is said, or one that is not a folder of a file system."""
    if not text.strip():
        raise BadParameter(
            'the option spool is missing; expected a folder that all machines of the cluster see, such as .option("spool", '
            '"/mnt/shared/on.spool"): what is received waits there until Spark has it, and a restart goes on from there. Spark '
            "does not tell a source of its checkpoint, so name a folder beside it, one for each stream"
        )
    parts = urlsplit(text)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        text = unquote(parts.path)
    elif "://" in text or parts.scheme in ("dbfs", "hdfs", "s3", "s3a", "gs", "abfss", "file"):
        raise BadParameter(
            f"the spool {text} is on {parts.scheme}:, where files cannot be synchronised and renamed as a spool needs it; expected "
            "a path of a disk or of a mounted folder, such as /mnt/shared/on.spool"
        )
    return Path(text).expanduser().absolute()


def _refuse(name: str, known: Mapping[str, str], *, stream: bool) -> None:
    if name in OF_SPARK:
        raise BadParameter("load() was given a path, and rows come from peers; expected load() alone, with the option peers")
    if not stream and name in map(str.lower, OF_STREAM):
        raise BadParameter(f"the option {name} is of streams alone; expected it with readStream, or leave it out of read")
    close = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {known[close[0]]}?" if close else ""
    raise BadParameter(f"unknown option {name}; expected some of {', '.join(known.values())}{hint}")


def _as_http(url: str) -> str:
    return "http" + url[2:] if url.startswith(("ws://", "wss://")) else url


def _choice(options: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    said = options.get(name.lower(), known[0])
    if said.lower() not in known:
        raise BadParameter(f"the option {name} is {said!r:.80}; expected {' or '.join(known)}")
    return said.lower()


def _number(options: Mapping[str, str], name: str) -> int | None:
    said = options.get(name.lower())
    if said is None:
        return None
    if not (said.isascii() and said.isdigit() and int(said[:19]) > 0 and len(said) < 20):
        raise BadParameter(f"the option {name} is {said!r:.80}; expected a whole number from 1")
    return int(said)


def _file(options: Mapping[str, str], name: str) -> Path | None:
    said = options.get(name.lower())
    return None if said is None else Path(said).expanduser().absolute()


def _read_token(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise BadParameter(f"{file} cannot be read: {(why or '').lower()}; expected a file with the token alone") from None
