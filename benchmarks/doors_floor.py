"""What the HTTP doors are measured beside, each in a process of its own on uvicorn, as the door is: a relay of WebSockets, and an
endpoint over pyoxigraph's store.

    python -m benchmarks.doors_floor relay
    python -m benchmarks.doors_floor sparql FILE.nt.gz

Prints its port when it serves.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect


def relay() -> Starlette:
    """What comes at ``/publish`` is sent as it is to all who are at ``/subscribe``, and acknowledged."""
    subscribers: set[WebSocket] = set()

    async def publish(socket_: WebSocket) -> None:
        await socket_.accept()
        try:
            while True:
                text = await socket_.receive_text()
                for one in subscribers:
                    await one.send_text(text)
                await socket_.send_text("done")
        except WebSocketDisconnect:
            return

    async def subscribe(socket_: WebSocket) -> None:
        await socket_.accept()
        subscribers.add(socket_)
        try:
            await socket_.receive_text()
        except WebSocketDisconnect:
            return
        finally:
            subscribers.discard(socket_)

    return Starlette(routes=[WebSocketRoute("/publish", publish), WebSocketRoute("/subscribe", subscribe)])


def sparql(path: Path) -> Starlette:
    """Queries over the triples of a file, as pyoxigraph answers and writes them."""
    import pyoxigraph

    store = pyoxigraph.Store()
    with gzip.open(path) as file:
        store.bulk_load(file, pyoxigraph.RdfFormat.N_TRIPLES)  # type: ignore[arg-type]  # it reads bytes

    async def answer(request: Request) -> Response:
        found = store.query(request.query_params["query"])
        if isinstance(found, pyoxigraph.QueryTriples | pyoxigraph.QueryBoolean):
            return PlainTextResponse(str(found), 400)
        return Response(found.serialize(format=pyoxigraph.QueryResultsFormat.JSON), media_type="application/sparql-results+json")

    return Starlette(routes=[Route("/sparql", answer)])


async def _serve(application: Starlette) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, log_level="error", lifespan="off", ws="websockets-sansio", ws_per_message_deflate=False)
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    await uvicorn.Server(config).serve([listening])


def main() -> None:
    """Serve until killed, with the event loop that peers have."""
    application = relay() if sys.argv[1] == "relay" else sparql(Path(sys.argv[2]))
    try:
        import uvloop
    except ImportError:
        asyncio.run(_serve(application))
    else:
        uvloop.run(_serve(application))


if __name__ == "__main__":
    main()
