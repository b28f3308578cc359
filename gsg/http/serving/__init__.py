"""Whoever connects to the door: uvicorn as it is needed here, how many connections there may be and which are ended, whom a request
was meant for.

Open next: connections.py (which connections are ended, and why), server.py (what uvicorn is told of that), hosts.py.
"""
