import msgspec

from .events import Event
from .links.messages import Told, body_of, event_of


def encode_event(event: Event) -> bytes:
    return bytes(body_of(event))


def decode_event(body: bytes) -> Event:
    return event_of(Told(0, msgspec.Raw(body)))
