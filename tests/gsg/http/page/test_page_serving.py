"""How the page is sent: to browsers, whole, and with a policy."""

from __future__ import annotations

import re

import pytest
from plain_http import request

from gsg.http.door import HttpDoor
from gsg.http.page.serving import FILES

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


async def test_browsers_are_sent_the_page_and_programs_the_list(door: HttpDoor) -> None:
    page, said = await request(door, "GET", "/", headers=BROWSER), await request(door, "GET", "/", headers={"accept": "*/*"})

    assert (page.status, page.media_type) == (200, "text/html; charset=utf-8")
    assert "<title>Global Semantic Graph</title>" in page.text
    assert said.media_type == "text/plain; charset=utf-8"
    assert "/sparql" in said.text
    assert page.headers["vary"] == said.headers["vary"] == "accept"


async def test_what_the_page_loads_is_there_and_may_be_kept_for_ever(door: HttpDoor) -> None:
    page = await request(door, "GET", "/", headers=BROWSER)
    loaded = re.findall(r'(?:src|href)="(page/[^"]+)"', page.text)

    assert len(loaded) == 3
    for each in loaded:
        answer = await request(door, "GET", f"/{each}")
        assert answer.status == 200
        assert "immutable" in answer.headers["cache-control"]
        assert len(answer.body) > 100
    assert page.headers["cache-control"] == "no-cache"


async def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere(door: HttpDoor) -> None:
    policy = (await request(door, "GET", "/", headers=BROWSER)).headers["content-security-policy"]

    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fserving.py", "serving.py", "index.html", "%00.js"])
async def test_nothing_else_is_sent(door: HttpDoor, name: str) -> None:
    answer = await request(door, "GET", f"/page/{name}")

    assert answer.status == 404
    assert (await request(door, "GET", f"/page/{name}")).media_type == "application/problem+json"


def test_the_page_is_small() -> None:
    import gzip

    assert sum(len(gzip.compress(file.read_bytes())) for file in FILES.iterdir()) < 350_000
