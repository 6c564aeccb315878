"""A ledger in short: how often each kind of message went to whom, and what it reveals."""

from collections.abc import Iterable
from dataclasses import dataclass

from sottovoce.ledger.chain import LedgerLine
from sottovoce.ledger.entries import LineKind


@dataclass(frozen=True)
class KindOfLetter:
    """The common fields of all letters of a kind between a seat and another party."""

    seat: str
    what: str
    party: str
    stage: str
    kind: str
    reveals: str


@dataclass(frozen=True)
class LetterSum:
    """The number of such letters sent or received, and their bytes in all."""

    letters: KindOfLetter
    times: int
    bytes: int


def letter_sums(lines: Iterable[LedgerLine]) -> tuple[LetterSum, ...]:
    """Every kind of letter in these lines, in the order in which they first came."""
    sizes: dict[KindOfLetter, list[int]] = {}
    for line in lines:
        if line.what in {LineKind.SENT, LineKind.RECEIVED}:
            kind = KindOfLetter(
                line.seat, str(line.what), line.party, line.stage, line.kind, line.reveals
            )
            sizes.setdefault(kind, []).append(line.bytes)
    return tuple(LetterSum(kind, len(each), sum(each)) for kind, each in sizes.items())
