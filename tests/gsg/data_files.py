"""What stands in the file of a data directory, read and written past those who own it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from gsg.storage.disk.data_directory import DataDirectory
from gsg.storage.facts_by_key import Mark
from gsg.tuples.terms import Tuple


def facts(disk: DataDirectory) -> dict[Tuple, list[Mark]]:
    return {items: marks for some in disk.all_rows() for items, marks in some}


def sql(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
