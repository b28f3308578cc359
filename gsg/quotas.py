"""How much one peer, and one client of a door, may ask of this peer: templates at once, tuples and bytes a second.

The rates are debts that are paid off in time: whoever owes more than BURST_S is refused until it owes less, so a large batch is
taken after a pause however low the rate is, and what was refused costs nothing. This peer itself has no quota.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from .errors import Refused
from .wire.status_messages import Count

BURST_S = 2.0
"""How far ahead of its rate somebody may be."""
TEMPLATES_BYTES = 256 * 1024 * 1024
"""What the templates of one peer may take here, with their tests; one more is refused then."""
PEERS = 4_096
"""Peers whose debt is remembered; beyond, that of the one unheard of for the longest is forgotten."""
CLIENTS = 4_096
"""Clients whose debt is remembered; beyond, that of the one unheard of for the longest is forgotten which has no subscription."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What one of a kind may ask for. The defaults are far above what one does; lower them where strangers come."""

    templates: int
    """At once: of a peer those that it has posted here by all of its links, of a client its subscriptions by all connections."""
    tuples_per_s: int
    bytes_per_s: int
    """Of the messages in which tuples come."""


PEER = Quota(templates=1_000_000, tuples_per_s=1_000_000, bytes_per_s=1024 * 1024 * 1024)
CLIENT = Quota(templates=10_000, tuples_per_s=100_000, bytes_per_s=256 * 1024 * 1024)


class Allowance:
    """What one peer, or one client, has used of its quota. ``who`` is what it is called; it names the options too."""

    __slots__ = ("_bytes_paid_s", "_on_refused", "_tuples_paid_s", "_who", "quota", "subscriptions")

    def __init__(self, quota: Quota, who: str, on_refused: Callable[[], None]) -> None:
        self.quota = quota
        self.subscriptions = 0
        """Those that a client has now."""
        self._who = who
        self._on_refused = on_refused
        self._tuples_paid_s = 0.0
        self._bytes_paid_s = 0.0
        """When all that was published is paid off."""

    def publish(self, tuples: int, size_bytes: int, now: float) -> None:
        """Count what is about to be published. Raises Refused, and counts nothing, while too much is owed."""
        quota = self.quota
        self._check(self._tuples_paid_s - now, quota.tuples_per_s, "tuples", "rate")
        self._check(self._bytes_paid_s - now, quota.bytes_per_s, "bytes of tuples", "bytes")
        self._tuples_paid_s = max(self._tuples_paid_s, now) + tuples / quota.tuples_per_s
        self._bytes_paid_s = max(self._bytes_paid_s, now) + size_bytes / quota.bytes_per_s

    def post(self, posted: int, posted_bytes: int = 0) -> None:
        """One template or subscription more, beside so many, which take so many bytes with it. Raises Refused where that is too
        much."""
        if posted_bytes > TEMPLATES_BYTES:
            self._on_refused()
            raise Refused(
                f"over quota: the templates of one {self._who} may take {TEMPLATES_BYTES:,} bytes here, and with this one they "
                f"would take {posted_bytes:,}; end some, or ask for shorter constants"
            )
        if posted >= self.quota.templates:
            what = "templates" if self._who == "peer" else "subscriptions"
            self._on_refused()
            raise Refused(
                f"over quota: one {self._who} may have {self.quota.templates:,} {what} here, and this one has {posted:,}; "
                f"end some, or ask the operator of this peer for more (--{self._who}-{what})"
            )

    def subscribe(self) -> None:
        """One subscription of a client more, until :meth:`unsubscribe`. Raises Refused where that is too much."""
        self.post(self.subscriptions)
        self.subscriptions += 1

    def unsubscribe(self, count: int = 1) -> None:
        """So many of them have ended."""
        self.subscriptions -= count

    def _check(self, owed_s: float, per_s: int, what: str, option: str) -> None:
        if owed_s > BURST_S:
            self._on_refused()
            # Rounded up, so that who waits so long is not refused again.
            wait_s = ceil((owed_s - BURST_S) * 10 - 1e-6) / 10
            raise Refused(
                f"over quota: one {self._who} may publish {per_s:,} {what} a second here, and this one is {owed_s:.1f} s ahead; "
                f"try again in {wait_s:.1f} s, or ask the operator of this peer for more (--{self._who}-{option})",
                again_s=wait_s,
            )


class Quotas:
    """The quotas of one peer: for each of the other peers, and for each client of its HTTP door.

    They count who somebody is, and not how often it is connected: a peer is its id, a client the name of its token, or its address
    where it has none.
    """

    def __init__(self, peer: Quota = PEER, client: Quota = CLIENT) -> None:
        self._peer = peer
        self._client = client
        self._peers: dict[bytes, Allowance] = {}
        """Limit: PEERS."""
        self._clients: dict[str, Allowance] = {}
        """Limit: CLIENTS, and those that have subscriptions, which the door's connections bound."""
        self._refused_peers = 0
        self._refused_clients = 0

    def of_peer(self, peer: bytes) -> Allowance:
        """What another peer has used."""
        allowance = self._peers.pop(peer, None)
        if allowance is None:
            allowance = Allowance(self._peer, "peer", self._peer_refused)
            if len(self._peers) >= PEERS:
                del self._peers[next(iter(self._peers))]
        self._peers[peer] = allowance
        return allowance

    def of_client(self, who: str) -> Allowance:
        """What a client of this name or address has used, by all of its connections."""
        allowance = self._clients.pop(who, None)
        if allowance is None:
            allowance = Allowance(self._client, "client", self._client_refused)
            if len(self._clients) >= CLIENTS:
                self._forget_client()
        self._clients[who] = allowance
        return allowance

    def _forget_client(self) -> None:
        idle = next((who for who, allowance in self._clients.items() if not allowance.subscriptions), None)
        if idle is not None:
            del self._clients[idle]

    def counts(self) -> list[Count]:
        """How often somebody was refused, for ``gsg status``."""
        return [Count("quota_refused_clients", self._refused_clients), Count("quota_refused_peers", self._refused_peers)]

    def _peer_refused(self) -> None:
        self._refused_peers += 1

    def _client_refused(self) -> None:
        self._refused_clients += 1
