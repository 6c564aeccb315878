"""Audits every letter of a seat: the gate before it leaves, and a line in the ledger."""

import asyncio

from sottovoce.course.control import LedgerHead
from sottovoce.errors import LedgerError, MalformedError, WithdrawnError
from sottovoce.keyfiles import storage
from sottovoce.ledger import Entry, LineKind, SiteLedger, parse_receipt, receipt_path
from sottovoce.node.approval import Gate, Gatekeeper
from sottovoce.storage.records import Outgoing
from sottovoce.study.relay import Letter
from sottovoce.wire.codec import tag_of


class LetterAudit:
    """Audits the letters of one seat."""

    def __init__(self, ledger: SiteLedger, gate: Gate, *, study: str) -> None:
        self.ledger = ledger
        self._gatekeeper = Gatekeeper(gate, ledger, study=study)
        self._study = study
        self._came: list[Entry] = []

    async def leaving(self, outgoing: Outgoing, stage: str) -> None:
        """Ask the gate about a letter, or raise; a person may take their time."""
        question = self._gatekeeper.question(outgoing, stage=stage)
        try:
            lets_go = await asyncio.to_thread(
                self._gatekeeper.lets_go, outgoing, stage=stage, question=question
            )
        except asyncio.CancelledError:
            question.give_up()
            raise
        if not lets_go:
            raise _refused(outgoing)

    @property
    def asks(self) -> bool:
        """Whether somebody is asked before a letter leaves."""
        return self._gatekeeper.asks

    def may_have_left(self, outgoing: Outgoing) -> bool:
        """Whether a letter already has its line: then the server may have it."""
        entry = self._entry(LineKind.SENT, outgoing.letter, outgoing.kind, "")
        return self.ledger.has(entry)

    def left(self, outgoing: Outgoing, stage: str) -> None:
        """Write down that a letter leaves, after the letters that came, in one write."""
        self._write(self._entry(LineKind.SENT, outgoing.letter, outgoing.kind, stage))

    def left_unasked(self, outgoing: Outgoing, stage: str) -> None:
        """As `left`, without asking anybody; nothing leaves a seat that has left the study."""
        if self.ledger.has_left:
            raise _refused(outgoing)
        self.left(outgoing, stage)

    def came(self, letter: Letter, kind: str, stage: str) -> None:
        """Note that a letter came; its line is written before anything leaves or is acknowledged.

        After a crash before that the server sends the letter again, and its line is written then.
        """
        self._came.append(self._entry(LineKind.RECEIVED, letter, kind, stage))

    def flush(self) -> None:
        """Write down the letters that came."""
        if self._came:
            self._write()

    def note(self, what: LineKind, note: str) -> None:
        """Write down an event that is no letter."""
        self._write(Entry(self._study, what, note=note))

    def head(self) -> LedgerHead:
        """The ledger's end as it is now, for the coordinator to remember."""
        self.flush()
        head = self.ledger.head()
        digest, signature = bytes.fromhex(head.hash), bytes.fromhex(head.signature)
        return LedgerHead(head.count, digest, signature)

    def receipt(self, data: bytes) -> int:
        """Put a receipt beside the ledger; return the number of its lines.

        The coordinator remembers the longest end that this seat reported. If there are fewer lines
        here, lines were removed, and the seat must not continue.
        """
        self.flush()
        receipt = parse_receipt(data, "what the coordinator sent")
        noted = receipt.noted_end(self.ledger.seat, "what the coordinator sent")
        count = self.ledger.head().count
        if noted.count > count:
            raise LedgerError(
                f"{self.ledger.path}: lines are missing at the end: {noted.name} says "
                f"{noted.count} lines, found {count}",
                hints=("restore the whole ledger from a copy",),
            )
        path = receipt_path(self.ledger.path)
        storage.write_whole(path, data, mode=storage.SECRET_MODE, replace=True)
        return receipt.count

    def _write(self, *entries: Entry) -> None:
        # All calls come from the seat's one thread.
        came, self._came = self._came, []
        self.ledger.append(*came, *entries)

    def _entry(self, what: LineKind, letter: Letter, kind: str, stage: str) -> Entry:
        return Entry.of_letter(what, letter, study=self._study, stage=stage, kind=kind)


def kind_of(letter: Letter) -> str:
    """The kind of a letter that is not sealed."""
    try:
        return tag_of(letter.body)
    except MalformedError:
        return "unreadable"


def _refused(outgoing: Outgoing) -> WithdrawnError:
    return WithdrawnError(
        f"{outgoing.kind} to {outgoing.letter.recipient!r} was refused, and was not sent"
    )
