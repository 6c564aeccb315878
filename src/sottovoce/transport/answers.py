"""What the server answers, as strict values: positions, progress, and letters that wait."""

from sottovoce.wire import Codec, Value

# An answer holds the letters of one fetch, and what is said about each.
CODEC = Codec(limit=8 * 2**20)
CONTENT_TYPE = "application/msgpack"


class Uploaded(Value, frozen=True):
    """So many bytes of a letter are durable; its position once it is whole, else 0."""

    received: int
    position: int


class WaitingLetter(Value, frozen=True):
    """A letter that waits; a long one comes without its body, and is read piece by piece."""

    position: int
    session: bytes
    sender: str
    number: int
    size: int
    digest: bytes
    body: bytes


class Fetched(Value, frozen=True):
    """Letters that wait, in the order of their positions."""

    letters: tuple[WaitingLetter, ...]


class Acknowledged(Value, frozen=True):
    """Everything up to this position is taken."""

    position: int
