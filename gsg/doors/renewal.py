"""The context of a door whose files may change while it serves: whoever connects next is shown the certificate that they hold now.

Files are looked at when somebody connects, once a second at most. Where they have changed, a context is made of them as they are;
one that cannot be made, as while a certificate is there and its key still to come, leaves the door with the one that it has.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable

from ..errors import LocalError
from .file_state import FileState, state_of
from .tls import DoorTls

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""How often files are looked at."""


class RenewedContext:
    """The context of one door. Raises LocalError where the files hold none at first."""

    def __init__(self, tls: DoorTls, clock: Callable[[], float] = time.monotonic) -> None:
        self._tls = tls
        self._clock = clock
        self._seen = self._look()
        """The files as they were when they were read, whether a context could be made of them or not."""
        self._context = tls.server_context()
        self._looked_s = clock()

    def current(self) -> ssl.SSLContext:
        """The context for whoever connects now."""
        now = self._clock()
        if now - self._looked_s >= LOOK_S:
            self._looked_s = now
            seen = self._look()
            if seen != self._seen:
                self._seen = seen
                self._renew()
        return self._context

    def _renew(self) -> None:
        try:
            self._context = self._tls.server_context()
        except LocalError as error:
            # Once for each change of the files.
            log.warning("the certificate %s has changed, and the one from before is still shown: %s", self._tls.certificate, error)
        else:
            log.info("the certificate %s has changed: whoever connects from now on is shown it", self._tls.certificate)

    def _look(self) -> list[FileState | None]:
        return [state_of(file) for file in self._tls.files]
