"""Bodies of requests: asked for, and read within a limit."""

from io import BytesIO

from aiohttp import web

from sottovoce.transport.problems import Refusal


async def ask_for_body(request: web.Request) -> None:
    """Let the client send the body that waits."""
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    # The answer follows, from its first byte.
    request.writer.output_size = 0


async def read_whole(request: web.Request, limit: int) -> bytes:
    """A body of at most `limit` bytes."""
    buffer = BytesIO()
    async for chunk in request.content.iter_any():
        if buffer.tell() + len(chunk) > limit:
            raise too_large(limit, buffer.tell() + len(chunk))
        buffer.write(chunk)
    return buffer.getvalue()


def too_large(limit: int, size: int) -> Refusal:
    """The refusal of a body that is too large."""
    return Refusal(
        413, "too-large", f"expected a body of at most {limit} bytes, found {size} or more"
    )
