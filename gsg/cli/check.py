"""``gsg check``: how a peer is, in the words and with the exit codes of Nagios' plugins, for cron, containers and monitors.

The codes and the form of the line are those of https://www.monitoring-plugins.org/doc/guidelines.html: 0 OK, 1 WARNING, 2 CRITICAL,
3 UNKNOWN; behind the bar what can be drawn, as ``label=value;warn;crit;min``. The peer is asked for ``/readyz``, which it answers
from what it knows itself.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from enum import IntEnum

import click

from ..errors import LocalError, reason
from ..tuples.escaping import one_line
from .connecting import client_tls, client_token, peer_option
from .messages import say

TIMEOUT_S = 5.0
SERVICE_UNAVAILABLE = 503
MAX_ANSWER_BYTES = 64 * 1024
"""A peer says less; what is longer is no answer of one."""


class Verdict(IntEnum):
    """What is said, and the exit code."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a peer, why, and figures."""

    verdict: Verdict
    why: str
    figures: dict[str, int | None]

    def line(self, expect: int) -> str:
        """As a plugin writes it."""
        limits = {"peers": f";{expect}:;;0" if expect else ";;;0"}
        drawn = " ".join(f"{name}={value}{limits.get(name, ';;;0')}" for name, value in self.figures.items() if value is not None)
        # A bar begins the figures, and ends of lines the long text.
        why = one_line(" ".join(self.why.replace("|", "/").split()))
        return f"GSG {self.verdict.name} - {why}{f' | {drawn}' if drawn else ''}"


def judge(answer: object, expect: int) -> Judged:
    """The verdict on what a peer has answered; ``expect`` is how many peers it is to know at least, itself included."""
    match answer:
        case {"checks": [*checks]} if all(isinstance(check, dict) and {"name", "ok"} <= check.keys() for check in checks):
            assert isinstance(answer, dict), "as it has keys"
            figures = {name: value if isinstance(value := answer.get(name), int) else None for name in ("peers", "stale_feeds")}
        case {"kind": "AccessDenied", "detail": str(detail)}:
            return Judged(Verdict.UNKNOWN, detail, {})
        case _:
            return Judged(Verdict.UNKNOWN, "what answers there is no peer, or one of another version", {})
    peers = figures["peers"]
    failing = [check for check in checks if not check["ok"]]
    reasons = [f"{check['name']}: {check.get('detail', 'failed')}" for check in failing]
    verdict = Verdict.OK
    if failing:
        grave = any(check.get("grade", "critical") == "critical" for check in failing)
        verdict = Verdict.CRITICAL if grave else Verdict.WARNING
    if expect and peers is None:
        return Judged(Verdict.UNKNOWN, "the peer tells how many it knows to those alone that may read; give a token", figures)
    if expect and peers is not None and peers < expect:
        reasons.append(f"{peers} of {expect} peers are known")
        verdict = max(verdict, Verdict.WARNING)
    if verdict is Verdict.OK:
        reasons = ["ready" if peers is None else f"ready, {peers} peer{'' if peers == 1 else 's'} known"]
    return Judged(verdict, "; ".join(map(str, reasons)), figures)


class _Check(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in click. Of an option that is wrong nothing is known of the peer: 2 would say that it is down."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.show()
            ctx.exit(Verdict.UNKNOWN)


@click.command(cls=_Check, short_help="Say how a peer is, for cron and monitors; the exit code is that of Nagios' plugins.")
@click.option(
    "--expect", type=click.IntRange(1), default=None, metavar="N", help="WARNING where it knows fewer peers, itself included."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0.1, 60.0),
    default=TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="CRITICAL where it has not answered by then.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@peer_option
def command(expect: int | None, timeout_s: float, as_json: bool, url: str) -> None:
    """Say whether a peer is as it should be, from what it knows itself: no other peer is asked.

    \b
    0 OK         it serves as it should
    1 WARNING    answers may lack something for a while, or it knows fewer peers than expected
    2 CRITICAL   it does not answer, or refuses changes or clients
    3 UNKNOWN    what answers is no peer, or an option is wrong
    """
    found = _ask(url, timeout_s)
    judged = found if isinstance(found, Judged) else judge(found, expect or 0)
    if as_json:
        told = {"verdict": judged.verdict.name, **{name: value for name, value in asdict(judged).items() if name != "verdict"}}
        say(json.dumps(told | {"answer": None if isinstance(found, Judged) else found}))
    else:
        say(judged.line(expect or 0))
    sys.exit(judged.verdict)


def _ask(url: str, timeout_s: float) -> object:
    """What the peer says, or the verdict where it says nothing."""
    import http.client
    import urllib.error
    import urllib.request
    from ssl import SSLError

    from ..doors.refusals import hint_of_silence, why_no_tls

    if "," in url:
        return Judged(Verdict.UNKNOWN, f"{url!r} names several peers; expected one, which --peer URL names", {})
    try:
        tls, token = client_tls(), client_token()
    except (LocalError, click.UsageError) as error:
        return Judged(Verdict.UNKNOWN, error.format_message() if isinstance(error, click.UsageError) else str(error), {})
    # A peer is asked where it is, by no proxy, and sends nobody elsewhere.
    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.HTTPHandler(), urllib.request.HTTPSHandler(context=tls)):
        opener.add_handler(handler)
    try:
        headers = {"Accept": "application/json"} | ({} if token is None else {"Authorization": f"Bearer {token()}"})
        request = urllib.request.Request(f"{url.rstrip('/')}/readyz?verbose", headers=headers)
        answer = opener.open(request, timeout=timeout_s)
        if answer is None:
            return Judged(Verdict.UNKNOWN, f"{url!r} is no address of a peer; expected one like http://localhost:8470", {})
        with answer:
            body = answer.read(MAX_ANSWER_BYTES).decode(errors="replace")
    except TimeoutError:
        return _no_answer(url, timeout_s)
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            return _no_answer(url, timeout_s)
        if isinstance(error.reason, SSLError):
            return Judged(Verdict.CRITICAL, why_no_tls(url, error.reason), {})
        why = reason(error.reason) if isinstance(error.reason, OSError) else error.reason
        return Judged(Verdict.CRITICAL, f"no peer answers at {url}: {why}", {})
    except (ValueError, http.client.InvalidURL) as error:
        return Judged(Verdict.UNKNOWN, f"{url!r} is no address of a peer: {error}", {})
    except SSLError as error:  # as of a door that asks for a certificate, which it says after the handshake
        return Judged(Verdict.CRITICAL, why_no_tls(url, error), {})
    except (OSError, http.client.HTTPException) as error:
        return Judged(Verdict.CRITICAL, f"what answers at {url} has broken off: {error!r}; {hint_of_silence(url)}", {})
    try:
        return json.loads(body)
    except json.JSONDecodeError:
        # As where it has no place for one client more.
        verdict = Verdict.CRITICAL if answer.status == SERVICE_UNAVAILABLE else Verdict.UNKNOWN
        return Judged(verdict, f"{url} answers {answer.status}: {body[:200]}", {})


def _no_answer(url: str, timeout_s: float) -> Judged:
    return Judged(Verdict.CRITICAL, f"no answer from {url} within {timeout_s:g} s: the peer hangs, or is cut off", {})
