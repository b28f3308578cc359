"""How the driver and the tasks of Spark come to peers: doors, the token that is shown there, and whom to trust; as options say it.

It travels to executors as it is, so it holds names of files, which are read where a connection is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadParameter

if TYPE_CHECKING:
    from ssl import SSLContext

    from gsg import AsyncClient, ConnectionState

OPTIONS = ("peers", "tokenFile", "caFile", "certFile", "keyFile")
"""The options that say it."""
EXAMPLE = "http://127.0.0.1:8470"


@dataclass(frozen=True)
class PeerAccess:
    """Doors of peers, and what is shown there. Made by :func:`peer_access`."""

    urls: tuple[str, ...]
    token_file: Path | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def client(self, url: str) -> AsyncClient:
        """A client of one of them, which ends where its peer is lost. Raises BadParameter for files that cannot be read."""
        return self._client([url], reconnect=False, on_state=lambda *_: None)

    def client_of_any(self, on_state: Callable[[ConnectionState, str], object], *, reconnect_s: float = inf) -> AsyncClient:
        """A client of the first of them that answers, and of others when that is lost, which are tried for ``reconnect_s``. Raises
        BadParameter as :meth:`client`."""
        return self._client(self.urls, reconnect=True, on_state=on_state, reconnect_s=reconnect_s)

    def _client(
        self, urls: Sequence[str], *, reconnect: bool, on_state: Callable[[ConnectionState, str], object], reconnect_s: float = inf
    ) -> AsyncClient:
        from gsg import AsyncClient
        from gsg.errors import LocalError

        token: Callable[[], str] | None = None
        if self.token_file is not None:
            self._token()
            # Read anew each time: another one may have taken its place.
            token = self._token
        try:
            return AsyncClient(urls, reconnect=reconnect, reconnect_s=reconnect_s, tls=self._tls(), token=token, on_state=on_state)
        except LocalError as error:
            raise BadParameter(str(error)) from None

    def _tls(self) -> SSLContext | None:
        if (self.ca_file, self.cert_file, self.key_file) == (None, None, None):
            return None
        from gsg.doors.tls import client_context

        return client_context(self.ca_file, self.cert_file, self.key_file)

    def _token(self) -> str:
        assert self.token_file is not None, "asked for where there is one"
        try:
            return self.token_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise BadParameter(
                f"the token in {self.token_file} cannot be read: {(why or '').lower()}; expected a file of the token alone, on all "
                "machines that connect"
            ) from None


def peer_access(given: Mapping[str, str]) -> PeerAccess:
    """What options say; ``given`` by names in lower case. Raises BadParameter for peers that are missing, or no addresses, and for
    files that cannot be read here."""
    from gsg.errors import LocalError
    from gsg.http.client.door_choice import urls_of
    from gsg.http.client.opening import check_url

    said = given.get("peers", "")
    if not said.strip():
        raise BadParameter(f'the option peers is missing; expected one such as .option("peers", "{EXAMPLE}")')
    try:
        # A door is said as ws:// too, by who thinks of the WebSocket that it becomes.
        urls = urls_of([_as_http(url.strip()) for url in said.split(",") if url.strip()])
        for url in urls:
            check_url(url)
    except LocalError as error:
        raise BadParameter(f"the option peers: {error}") from None
    return PeerAccess(tuple(urls), *(_readable_file(name, given.get(name.lower())) for name in OPTIONS[1:]))


def _readable_file(option: str, text: str | None) -> Path | None:
    """The file that an option names, where it can be read: a task would find out late, once for each of its attempts."""
    if text is None:
        return None
    path = Path(text).expanduser().absolute()
    try:
        path.open("rb").close()
    except OSError as error:
        raise BadParameter(
            f"the option {option}: {path} cannot be read: {(error.strerror or str(error)).lower()}; expected a file that the "
            "driver has, and all machines that connect to peers"
        ) from None
    return path


def _as_http(url: str) -> str:
    return "http" + url[2:] if url.startswith(("ws://", "wss://")) else url
