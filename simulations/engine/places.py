"""Where results go, and where files come from: folders and files of the machine that drives a run, or for Spark to read a URI.

A name on another file system, such as ``s3a://bucket/name``, would be taken for a folder of the working directory: where Spark does
not read it, it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gsg.languages.files.locations import path_of, scheme_of

from ..errors import BadParameter


def written_to(text: str, option: str = "--out") -> Path:
    """The folder or file that an option names. Raises BadParameter for one of another file system."""
    return _local(text, option, "write there, and copy it then, as with hadoop fs -put, aws s3 cp or gsutil cp")


def read_from(text: str, option: str) -> Path:
    """The file or folder that an option names. Raises BadParameter for one of another file system."""
    return _local(text, option, "copy it there first, as with hadoop fs -get, aws s3 cp or gsutil cp")


def read_by_spark(text: str) -> str:
    """The file or folder that an option names where Spark reads it: a path of this machine, or a URI as it is."""
    return str(path_of(text)) if scheme_of(text) is None else text


def _local(text: str, option: str, advice: str) -> Path:
    if scheme_of(text) is not None:
        raise BadParameter(
            f"{option} {text} is on another file system; expected a path of the machine that drives the run: {advice}"
        )
    return path_of(text)


@contextmanager
def writing(where: str) -> Iterator[None]:
    """A block that writes. Raises BadParameter, of one line, where the system refuses that; ``where`` follows "cannot write"."""
    try:
        yield
    except OSError as error:
        raise BadParameter(f"cannot write {where}: {(error.strerror or str(error)).lower()}") from None
