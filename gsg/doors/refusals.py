"""What a client is told where the TLS of a door and its own do not come together, and what to do."""

from __future__ import annotations

import ssl

_WRONG_NAME, _WRONG_ADDRESS, _EXPIRED, _NOT_YET = 62, 64, 10, 9
"""Of OpenSSL's X509_V_ERR_..., openssl/x509_vfy.h."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
_ASKS_FOR_CERTIFICATE = ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_HANDSHAKE_FAILURE")
_DISTRUSTS = (
    "TLSV1_ALERT_UNKNOWN_CA",
    "SSLV3_ALERT_BAD_CERTIFICATE",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
    "TLSV1_ALERT_DECRYPT_ERROR",
)


def why_no_tls(where: str, error: ssl.SSLError) -> str:
    """Why there is no TLS with the door there, and the next step."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of the door at {where} is not trusted: {error.verify_message}; {_next_step(error.verify_code)}"
    why = error.reason or str(error)
    if why in _NO_TLS:
        return f"what answers at {where} speaks no TLS; expected a door that was started with a certificate: is it a plain one?"
    if why in _ASKS_FOR_CERTIFICATE:
        return (
            f"the door at {where} serves only clients that show a certificate; give one with --cert FILE and --key FILE "
            "(`gsg cert DIR --client NAME` makes it; in Python: load_cert_chain() of what is given as tls=)"
        )
    if why in _DISTRUSTS:
        return (
            f"the door at {where} does not trust the certificate of this client; expected one that the CA in its "
            "client-ca file has signed: `gsg cert DIR --client NAME` makes one in the folder of that CA"
        )
    return f"there is no TLS with the door at {where}: {why}"


def hint_of_silence(url: str) -> str:
    """What may be behind a connection that a door has closed before it answered."""
    if url.startswith("https:"):
        # The loop of a door drops the alert that would say so.
        return (
            "a door that asks clients for certificates leaves those that show none which it trusts without a word: give one with "
            "--cert FILE and --key FILE"
        )
    return "a door that speaks TLS is named by a URL that begins with https://"


def _next_step(code: int) -> str:
    if code in (_WRONG_NAME, _WRONG_ADDRESS):
        return "call it by a name that its certificate has, or give it one for this name: `gsg cert DIR --host NAME --force`"
    if code == _EXPIRED:
        return "let its operator renew it, as with `gsg cert DIR --force`"
    if code == _NOT_YET:
        return "compare the clocks of both machines"
    return (
        "name the file of the CA that has signed it with --ca FILE or GSG_CA, such as the ca.pem of `gsg cert` (in Python: "
        "tls=ssl.create_default_context(cafile=FILE))"
    )
