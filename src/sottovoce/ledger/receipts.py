"""The coordinator's receipt: its signed statement of the length and the end of a ledger.

A seat tells the coordinator where its ledger ends, signed. The coordinator keeps the longest that
it was told and hands a receipt back. Whoever cuts the ledger and the head beside it off at the
seat cannot cut the coordinator's memory, nor a receipt that was put away elsewhere.
"""

from pathlib import Path
from typing import Self

from sottovoce.errors import LedgerError
from sottovoce.ledger.chain import MAX_LINE_BYTES, Head, SignedLine, read_signed
from sottovoce.ledger.verification import LedgerSeat, NotedEnd
from sottovoce.protocols.identities import Identity

_SIGNED_RECEIPT = "ledger/receipt/v1"


class Receipt(SignedLine, frozen=True, kw_only=True):
    """A ledger's head, whose it is, when it came, and the coordinator's signature.

    `public` is the seat's key, `by` the coordinator's; both stand in the study's roster. `head`
    is the seat's own signature, without which a coordinator could make lines up.
    """

    study: str
    seat: str
    public: str
    count: int
    hash: str
    head: str
    when: str
    by: str

    @classmethod
    def of(cls, head: Head, identity: Identity, *, study: str, public: bytes, when: str) -> Self:
        """The coordinator's receipt of a head that this seat signed."""
        head.check(head.seat, public, "ledger head")
        receipt = cls(
            study=study,
            seat=head.seat,
            public=public.hex(),
            count=head.count,
            hash=head.hash,
            head=head.signature,
            when=when,
            by=identity.public.hex(),
        )
        return receipt.signed(identity, _SIGNED_RECEIPT)

    @property
    def is_whole(self) -> bool:
        """Whether the key that it names signed it, as it stands."""
        try:
            public = bytes.fromhex(self.by)
        except ValueError:
            return False
        return self.is_signed("coordinator", public, _SIGNED_RECEIPT)

    def noted_end(self, seat: LedgerSeat, where: str) -> NotedEnd:
        """Return this receipt's statement about a seat's ledger; refuse one of another ledger."""
        if (self.seat, self.public) != (seat.name, seat.public.hex()):
            raise LedgerError(f"{where}: expected a receipt of {seat.name!r}, found another's")
        if not self.is_whole:
            raise LedgerError(f"{where}: was changed: the coordinator's signature does not fit")
        head = Head(seat=self.seat, count=self.count, hash=self.hash, signature=self.head)
        head.check(seat.name, seat.public, where)
        return NotedEnd(f"the coordinator's receipt of {self.when}", self.count, self.hash)


def receipt_path(path: Path) -> Path:
    """The path of the last receipt, beside the ledger; people put a copy elsewhere."""
    return path.with_name(path.name + ".receipt")


def read_receipt(path: Path) -> Receipt:
    """The receipt in a file, or `LedgerError`."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_LINE_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise LedgerError(f"{path}: cannot be read ({reason})") from None
    return parse_receipt(data, str(path))


def parse_receipt(data: bytes, where: str) -> Receipt:
    """The one receipt that these bytes encode."""
    signed = read_signed(Receipt, data)
    if signed is None:
        raise LedgerError(f"{where}: it is no coordinator's receipt")
    return signed
