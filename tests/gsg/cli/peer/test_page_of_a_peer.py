"""``gsg peer --open``: where the page is, and which browsers are asked to show it."""

from __future__ import annotations

import logging
import webbrowser

import pytest

from gsg.cli.peer.page import open_page, page_url


@pytest.mark.parametrize(
    ("door", "page"),
    [
        ("http://127.0.0.1:8470", "http://127.0.0.1:8470/"),
        ("https://0.0.0.0:8470", "https://127.0.0.1:8470/"),
        ("http://[::]:8470", "http://[::1]:8470/"),
        ("http://[::1]:8470", "http://[::1]:8470/"),
    ],
)
def test_a_door_at_all_addresses_has_its_page_at_loopback(door: str, page: str) -> None:
    assert page_url(door) == page


class Window(webbrowser.BackgroundBrowser):
    """A browser with windows, which notes what it is to show."""

    def __init__(self) -> None:
        super().__init__("a browser")
        self.shown: list[str] = []

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        self.shown.append(url)
        return True


def test_the_page_is_opened_in_a_browser_with_windows(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    window = Window()
    monkeypatch.setattr(webbrowser, "get", lambda: window)

    open_page("http://127.0.0.1:1/").join()

    assert window.shown == ["http://127.0.0.1:1/"]
    assert not caplog.records


def test_a_browser_of_the_terminal_is_not_started_and_the_address_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("BROWSER", raising=False)

    def none() -> webbrowser.BaseBrowser:
        raise webbrowser.Error("could not locate runnable browser")

    for found in (lambda: webbrowser.GenericBrowser("w3m"), lambda: webbrowser.Elinks("elinks"), none):
        caplog.clear()
        monkeypatch.setattr(webbrowser, "get", found)
        open_page("http://127.0.0.1:1/").join()
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
            "no browser with windows was found; the page is at http://127.0.0.1:1/"
        ]
