"""The options of ``readStream`` and ``read``: what each may be, and what an option that is none is told.

Spark hands options over as texts and does not look at case.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..errors import BadParameter
from .peer_access import OPTIONS, PeerAccess, peer_access

OF_STREAM = ("spool", "maxRowsPerBatch", "maxSpoolBytes", "onGap")
OF_QUERY = ("query", "language", "termFormat", "maxTokens", *OPTIONS)
OF_SPARK = ("path",)
"""What Spark adds by itself, for load("...")."""

ON_GAP = ("warn", "row", "fail")
"""Where events may have been missed: a warning in the log, that and a row without a sign, or the end of the stream."""


@dataclass(frozen=True)
class SourceOptions:
    """What somebody wants to read. Made by :func:`source_options`."""

    access: PeerAccess
    query: str
    language: str = "gsg"
    term_format: str = "plain"
    max_tokens: int | None = None
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


def source_options(given: Mapping[str, str], *, stream: bool) -> SourceOptions:
    """What options of a stream, or of a query that is asked once, mean. Raises BadParameter."""
    known = {name.lower(): name for name in (*OF_QUERY, *(OF_STREAM if stream else ()))}
    options = {name.lower(): text for name, text in given.items()}
    for name in options:
        if name not in known:
            _refuse_option(name, known, stream=stream)
    if not options.get("query", "").strip():
        raise BadParameter('the option query is missing; expected one such as .option("query", "(?x, ^on, ?y)")')
    return SourceOptions(
        access=peer_access(options),
        query=options["query"],
        language=_choice(options, "language", ("gsg", "sparql")),
        term_format=_choice(options, "termFormat", ("plain", "n3")),
        max_tokens=_whole_number(options, "maxTokens"),
        spool=spool_folder(options.get("spool", "")) if stream else None,
        max_rows=_whole_number(options, "maxRowsPerBatch"),
        max_spool_bytes=_whole_number(options, "maxSpoolBytes"),
        on_gap=_choice(options, "onGap", ON_GAP),
    )


def options_at_load(given: Mapping[str, str]) -> SourceOptions:
    """What options mean at ``load()``, where Spark does not say whether it is that of ``readStream`` or of ``read``.

    Options of streams say it; a stream without any of them, and so without a spool, is told when it starts. Raises BadParameter.
    """
    lowered = {name.lower() for name in given}
    of_stream = [name for name in OF_STREAM if name.lower() in lowered]
    if of_stream and "spool" not in of_stream:
        raise BadParameter(
            f"the option {of_stream[0]} is of streams, and the option spool, which each stream needs, is missing; expected both "
            "with readStream, and neither with read"
        )
    return source_options(given, stream=bool(of_stream))


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


def _refuse_option(name: str, known: Mapping[str, str], *, stream: bool) -> None:
    if name in OF_SPARK:
        raise BadParameter("load() was given a path, and rows come from peers; expected load() alone, with the option peers")
    # At load() of a stream nothing may say yet that it is one.
    names = {one.lower(): one for one in (*OF_QUERY, *OF_STREAM)}
    if name in names:
        raise BadParameter(f"the option {names[name]} is of streams alone; expected it with readStream, or leave it out of read")
    close = difflib.get_close_matches(name, names, 1)
    of_stream = ", which is of streams" if close and close[0] not in known else ""
    hint = f"; did you mean {names[close[0]]}{of_stream}?" if close else ""
    raise BadParameter(f"unknown option {name}; expected some of {', '.join(known.values())}{hint}")


def _choice(options: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    said = options.get(name.lower(), known[0])
    if said.lower() not in known:
        raise BadParameter(f"the option {name} is {said!r:.80}; expected {' or '.join(known)}")
    return said.lower()


def _whole_number(options: Mapping[str, str], name: str) -> int | None:
    said = options.get(name.lower())
    if said is None:
        return None
    if not (said.isascii() and said.isdigit() and int(said[:19]) > 0 and len(said) < 20):
        raise BadParameter(f"the option {name} is {said!r:.80}; expected a whole number from 1")
    return int(said)
