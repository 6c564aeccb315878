"""Two seats' ledgers side by side: what one says it sent, the other must have received.

A ledger whose end was cut off together with its head looks whole by itself. The other seat
still has the lines of what came from there.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from sottovoce.ledger.chain import LedgerLine
from sottovoce.ledger.entries import LineKind


@dataclass(frozen=True)
class Difference:
    """One letter about which two ledgers do not agree."""

    sender: str
    recipient: str
    session: str
    number: int
    says: str

    def __str__(self) -> str:
        return (
            f"letter {self.number} of session {self.session[:16]} "
            f"from {self.sender} to {self.recipient}: {self.says}"
        )


@dataclass(frozen=True)
class Compared:
    """The number of letters that both ledgers have, and their differences."""

    alike: int
    differences: tuple[Difference, ...]


def compare(ours: Iterable[LedgerLine], theirs: Iterable[LedgerLine]) -> Compared:
    """Hold two sides' ledgers of one study against each other, both ways, seat by seat.

    A letter that was sent and not received is no difference: it may be under way, or the
    other's seat was done with its session. One that was received and not sent is.
    """
    all_differences: list[Difference | None] = []
    for mine, other in product(_by_seat(ours), _by_seat(theirs)):
        all_differences += [*_differences(mine, other), *_differences(other, mine)]
    differences = tuple(difference for difference in all_differences if difference is not None)
    return Compared(len(all_differences) - len(differences), differences)


def _by_seat(lines: Iterable[LedgerLine]) -> list[list[LedgerLine]]:
    """The lines of each seat: what a site exports may be of several."""
    seats: dict[str, list[LedgerLine]] = {}
    for line in lines:
        seats.setdefault(line.seat, []).append(line)
    return list(seats.values())


def _differences(
    sending: list[LedgerLine], receiving: list[LedgerLine]
) -> Iterator[Difference | None]:
    """One item for every letter that was received: what is wrong with it, or None."""
    sender, recipient = sending[0].seat, receiving[0].seat
    sent = {
        (line.session, line.number): line.digest
        for line in sending
        if line.what == LineKind.SENT and line.party == recipient
    }
    for line in receiving:
        if line.what != LineKind.RECEIVED or line.party != sender:
            continue
        digest = sent.get((line.session, line.number))
        if digest == line.digest:
            yield None
            continue
        says = (
            "received, and not in the sender's ledger"
            if digest is None
            else "received with other bytes than were sent"
        )
        yield Difference(sender, recipient, line.session, line.number, says)
