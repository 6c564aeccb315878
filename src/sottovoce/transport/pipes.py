"""Two programs that talk over a pipe: frames on standard input and output, as over ssh.

A frame is eight bytes of length and a packet. The caller that opens the pipe names the party at the
other end.
"""

from dataclasses import dataclass, field
from typing import IO, Any

from sottovoce.errors import AbsenceError, MalformedError
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.seat import Packet, Seat
from sottovoce.wire import Codec

_LENGTH_BYTES = 8
LONGEST_FRAME = 2**30
_WIRE = Codec(limit=LONGEST_FRAME)


@dataclass(frozen=True)
class Pipe:
    """Both ends of one pipe, and the name of the party at the other end."""

    partner: str
    reader: IO[bytes] = field(repr=False)
    writer: IO[bytes] = field(repr=False)

    def write(self, packet: Packet) -> None:
        """Write one packet."""
        data = _WIRE.encode(packet)
        try:
            self.writer.write(len(data).to_bytes(_LENGTH_BYTES) + data)
            self.writer.flush()
        except (BrokenPipeError, ConnectionError) as error:
            raise self._gone() from error

    def read(self) -> Packet:
        """Return the next packet."""
        length = int.from_bytes(self._exactly(_LENGTH_BYTES))
        if length > LONGEST_FRAME:
            raise MalformedError(f"pipe: expected at most {LONGEST_FRAME} bytes, found {length}")
        return _WIRE.decode(self._exactly(length), Packet)

    def _exactly(self, count: int) -> bytes:
        data = self.reader.read(count)
        if len(data) < count:
            raise self._gone()
        return data

    def _gone(self) -> AbsenceError:
        return AbsenceError("the pipe ended before the work was done", party=self.partner)


def converse_over(
    pipe: Pipe, program: Party[Any], *, name: str, session: bytes, codec: Codec
) -> Any:
    """Run a program whose only partner is at the other end, and return its result."""
    seat: Seat[Any] = Seat(name, program, partners=[pipe.partner], session=session, codec=codec)
    try:
        seat.start()
        while True:
            for packet in seat.take():
                pipe.write(packet)
            if seat.finished:
                return seat.result
            seat.accept(pipe.partner, pipe.read())
    finally:
        seat.close()
