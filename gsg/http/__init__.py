"""The HTTP door of a peer, and its clients.

Open next: protocol.py (what is said over the WebSocket), door.py (which path is answered by what), then a room: client/ (the other
end), websocket/ (one client of the WebSocket), serving/ (connections). Clients import the protocol and nothing of the door.
"""
