"""The content of an invitation's line as bytes, loaded only where a line is read or written."""

from sottovoce.wire import Codec, Value


class InvitationContent(Value, frozen=True, tag="_written"):
    """An invitation's content, in one encoding."""

    address: str
    fingerprint: bytes
    study: str
    title: str
    short_name: str
    seats: tuple[str, ...]
    token: bytes
    expires: int

    @property
    def body(self) -> bytes:
        """As bytes."""
        return Codec().encode(self)

    @classmethod
    def read(cls, body: bytes) -> "InvitationContent":
        """From bytes; raises MalformedError unless it is that encoding."""
        return Codec().decode(body, cls)
