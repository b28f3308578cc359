"""What a peer says as objects of JSON: over the WebSocket at ``/v1`` (subprotocol ``gsg.v1+json``), over HTTP, and as events.

The messages are those of protocol.py: messages.py derives an object from each, so there is one protocol and not two. Not here: what
requests mean, which is the session's matter (gsg/http/websocket/session.py), and the SPARQL endpoint.

Open next: terms.py (what a term looks like), messages.py, form.py (the WebSocket), publishing.py (``/facts`` and ``/events``),
watching.py (``/watch``), openapi.py and asyncapi.py.
"""
