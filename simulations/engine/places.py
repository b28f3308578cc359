"""Where results go, and where files come from: folders and files of the machine that drives a run.

A name on another file system, such as ``s3://bucket/name``, would be taken for a folder of the working directory: it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gsg.languages.files.locations import path_of, scheme_of

from ..errors import BadParameter


def written_to(text: str, option: str = "--out") -> Path:
    """The folder or file that an option names. Raises BadParameter for one of another file system."""
    if scheme_of(text) is not None:
        raise BadParameter(
            f"{option} {text} is on another file system; expected a path of the machine that drives the run: write there, and "
            "copy it then, as with hadoop fs -put, aws s3 cp or gsutil cp"
        )
    return path_of(text)


def read_from(text: str, option: str) -> Path:
    """The file or folder that an option names. Raises BadParameter for one of another file system."""
    if scheme_of(text) is not None:
        raise BadParameter(
            f"{option} {text} is on another file system; expected a path of the machine that drives the run: copy it there "
            "first, as with hadoop fs -get, aws s3 cp or gsutil cp"
        )
    return path_of(text)


@contextmanager
def writing(where: str) -> Iterator[None]:
    """A block that writes. Raises BadParameter, of one line, where the system refuses that; ``where`` follows "cannot write"."""
    try:
        yield
    except OSError as error:
        raise BadParameter(f"cannot write {where}: {(error.strerror or str(error)).lower()}") from None
