"""What an HTTP request at the SPARQL endpoint asks, and what the protocol does not have."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from gsg.http.sparql.requests import (
    FORM,
    MAX_TIMEOUT_S,
    MAX_UPDATE_TIMEOUT_S,
    QUERY,
    TIMEOUT_S,
    UPDATE,
    UPDATE_TIMEOUT_S,
    AskedDescription,
    AskedQuery,
    AskedUpdate,
    BadRequest,
    asked_by_get,
    asked_by_post,
)


def test_get_without_parameters_asks_for_a_description() -> None:
    assert asked_by_get("") == AskedDescription()


def test_get_has_a_query_and_its_dataset() -> None:
    fields = [("query", "ASK {}"), ("default-graph-uri", "urn:a"), ("default-graph-uri", "urn:b"), ("named-graph-uri", "urn:c")]

    assert asked_by_get(urlencode(fields)) == AskedQuery("ASK {}", ("urn:a", "urn:b"), ("urn:c",), TIMEOUT_S)


def test_a_form_has_them_in_its_body() -> None:
    assert asked_by_post(FORM, "", b"query=ASK+%7B%7D&timeout=2.5") == AskedQuery("ASK {}", timeout_s=2.5)
    assert asked_by_post(f"{FORM}; charset=UTF-8", "", b"update=CLEAR+ALL&using-graph-uri=urn:a") == AskedUpdate(
        "CLEAR ALL", ("urn:a",)
    )


def test_a_text_is_the_body_and_its_dataset_in_the_url() -> None:
    assert asked_by_post(QUERY, "named-graph-uri=urn:c", "ASK {?s ?p 'ü'}".encode()) == AskedQuery(
        "ASK {?s ?p 'ü'}", (), ("urn:c",)
    )
    assert asked_by_post(UPDATE, "using-named-graph-uri=urn:c", b"CLEAR ALL") == AskedUpdate("CLEAR ALL", (), ("urn:c",))


def test_the_url_of_a_form_counts_too() -> None:
    assert asked_by_post(FORM, "using-graph-uri=urn:a", b"update=CLEAR+ALL") == AskedUpdate("CLEAR ALL", ("urn:a",))
    assert asked_by_post(FORM, "query=ASK+%7B%7D&timeout=2.5", b"") == AskedQuery("ASK {}", timeout_s=2.5)


def test_parameters_of_other_servers_are_none_of_ours() -> None:
    assert asked_by_get("query=ASK+%7B%7D&format=json&output=json") == AskedQuery("ASK {}")


def test_nobody_waits_longer_than_may_be() -> None:
    asked = asked_by_get("query=ASK&timeout=1e9")

    assert isinstance(asked, AskedQuery)
    assert asked.timeout_s == MAX_TIMEOUT_S


@pytest.mark.parametrize(("said", "meant_s"), [("", UPDATE_TIMEOUT_S), ("timeout=2.5", 2.5), ("timeout=1e9", MAX_UPDATE_TIMEOUT_S)])
def test_an_update_may_say_how_long_where_may_take(said: str, meant_s: float) -> None:
    asked = asked_by_post(UPDATE, said, b"CLEAR ALL")

    assert asked == AskedUpdate("CLEAR ALL", timeout_s=meant_s)


def test_a_timeout_beside_an_update_that_is_none_is_refused() -> None:
    with pytest.raises(BadRequest, match="timeout='soon'; expected seconds"):
        asked_by_post(UPDATE, "timeout=soon", b"CLEAR ALL")


@pytest.mark.parametrize(
    ("url_query", "said"),
    [
        ("query=a&query=b", "2 parameters 'query'"),
        ("update=CLEAR+ALL", "an update comes by GET"),
        ("default-graph-uri=urn:a", "0 parameters 'query'"),
        ("query=%ff", "no UTF-8"),
        ("query=ASK&timeout=soon", "timeout='soon'"),
        ("query=ASK&timeout=-1", "timeout='-1'"),
        ("query=ASK&timeout=nan", "timeout='nan'"),
        ("query=ASK&using-graph-uri=urn:a", "'using-graph-uri' beside a query"),
        ("&".join(["query=ASK"] * 1_001), "more than 1000 parameters"),
    ],
)
def test_what_get_cannot_ask_is_refused(url_query: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said) as refused:
        asked_by_get(url_query)

    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("content_type", "body", "status", "said"),
    [
        ("", b"ASK {}", 415, "no content type"),
        ("text/plain", b"ASK {}", 415, "'text/plain'"),
        (f"{QUERY}; charset=utf-16", "ASK {}".encode("utf-16"), 415, "utf-16"),
        (QUERY, b"ASK {?s ?p '\xfc'}", 400, "byte 12 of it, 0xfc"),
        (FORM, b"query=ASK&update=CLEAR", 400, "a query and an update"),
        (FORM, b"update=a&update=b", 400, "2 parameters 'update'"),
        (FORM, b"", 400, "0 parameters 'query'"),
        (FORM, b"update=CLEAR+ALL&default-graph-uri=urn:a", 400, "'default-graph-uri' beside an update"),
        (FORM, b"update=CLEAR+ALL&named-graph-uri=urn:a", 400, "'named-graph-uri' beside an update"),
    ],
)
def test_what_post_cannot_ask_is_refused(content_type: str, body: bytes, status: int, said: str) -> None:
    with pytest.raises(BadRequest, match=said) as refused:
        asked_by_post(content_type, "", body)

    assert refused.value.status == status
