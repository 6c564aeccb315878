"""The server's answers as strict types: positions, progress, and waiting letters."""

from sottovoce.wire import Codec, Value

# An answer may be as large as the letters of one fetch with their heads.
CODEC = Codec(limit=8 * 2**20)
CONTENT_TYPE = "application/msgpack"


class Admitted(Value, frozen=True):
    """Says that a seat is taken, and until when the others may take theirs; 0 if all have.

    In seconds since 1970.
    """

    until: int


class Uploaded(Value, frozen=True):
    """The durable bytes of a letter, and its position once it is complete, otherwise 0."""

    received: int
    position: int


class WaitingLetter(Value, frozen=True):
    """A waiting letter; a long one comes without its body, which is read in pieces."""

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
    """Says that every letter up to this position was acknowledged."""

    position: int
