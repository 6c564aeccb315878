"""The entries of a ledger: messages that left or came, and decisions; never a content."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from sottovoce.errors import MalformedError
from sottovoce.protocols.messages import Disclosure, kind_of
from sottovoce.study.relay import Letter


class LineKind(StrEnum):
    """The kind of a line."""

    SENT = "sent"
    RECEIVED = "received"
    CONSENT = "consent"
    APPROVAL = "approval"
    DELETION = "deletion"
    WITHDRAWAL = "withdrawal"
    END = "end"
    REPAIR = "repair"
    REFUSAL = "refusal"


# Lines about one letter: a letter has one of each at most.
_OF_LETTERS = frozenset({LineKind.SENT, LineKind.RECEIVED, LineKind.APPROVAL})


_UNKNOWN = Disclosure(
    seen_by="its recipient",
    reveals="unknown: no message of this kind is known here",
    assuming="nothing is known",
)


@dataclass(frozen=True)
class Entry:
    """One line; what does not apply to it is empty.

    `kind` is the message's tag on the wire, `digest` the SHA-256 of the sealed bytes
    as they travelled, so that sender and recipient can compare their ledgers line by line.
    """

    study: str
    what: LineKind
    stage: str = ""
    kind: str = ""
    party: str = ""
    session: str = ""
    number: int = 0
    bytes: int = 0
    digest: str = ""
    reveals: str = ""
    note: str = ""

    @classmethod
    def of_letter(
        cls, what: LineKind, letter: Letter, *, study: str, stage: str, kind: str
    ) -> Self:
        """The line of a letter that was sent, received, or approved before it is sent."""
        return cls(
            study,
            what,
            stage=stage,
            kind=kind,
            party=letter.sender if what is LineKind.RECEIVED else letter.recipient,
            session=letter.session.hex(),
            number=letter.number,
            bytes=len(letter.body),
            digest=letter.digest.hex(),
            reveals=disclosed_by(kind).reveals,
        )

    @property
    def place(self) -> tuple[str, str, str, int] | None:
        """The place of a letter's line, which only one letter can have; None for other lines."""
        if self.what not in _OF_LETTERS:
            return None
        return (self.what.value, self.session, self.party, self.number)


def disclosed_by(kind: str) -> Disclosure:
    """Return what a message of this kind reveals to whom, from its disclosure."""
    try:
        return kind_of(kind).discloses
    except MalformedError:
        return _UNKNOWN
