"""What an experiment on subscribers is asked for, checked, and the workload that it is about."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from gsg.placement.rules import Anchor
from gsg.rendezvous.fan_out.parts import MOST_DIRECT, PARTS

from ..engine.ownership import MAX_PEERS
from ..engine.results import parse_numbers, parse_pair
from ..engine.sweep import check_cases
from ..errors import BadParameter, check_range
from ..load_balance.experiments import ZIPF, usual_distinct
from ..load_balance.seeds import check_seeds
from ..workload.workload import COMMON_MIX, POSITIONS, WIDTH, Mix, Synthetic, Workload, check_subscriptions, parse_mix, three_of
from .dates import DAYS, EPOCHS_H, RANGES, Dates, parse_ranges
from .frames import TERM_BYTES, Frames, Kind, frames_of
from .join_shapes import Shape
from .joins import CONSTANT, TOGETHER, Joining
from .joins import SUBSCRIPTIONS as JOINS
from .latency import LINK_MS, Links
from .memories import KEPT
from .notifications import check
from .slow_readers import ASK_S, PAUSE, READERS, SPEEDS, Reading

PEERS, TUPLES, SUBSCRIPTIONS, HOURS = 1_000, 1_000_000, 10_000, 24.0
"""Where nobody says."""
GROWTH = tuple(10**power for power in range(3, 8))
"""Numbers of subscriptions for which alpha memories are counted."""


class Part(StrEnum):
    """What is looked at."""

    NOTIFICATIONS = "notifications"
    MEMORIES = "memories"
    READERS = "readers"
    JOINS = "joins"
    DATES = "dates"
    LATENCY = "latency"


@dataclass(frozen=True, slots=True)
class SubscribersRequest:
    """What was asked for; texts are as on the command line. None and empty texts mean the usual."""

    peers: int | None = None
    tuples: int | None = None
    subscriptions: int | None = None
    events: str | None = None
    trace: str | None = None
    mix: str = ""
    distinct: str = ""
    zipf: str = ""
    hours: float | None = None
    width: float | None = None
    kind: str = ""
    anchor: str = ""
    batch: int = 1
    term_bytes: int = TERM_BYTES
    parts: tuple[str, ...] = ()
    growth: str = ""
    speeds: str = ""
    pause: float = PAUSE
    ask_s: float = ASK_S
    joins: int = JOINS
    constant: float = CONSTANT
    ranges: str = ""
    epochs_h: str = ""
    days: float = DAYS
    link_ms: str = ""
    seed: int = 1
    seeds: int = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that makes sense, and what it is about."""

    request: SubscribersRequest
    workload: Workload
    mix: Mix
    peers: int
    subscriptions: int
    kind: Kind
    rule: Anchor
    frames: Frames
    parts: tuple[Part, ...]
    growth: tuple[int, ...]
    """Numbers of subscriptions."""
    reading: Reading
    joining: Joining
    dates: Dates
    links: Links
    left_out: str = ""
    """What is to be said of lines that were not understood."""

    def has(self, *parts: Part) -> bool:
        """Whether any of these was asked for."""
        return any(part in self.parts for part in parts)

    def configuration(self) -> dict[str, object]:
        """What ran. What is as usual, or not used, was not said."""
        said = {name: value for name, value in asdict(self.request).items() if value not in (None, "")}
        law = {"zipf": ",".join(f"{one:g}" for one in self.workload.exponents)} if isinstance(self.workload, Synthetic) else {}
        return {
            **said,
            **law,
            "peers": self.peers,
            "tuples": self.workload.tuples,
            "subscriptions": self.subscriptions,
            "hours": self.workload.seconds / 3600,
            "mix": str(self.mix),
            "kind": str(self.kind),
            "anchor": str(self.rule),
            "constants": {name: len(known.keys) for name, known in zip(POSITIONS, self.workload.constants, strict=True)},
            "left_out": self.left_out,
        }


def asked_for(request: SubscribersRequest) -> Asked:
    """The request, checked. Raises BadParameter and BadWorkload."""
    mix = mix_of(request)
    kind = _choice(request.kind or Kind.FACTS, Kind, "--kind")
    rule = _choice(request.anchor or Anchor.RAREST, Anchor, "--anchor")
    check(kind, request.batch, bounded=mix.bounded)
    check_seeds(request.seed, request.seeds)
    frames = frames_of(request.term_bytes)
    peers = PEERS if request.peers is None else request.peers
    subscriptions = SUBSCRIPTIONS if request.subscriptions is None else request.subscriptions
    check_range(peers, 1, MAX_PEERS, "peers")
    check_subscriptions(subscriptions)
    parts = tuple(_choice(part, Part, "--part") for part in request.parts) or tuple(Part)
    growth = parse_numbers(request.growth, "--growth", int) if request.growth else GROWTH
    for size in growth:
        check_subscriptions(size)
    check_cases(request.seeds * (len(growth) + sum(-(-size // KEPT) for size in growth)))
    speeds = parse_numbers(request.speeds, "--speeds", float) if request.speeds else SPEEDS
    reading = Reading(speeds, request.pause, request.ask_s)
    joining = Joining(request.joins, request.constant)
    epochs = parse_numbers(request.epochs_h, "--epochs-h", float) if request.epochs_h else EPOCHS_H
    dates = Dates(parse_ranges(request.ranges or RANGES), epochs, request.days)
    least_ms, most_ms = parse_pair(request.link_ms, "--link-ms") if request.link_ms else LINK_MS
    links = Links(least_ms, most_ms, most_direct=MOST_DIRECT, heads=PARTS)
    for cases in (len(Shape) * -(-request.joins // TOGETHER), len(epochs) + 1, len(READERS)):
        check_cases(request.seeds * cases)
    workload, left_out = _workload(request)
    if not isinstance(workload, Synthetic):
        # Of a file objects are not known as subjects.
        parts = tuple(part for part in parts if part is not Part.JOINS)
    return Asked(
        request=request,
        workload=workload,
        mix=mix,
        peers=peers,
        subscriptions=subscriptions,
        kind=kind,
        rule=rule,
        frames=frames,
        parts=parts,
        growth=growth,
        reading=reading,
        joining=joining,
        dates=dates,
        links=links,
        left_out=left_out,
    )


def check_traced(request: SubscribersRequest) -> None:
    """Raises BadParameter for what a trace says itself."""
    usual = SubscribersRequest()
    for field in fields(request):
        if field.name not in ("trace", "seed") and getattr(request, field.name) != getattr(usual, field.name):
            raise BadParameter(
                f"--{field.name.replace('_', '-')} beside --trace, which says itself who asked for what and what was published; "
                "leave one of them out"
            )


def mix_of(request: SubscribersRequest) -> Mix:
    """Which constants and bounds subscriptions give. Raises BadParameter."""
    mix = parse_mix(request.mix, width=WIDTH if request.width is None else request.width) if request.mix else COMMON_MIX
    if request.width is not None and not mix.bounded:
        raise BadParameter(f"--width {request.width:g} is for bounds, and the mix {mix} has none; say them, as in --mix '??b=1'")
    if mix.bounded and request.events is not None:
        raise BadParameter(
            "--mix with bounds is for synthetic tuples: objects of files are not read as numbers; leave one of them out"
        )
    return mix


def _workload(request: SubscribersRequest) -> tuple[Workload, str]:
    hours = HOURS if request.hours is None else request.hours
    if not 0 < hours < float("inf"):
        raise BadParameter(f"tuples within {hours:g} h; expected more than 0")
    if request.events is None:
        tuples = TUPLES if request.tuples is None else request.tuples
        distinct = three_of(request.distinct, "--distinct", int) if request.distinct else usual_distinct(tuples)
        return Synthetic(tuples, distinct, three_of(request.zipf or ZIPF, "--zipf", float), request.seed, hours * 3600), ""
    if Part.JOINS in request.parts:
        raise BadParameter(
            "--part joins is for synthetic tuples: of a file objects are not known as subjects; leave one of them out"
        )
    for option in ("tuples", "distinct", "zipf"):
        if getattr(request, option) not in (None, ""):
            raise BadParameter(f"--{option} is for synthetic tuples, and --events has its own; leave one of them out")
    from ..workload.files import read

    reading = read(request.events, seconds=hours * 3600)
    return reading.recorded, "; ".join(reading.seen.said())


def _choice(text: str, known: type[StrEnum], option: str) -> Any:  # Any: a member of what was given
    try:
        return known(text)
    except ValueError:
        raise BadParameter(f"{option} {text!r}; expected {', '.join(known)}") from None
