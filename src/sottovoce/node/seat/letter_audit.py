"""Every letter passes here: the gate before it leaves, and a line in the ledger for each."""

import asyncio

from sottovoce.course.control import LedgerHead
from sottovoce.errors import LedgerError, WithdrawnError
from sottovoce.keyfiles import storage
from sottovoce.ledger import Entry, LineKind, SiteLedger, parse_receipt, receipt_path
from sottovoce.node.approval import Gate, Gatekeeper
from sottovoce.storage.journal import Outgoing
from sottovoce.study.relay import Letter


class LetterAudit:
    """The witness of one seat."""

    def __init__(self, ledger: SiteLedger, gate: Gate, *, study: str) -> None:
        """Write to this ledger, and ask this gate."""
        self.ledger = ledger
        self._gatekeeper = Gatekeeper(gate, ledger, study=study)
        self._study = study
        self._came: list[Entry] = []

    async def leaving(self, outgoing: Outgoing, stage: str) -> None:
        """Let a letter leave, or raise; a person may take their time."""
        try:
            lets_go = await asyncio.to_thread(self._gatekeeper.lets_go, outgoing, stage=stage)
        except asyncio.CancelledError:
            self._gatekeeper.give_up()
            raise
        if not lets_go:
            raise _refused(outgoing)

    @property
    def asks(self) -> bool:
        """Whether somebody is asked before a letter leaves."""
        return self._gatekeeper.asks

    def may_have_left(self, outgoing: Outgoing) -> bool:
        """Whether a letter has its line already: then the server may have it, too."""
        entry = self._entry(LineKind.SENT, outgoing.letter, outgoing.kind, "")
        return self.ledger.has(entry)

    def left(self, outgoing: Outgoing, stage: str) -> None:
        """Write down that a letter leaves, and before it what came: both in one go to the disk."""
        self._write(self._entry(LineKind.SENT, outgoing.letter, outgoing.kind, stage))

    def left_unasked(self, outgoing: Outgoing, stage: str) -> None:
        """As `left`, where nobody is asked; nothing leaves a seat that has left."""
        if self.ledger.has_left:
            raise _refused(outgoing)
        self.left(outgoing, stage)

    def came(self, letter: Letter, kind: str, stage: str) -> None:
        """Note that a letter came; its line is written before anything leaves or is acknowledged.

        After a crash before that the server sends the letter again, and its line is written then.
        """
        self._came.append(self._entry(LineKind.RECEIVED, letter, kind, stage))

    def flush(self) -> None:
        """Write down whatever came."""
        if self._came:
            self._write()

    def note(self, what: LineKind, note: str) -> None:
        """Write down what is no letter."""
        self._write(Entry(self._study, what, note=note))

    def head(self) -> LedgerHead:
        """Where the ledger ends now, for the coordinator to remember."""
        self.flush()
        head = self.ledger.head()
        digest, signature = bytes.fromhex(head.hash), bytes.fromhex(head.signature)
        return LedgerHead(head.count, digest, signature)

    def receipt(self, data: bytes) -> int:
        """Put a receipt beside the ledger; how many lines it is for.

        The coordinator remembers the longest end that this seat told it. Where there are fewer
        lines here, the end was cut off, and nothing goes on from there.
        """
        self.flush()
        receipt = parse_receipt(data, "what the coordinator sent")
        witnessed = receipt.witness(self.ledger.seat, "what the coordinator sent")
        count = self.ledger.head().count
        if witnessed.count > count:
            raise LedgerError(
                f"{self.ledger.path}: cut off at the end: {witnessed.name} says "
                f"{witnessed.count} lines, found {count}",
                hints=("bring the whole ledger back from a copy",),
            )
        path = receipt_path(self.ledger.path)
        storage.write_whole(path, data, mode=storage.SECRET_MODE, replace=True)
        return receipt.count

    def _write(self, *entries: Entry) -> None:
        # All calls are of the seat's one thread.
        came, self._came = self._came, []
        self.ledger.append(*came, *entries)

    def _entry(self, what: LineKind, letter: Letter, kind: str, stage: str) -> Entry:
        return Entry.of_letter(what, letter, study=self._study, stage=stage, kind=kind)


def _refused(outgoing: Outgoing) -> WithdrawnError:
    return WithdrawnError(
        f"{outgoing.kind} to {outgoing.letter.recipient!r} was refused, and was not sent"
    )
