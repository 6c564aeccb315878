"""The coordinator's HTTPS port: routes, and who may use them.

    POST  /v1/invitation                   what an invitation is for        (token in the body)
    POST  /v1/enrol                        take a seat                      (signed by its new key)
    GET   /v1/study                        the study's description          (signed, as all below)
    GET   /v1/status                       how far the study is
    GET   /v1/sent                         what is held of the seat
    PUT   /v1/run?run&before&letters&chain work at the seat, knowing what is held of it
    POST  /v1/letters?…&size&digest&run    a letter; its body is asked for with `100 Continue`
    PUT   /v1/uploads?…&size&digest&run    announce a long letter, or ask how far it came
    PATCH /v1/uploads?…&offset&run         its next part
    GET   /v1/mailbox?after&wait&run       letters behind a position, waiting for the first
    GET   /v1/letters/POSITION?offset      bytes of a long letter
    POST  /v1/acknowledge?position&run     what was taken
    POST  /v1/lost                         this seat cannot go on

Every refusal is a problem document (RFC 9457). Bodies are read after the signature was checked, so
a caller without a seat uses no memory.
"""

import ssl
from typing import TYPE_CHECKING

from aiohttp import web

from sottovoce.transport.server.connection_limits import as_problem
from sottovoce.transport.server.connections import Server, open_server
from sottovoce.transport.server.limits import Limits
from sottovoce.transport.server.request_handlers import RequestHandlers, let_wait
from sottovoce.transport.server.server_callbacks import ServerCallbacks

if TYPE_CHECKING:
    from collections.abc import Sequence


def build_app(
    callbacks: ServerCallbacks, *, fingerprint: bytes, limits: Limits | None = None
) -> web.Application:
    """The application of one port; several studies may share it."""
    counter = RequestHandlers(callbacks, fingerprint, limits or Limits())
    app = web.Application(middlewares=[counter.guard])
    app[COUNTER] = counter
    app.add_routes(_routes(counter))
    app.on_response_prepare.append(as_problem)
    return app


async def serve(app: web.Application, *, host: str, port: int, context: ssl.SSLContext) -> Server:
    """Open the port; with 0 the system chooses one, which is `Server.port`."""
    return await open_server(app, host=host, port=port, context=context, limits=app[COUNTER].limits)


COUNTER = web.AppKey("counter", RequestHandlers)


def _routes(counter: RequestHandlers) -> "Sequence[web.RouteDef]":
    return [
        web.post("/v1/invitation", counter.invitation),
        web.post("/v1/enrol", counter.enrol),
        web.get("/v1/study", counter.describe, allow_head=False),
        web.get("/v1/status", counter.status, allow_head=False),
        web.get("/v1/sent", counter.sent, allow_head=False),
        web.put("/v1/run", counter.take_up),
        web.post("/v1/lost", counter.lose),
        web.post("/v1/letters", counter.post, expect_handler=let_wait),
        web.put("/v1/uploads", counter.begin),
        web.patch("/v1/uploads", counter.append),
        web.get("/v1/mailbox", counter.fetch, allow_head=False),
        web.get("/v1/letters/{position}", counter.piece, allow_head=False),
        web.post("/v1/acknowledge", counter.acknowledge),
    ]
