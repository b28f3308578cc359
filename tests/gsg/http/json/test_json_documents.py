"""``/openapi.json`` and ``/asyncapi.json``: what they promise is what the door says and takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from frames import exchanges, replay
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from plain_http import Answer, connected, request, url_with

from gsg.http.application import operations as table
from gsg.http.door import HttpDoor
from gsg.http.json.asyncapi import asyncapi
from gsg.http.operations import template_of

pytestmark = pytest.mark.waits

METHODS = {
    ("/status", "GET"),
    *(("/sparql", method) for method in ("GET", "POST")),
    *((path, method) for path in ("/graph", "/graph/{name}") for method in ("GET", "PUT", "POST", "DELETE")),
    *(("/facts", method) for method in ("POST", "DELETE")),
    ("/events", "POST"),
    ("/page/{name}", "GET"),
    *(("/login", method) for method in ("POST", "DELETE")),
    *(("/subscriptions", "GET"), ("/subscriptions/{number}", "DELETE")),
    *(
        (path, "GET")
        for path in (
            "/vocabulary",
            "/watch",
            "/livez",
            "/readyz",
            "/startupz",
            "/metrics",
            "/log",
            "/openapi.json",
            "/asyncapi.json",
        )
    ),
}


async def openapi(door: HttpDoor) -> Any:
    return (await request(door, "GET", "/openapi.json")).json


def operations(document: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def schema_errors(document: Any, schema: Any, value: object) -> list[str]:
    """What of a value is not as its schema says, which may refer to the others of the document."""
    validator = Draft202012Validator({**schema, "components": document["components"]})
    return [error.message for error in validator.iter_errors(value)]


def media_type(answer: Answer) -> str:
    return answer.media_type.partition(";")[0]


async def test_the_document_is_openapi_and_has_every_operation(door: HttpDoor) -> None:
    document = await openapi(door)

    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []
    assert {(path, method) for path, method, _ in operations(document)} == METHODS


async def test_every_operation_with_a_role_says_how_a_token_is_shown(door: HttpDoor) -> None:
    document = await openapi(door)
    schemes = document["components"]["securitySchemes"]

    told = {(path, method): operation.get("security") for path, method, operation in operations(document)}
    asks = {(template_of(each.path), each.method) for each in table(door._services) if each.role is not None} | {
        ("/sparql", "POST")
    }

    assert {each for each, security in told.items() if security == [{"bearer": []}, {"basic": []}, {"cookie": []}]} == asks
    assert {each for each, security in told.items() if security is None} == told.keys() - asks
    assert document["paths"]["/sparql"]["post"]["description"] == "Takes the role read for a query, publish for an update."
    assert ("/facts", "POST") in asks
    assert ("/livez", "GET") not in asks
    assert [(schemes[name]["type"], schemes[name]["scheme"]) for name in ("bearer", "basic")] == [
        ("http", "bearer"),
        ("http", "basic"),
    ]
    assert (schemes["cookie"]["in"], schemes["cookie"]["name"]) == ("cookie", f"gsg-{door.port}")


def test_asyncapi_says_how_a_token_is_shown_at_the_websocket() -> None:
    said = asyncapi()["channels"]["v1"]["description"]

    assert "`Authorization: Bearer TOKEN`" in said
    assert "`gsg.bearer.` and the token in base64url" in said


async def test_what_is_got_comes_with_a_status_and_in_a_format_that_are_described(door: HttpDoor) -> None:
    wrong = []
    for path, method, operation in operations(await openapi(door)):
        if method == "GET":
            target = url_with(path.replace("{name}", "nowhere"), {"query": "(?x)"} if path == "/watch" else [])
            async with connected(door, method, target) as connection:
                status, headers = await connection.head()
            described = operation["responses"].get(str(status), operation["responses"]["default"])
            if headers["content-type"].partition(";")[0] not in described["content"]:
                wrong.append((path, status, headers))

    assert wrong == []


async def test_what_is_refused_is_refused_in_a_format_that_is_described(door: HttpDoor) -> None:
    document = await openapi(door)
    for path, method, operation in operations(document):
        if method != "GET":
            answer = await request(door, method, path.replace("{name}", "nowhere"), b"?", {"content-type": "image/png"})
            content = operation["responses"]["default"]["content"]

            assert (path, method, answer.status) in (
                ("/login", method, 204),
                ("/subscriptions/{number}", "DELETE", 400),
                ("/graph", "DELETE", 400),
                ("/graph/{name}", "DELETE", 404),
                (path, method, 415),
            )
            if answer.status != 204:
                assert schema_errors(document, content[media_type(answer)]["schema"], answer.json) == []


@pytest.mark.parametrize(
    ("body", "is_described"),
    [
        ([["a", 1, 2.5, True, {"symbol": "on"}]], True),
        ({"tuples": [[{"iri": "http://example.org/a"}]], "audience": ["00" * 20]}, True),
        ({"tuples": [["a"]], "readers": []}, False),
        ([[None]], False),
        ([[{"irn": "http://example.org/a"}]], False),
    ],
)
async def test_bodies_that_are_described_are_taken_and_others_are_not(door: HttpDoor, body: object, is_described: bool) -> None:
    document = await openapi(door)
    schema = document["paths"]["/facts"]["post"]["requestBody"]["content"]["application/json"]["schema"]

    answer = await request(door, "POST", "/facts", body)

    assert (schema_errors(document, schema, body) == [], answer.status == 200) == (is_described, is_described)


async def test_what_may_be_left_out_has_its_default(door: HttpDoor) -> None:
    paths = (await openapi(door))["paths"]
    parameters = {each["name"]: each for each in paths["/watch"]["get"]["parameters"]}

    assert {name for name, each in parameters.items() if each["required"]} == {"query"}
    assert (parameters["language"]["schema"]["default"], parameters["terms"]["schema"]["default"]) == ("gsg", "plain")
    assert "default" not in paths["/sparql"]["get"]["parameters"][0]["schema"]
    assert paths["/graph/{name}"]["get"]["parameters"][0]["in"] == "path"


async def test_the_messages_of_the_frames_are_as_asyncapi_has_them(door: HttpDoor) -> None:
    document = (await request(door, "GET", "/asyncapi.json")).json
    messages = document["components"]["messages"]

    wrong = []
    for exchange, found in await replay(door, "frames.jsonl"):
        is_taken = not any(answer["type"] == "failed" for answer in found)
        told = [*([exchange["send"]] if is_taken else []), *found]
        wrong += [(each, errors) for each in told if (errors := schema_errors(document, messages[each["type"]]["payload"], each))]

    assert wrong == []


def test_a_mistake_in_a_frame_is_none_of_its_messages() -> None:
    document = asyncapi()
    subscribe = document["components"]["messages"]["subscribe"]["payload"]

    assert schema_errors(document, subscribe, {"type": "subscribe", "id": 1, "query": "(?x)", "langauge": "sparql"})
    assert schema_errors(document, subscribe, {"type": "subscribe", "id": 1})


def test_every_reference_of_asyncapi_leads_somewhere() -> None:
    document = asyncapi()

    broken = [reference for reference in references(document) if not leads_somewhere(document, reference)]

    assert document["asyncapi"] == "3.0.0"
    assert broken == []
    assert {operation["action"] for operation in document["operations"].values()} == {"send", "receive"}
    assert {each["send"]["type"] for each in exchanges("frames.jsonl") if "send" in each} - {"inzert"} == (
        document["operations"].keys() - {"watch"}
    )


def references(value: Any) -> Iterator[str]:
    """All in it."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def leads_somewhere(document: Any, reference: str) -> bool:
    """Whether a JSON pointer (RFC 6901) is of the document."""
    place = document
    for name in reference.removeprefix("#/").split("/"):
        if not isinstance(place, dict) or name not in place:
            return False
        place = place[name]
    return True


@pytest.mark.parametrize(("method", "path", "status", "allow"), [("POST", "/fact", 404, None), ("PATCH", "/events", 405, "POST")])
async def test_an_operation_that_there_is_not_is_a_problem(
    door: HttpDoor, method: str, path: str, status: int, allow: str | None
) -> None:
    answer = await request(door, method, path)

    assert (answer.status, answer.media_type, answer.headers.get("allow")) == (status, "application/problem+json", allow)
    assert answer.json["detail"] == f"no operation is called {method} {path}; GET / lists those that there are"
