"""A site's ledger of messages and decisions: a signed chain of lines that anybody can check."""

from typing import TYPE_CHECKING

from sottovoce.lazy_names import lazy_names

if TYPE_CHECKING:
    from sottovoce.ledger.chain import Head, LedgerLine
    from sottovoce.ledger.comparison import Compared, Difference, compare
    from sottovoce.ledger.entries import Entry, LineKind
    from sottovoce.ledger.export import FORMATS, to_csv, to_json, to_markdown
    from sottovoce.ledger.receipts import Receipt, parse_receipt, read_receipt, receipt_path
    from sottovoce.ledger.site import SiteLedger, read_ledger, select
    from sottovoce.ledger.summary import LetterSum, letter_sums
    from sottovoce.ledger.verification import LedgerSeat, NotedEnd, Verified, verify

__all__ = [
    "FORMATS",
    "Compared",
    "Difference",
    "Entry",
    "Head",
    "LedgerLine",
    "LedgerSeat",
    "LetterSum",
    "LineKind",
    "NotedEnd",
    "Receipt",
    "SiteLedger",
    "Verified",
    "compare",
    "letter_sums",
    "parse_receipt",
    "read_ledger",
    "read_receipt",
    "receipt_path",
    "select",
    "to_csv",
    "to_json",
    "to_markdown",
    "verify",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "chain": "Head LedgerLine",
        "comparison": "Compared Difference compare",
        "entries": "Entry LineKind",
        "export": "FORMATS to_csv to_json to_markdown",
        "receipts": "Receipt parse_receipt read_receipt receipt_path",
        "site": "SiteLedger read_ledger select",
        "summary": "LetterSum letter_sums",
        "verification": "LedgerSeat NotedEnd Verified verify",
    },
)
