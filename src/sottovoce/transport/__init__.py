"""The one HTTPS port of a study: a durable mailbox, its server, and the line that calls it."""

from sottovoce.transport.certificates import (
    Certificate,
    fingerprint_of,
    make_certificate,
    server_context,
)
from sottovoce.transport.client import Line
from sottovoce.transport.limits import Limits
from sottovoce.transport.mailbox import Mailbox
from sottovoce.transport.server import FrontDesk, Server, build_app, serve

__all__ = [
    "Certificate",
    "FrontDesk",
    "Limits",
    "Line",
    "Mailbox",
    "Server",
    "build_app",
    "fingerprint_of",
    "make_certificate",
    "serve",
    "server_context",
]
