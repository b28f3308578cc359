"""What the doors for clients share, that of HTTP and that of Pedro: TLS, so that clients know whom they speak to, and nobody else
reads along. What a door says over it is the door's own.

Open next: tls.py (which certificate, and whom to trust), then handshakes.py (connections before they are a door's).
"""
