"""The door's side of one WebSocket: requests in, answers and rows out at the client's pace.

Open next: session.py (one client), decoding.py (from a message to a request), sending.py (what goes to the client).
"""
