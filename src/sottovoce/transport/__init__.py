"""The HTTPS port of a study: a durable mailbox, its server, and the client that connects to it."""

from typing import TYPE_CHECKING

from sottovoce.lazy_names import lazy_names

if TYPE_CHECKING:
    from sottovoce.transport.certificates import (
        Certificate,
        fingerprint_of,
        make_certificate,
        server_context,
    )
    from sottovoce.transport.client import CoordinatorLine
    from sottovoce.transport.connections import Server
    from sottovoce.transport.limits import Limits
    from sottovoce.transport.mailbox import Mailbox
    from sottovoce.transport.server import build_app, serve
    from sottovoce.transport.server_callbacks import ServerCallbacks

__all__ = [
    "Certificate",
    "CoordinatorLine",
    "Limits",
    "Mailbox",
    "Server",
    "ServerCallbacks",
    "build_app",
    "fingerprint_of",
    "make_certificate",
    "serve",
    "server_context",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "certificates": "Certificate fingerprint_of make_certificate server_context",
        "client": "CoordinatorLine",
        "limits": "Limits",
        "mailbox": "Mailbox",
        "server": "Server ServerCallbacks build_app serve",
    },
)
