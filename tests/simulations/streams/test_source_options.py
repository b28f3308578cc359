"""What options and schemas may be, and what those are told that cannot be."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from pyspark.sql.types import DecimalType, IntegerType, LongType, StringType, StructType, TimestampType

from gsg.errors import PeerUnreachable
from simulations.errors import BadParameter
from simulations.streams.row_schema import check_variables, usual_schema, variables_of
from simulations.streams.source_options import options_at_load, source_options, spool_folder
from simulations.streams.stream_reader import GsgStreamReader
from simulations.streams.worker_errors import HIDE_TRACEBACK, without_traceback

GIVEN = {"peers": "http://127.0.0.1:8470", "query": "(?x, ^on, ?y)", "spool": "/mnt/shared/on.spool"}


def test_options_that_are_not_said_have_their_usual_values() -> None:
    options = source_options(GIVEN, stream=True)

    assert (options.language, options.term_format, options.on_gap, options.max_rows) == ("gsg", "plain", "warn", None)
    assert options.spool == Path("/mnt/shared/on.spool")
    assert options.variables() == ("x", "y")


def test_names_of_options_are_not_told_apart_by_case_and_doors_may_be_said_as_websockets() -> None:
    options = source_options(GIVEN | {"PEERS": "ws://a:1, wss://b:2", "maxrowsperbatch": "50"}, stream=True)

    assert (options.access.urls, options.max_rows) == (("http://a:1", "https://b:2"), 50)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"peers": " "}, "the option peers is missing; expected one such as"),
        ({"query": ""}, "the option query is missing; expected one such as"),
        ({"spool": ""}, "the option spool is missing; expected a folder that all machines of the cluster see"),
        ({"spool": "s3a://bucket/spool"}, "the spool s3a://bucket/spool is on s3a:"),
        ({"spool": "hdfs:/spool"}, "the spool hdfs:/spool is on hdfs:"),
        ({"spool": "file://other/spool"}, "the spool file://other/spool is on file:"),
        ({"maxRowsPerBatch": "0"}, "the option maxRowsPerBatch is '0'; expected a whole number from 1"),
        ({"maxSpoolBytes": "1g"}, "the option maxSpoolBytes is '1g'; expected a whole number from 1"),
        ({"onGap": "ignore"}, "the option onGap is 'ignore'; expected warn or row or fail"),
        ({"language": "sql"}, "the option language is 'sql'; expected gsg or sparql"),
        ({"termFormat": "turtle"}, "the option termFormat is 'turtle'; expected plain or n3"),
        ({"maxRows": "5"}, "unknown option maxrows; expected some of"),
        ({"path": "/data"}, "load() was given a path, and rows come from peers"),
    ],
    ids=lambda one: next(iter(one.items())) if isinstance(one, dict) else "",
)
def test_an_option_that_cannot_be_is_told_what_can(changed: dict[str, str], said: str) -> None:
    with pytest.raises(BadParameter, match=re.escape(said)):
        source_options(GIVEN | changed, stream=True)


def test_a_slip_in_a_name_is_answered_with_the_name() -> None:
    with pytest.raises(BadParameter, match="did you mean maxRowsPerBatch"):
        source_options(GIVEN | {"maxRowPerBatch": "5"}, stream=True)
    with pytest.raises(BadParameter, match=r"unknown option maxrows; .* did you mean maxRowsPerBatch, which is of streams\?"):
        options_at_load({"peers": GIVEN["peers"], "query": GIVEN["query"], "maxRows": "5"})


def test_a_query_that_is_asked_once_has_no_spool() -> None:
    with pytest.raises(BadParameter, match="the option spool is of streams alone"):
        source_options(GIVEN, stream=False)


def test_a_mistake_in_the_query_is_told_with_its_place() -> None:
    options = source_options(GIVEN | {"query": "(?x, ^on,\n ?y"}, stream=True)

    with pytest.raises(BadParameter, match=r"the option query: subscription line 2, column"):
        options.variables()


def test_a_file_that_is_not_there_is_told_with_the_options(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match=r"the option tokenFile: .*none cannot be read: no such file or directory"):
        source_options(GIVEN | {"tokenFile": str(tmp_path / "none")}, stream=True)


def test_options_of_streams_say_at_load_that_a_spool_is_missing() -> None:
    asked_once = {name: text for name, text in GIVEN.items() if name != "spool"}

    assert options_at_load(GIVEN).spool == Path("/mnt/shared/on.spool")
    assert options_at_load(asked_once).spool is None
    with pytest.raises(
        BadParameter, match=r"the option onGap is of streams, and the option spool, which each stream needs, is missing"
    ):
        options_at_load(asked_once | {"ongap": "row"})


def test_a_stream_is_made_whatever_its_options_and_told_when_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HIDE_TRACEBACK, "")
    reader = GsgStreamReader(GIVEN | {"maxRows": "5"}, StructType())

    with pytest.raises(BadParameter, match="unknown option maxrows"):
        reader.getDefaultReadLimit()
    reader.stop()


@pytest.mark.parametrize(
    ("error", "hidden"),
    [(BadParameter("no such option"), "1"), (PeerUnreachable("nobody answers"), "1"), (KeyError("a defect"), "")],
    ids=["ours", "of a peer", "a defect"],
)
def test_spark_reports_an_error_of_ours_without_its_traceback_and_a_defect_with_it(
    monkeypatch: pytest.MonkeyPatch, error: Exception, hidden: str
) -> None:
    monkeypatch.setenv(HIDE_TRACEBACK, "")

    with pytest.raises(type(error)), without_traceback():
        raise error

    assert os.environ[HIDE_TRACEBACK] == hidden


def test_a_spool_may_be_said_as_a_url_of_a_file() -> None:
    assert spool_folder("file:///mnt/my%20spool") == Path("/mnt/my spool")


@pytest.mark.parametrize(
    ("variables", "said"),
    [(["x", "X"], "?X of the query and ?x, have one name to Spark"), (["Sign"], 'and the column "sign", that each row has')],
    ids=["two variables", "a column of the source"],
)
def test_names_that_spark_does_not_tell_apart_are_refused(variables: list[str], said: str) -> None:
    with pytest.raises(BadParameter, match=re.escape(said)):
        usual_schema(variables)


def test_a_schema_may_have_some_of_the_columns_in_any_order() -> None:
    schema = StructType().add("at", TimestampType()).add("y", LongType()).add("x", StringType())

    assert variables_of(schema) == [("y", "bigint"), ("x", "string")]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (StructType().add("x", DecimalType()), "the column x is of type decimal(10,0); expected string, bigint"),
        (StructType().add("position", IntegerType()), "the column position is of type int; expected bigint"),
    ],
    ids=["a variable", "a column of the source"],
)
def test_a_type_that_a_column_cannot_have_is_refused(schema: StructType, said: str) -> None:
    with pytest.raises(BadParameter, match=re.escape(said)):
        variables_of(schema)


def test_a_column_that_is_no_variable_is_refused() -> None:
    with pytest.raises(BadParameter, match="a column z, which is no variable of the query; expected some of x, y, sign"):
        check_variables([("x", "string"), ("z", "string")], ("x", "y"))
