"""The coordinator keeps the length of every seat's ledger, and gives receipts of it."""

from datetime import UTC, datetime

from sottovoce.course.control import LedgerHead, LedgerReceipt
from sottovoce.errors import LedgerError
from sottovoce.ledger import Head, LedgerSeat, Receipt
from sottovoce.ledger.chain import read_signed
from sottovoce.node.seat.deciders import Effect
from sottovoce.protocols.identities import Identity
from sottovoce.storage.journal import Journal


def take_head(
    journal: Journal, identity: Identity, shown: LedgerHead, *, seat: LedgerSeat, study: str
) -> Effect:
    """Keep the longest known end of a seat's ledger, and answer with its receipt.

    A seat whose ledger became shorter, or differs, gets the receipt that shows it. A head that the
    seat's own key did not sign is ignored.
    """
    kept = kept_receipt(journal, seat.public)
    head = Head(
        seat=seat.name, count=shown.entries, hash=shown.head.hex(), signature=shown.signature.hex()
    )
    if kept is None or head.count > kept.count:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            kept = Receipt.of(head, identity, study=study, public=seat.public, when=when)
        except LedgerError:
            return Effect()
    data = kept.encoded()
    return Effect({_key(seat.public): data}, [(seat.name, LedgerReceipt(data))])


def kept_receipt(journal: Journal, public: bytes) -> Receipt | None:
    """The last receipt of the seat with this key."""
    data = journal.note(_key(public))
    return None if data is None else read_signed(Receipt, data)


def _key(public: bytes) -> str:
    return f"receipt/{public.hex()}"
