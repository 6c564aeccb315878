"""The words for what goes wrong.

The first split says whose mistake it was: ours (something at this site, which
its people can mend) or theirs (something that another party sent or did).

    SottovoceError
    ├── OurError                    this site: its input, its settings, its files
    │   ├── InputError              what a user gave: a file, a column, a label, a value
    │   │   ├── RareClassError      all sites together have too few documents of a class
    │   │   ├── LostSeatError       a seat whose disk was lost: nobody can take it again
    │   │   └── UnansweredError     a question that nobody was there to answer: nothing is decided
    │   ├── BoundError              a number would leave the range that was agreed for it
    │   │   └── DescentRangeError   exponents of a descent on encrypted rados are beyond theirs
    │   ├── MismatchError           two things that must agree do not: keys, shapes, scales
    │   ├── MisuseError             a call at the wrong time, or one-time material used twice
    │   ├── JournalError            a seat's journal is in use, full, or another's
    │   │   ├── JournalInUseError   another process uses a seat's journal
    │   │   ├── DamagedJournalError a seat's journal is damaged: this seat cannot go on
    │   │   ├── ReplayError         a program run again does not do what it did before
    │   │   └── CopyError           an older copy of a seat's folder, or one that runs twice
    │   ├── LedgerError             a ledger was changed, cut off, or cannot be written
    │   │   └── LedgerInUseError    another process writes a seat's ledger
    │   ├── WithdrawnError          this site takes no part: it withdrew, or did not consent
    │   └── KeyFileError            a key file cannot be used
    │       ├── WrongPassphraseError
    │       ├── DamagedFileError
    │       ├── FullDiskError
    │       └── OpenPermissionsError
    └── TheirError                  another party, by name
        ├── MalformedError          bytes that are not the one encoding of a value
        ├── ViolationError          a message out of order, out of range, or over budget
        ├── AbsenceError            a party left, or too few are left to go on
        ├── OtherEntitiesError      peers with columns of their own hold different entities
        └── StoppedError            the coordinator ended the study, and told everybody why

A message says what failed, which thing, what was expected and what was found,
in lower case and without a full stop; hints carry the corrected command.
"""

from collections.abc import Iterable
from typing import NamedTuple, Self


class SottovoceError(Exception):
    """Anything that Sottovoce itself reports."""

    def __init__(self, message: str, *, hints: tuple[str, ...] = ()) -> None:
        """Keep the one-line `message` and the `hints` that a terminal prints below it."""
        super().__init__(message)
        self.message = message
        self.hints = hints


class OurError(SottovoceError):
    """Something at this site is wrong, and its people can mend it."""


class InputError(OurError, ValueError):
    """A user's input cannot be used (a ValueError too, as scikit-learn's contract asks).

    `reason` is what is wrong, and `place` where: what the message begins with. `setting` names the
    setting of a plan that is wrong, where one is, and `line` its line in a file.
    """

    def __init__(
        self,
        reason: str,
        *,
        hints: tuple[str, ...] = (),
        place: str = "",
        setting: str = "",
        line: int = 0,
    ) -> None:
        """Keep the parts of the message, and put it together."""
        super().__init__(f"{place}: {reason}" if place else reason, hints=hints)
        self.reason, self.place = reason, place
        self.setting, self.line = setting, line


class RareClassError(InputError):
    """All sites together have fewer documents of a class than the plan asks for."""


class SettingFault(NamedTuple):
    """Something that could be wrong with a setting, and whether it is."""

    wrong: bool
    setting: str
    message: str
    hint: str = ""
    place: str = "plan"


def refuse_faults(faults: Iterable[SettingFault]) -> None:
    """Refuse a plan with the first of these that is wrong."""
    for fault in faults:
        if fault.wrong:
            hints = (fault.hint,) if fault.hint else ()
            raise InputError(fault.message, hints=hints, place=fault.place, setting=fault.setting)


class BoundError(OurError, OverflowError):
    """A number would leave the range that was agreed for it; nothing was sent."""


class DescentRangeError(BoundError):
    """Exponents of a descent on encrypted rados are beyond the range that masks cover."""


class LostSeatError(InputError):
    """A seat enrolled with another key, which was lost: nobody can take it again."""


class UnansweredError(InputError):
    """Nobody was there to answer a question: that is no answer, and the question is asked again."""


class MismatchError(OurError, ValueError):
    """Two things that must agree do not: keys, shapes, scales, settings."""


class MisuseError(OurError):
    """A call at the wrong time, or one-time material used twice."""


class JournalError(OurError):
    """A seat's journal cannot be used: in use elsewhere, full, or of another key."""


class JournalInUseError(JournalError):
    """Another process uses a seat's journal."""


class DamagedJournalError(JournalError):
    """A seat's journal is damaged: the seat cannot go on, and its coordinator is told so."""


class ReplayError(JournalError):
    """A program that was run again did not do what it did before; nothing was sent."""


class CopyError(JournalError):
    """This folder is an older copy of a seat's, or another process works with a copy of it."""


class LedgerError(OurError):
    """A ledger was changed, cut off or reordered, or cannot be written."""


class LedgerInUseError(LedgerError):
    """Another process writes a seat's ledger."""


class WithdrawnError(OurError):
    """This site takes no part, or no further one: it withdrew, or did not consent."""


class KeyFileError(OurError):
    """A key file cannot be used."""


class WrongPassphraseError(KeyFileError):
    """The file is whole, and this passphrase does not open it."""


class DamagedFileError(KeyFileError):
    """The file is not what was written."""


class FullDiskError(KeyFileError):
    """A file cannot be written, because its disk is full."""


class OpenPermissionsError(KeyFileError):
    """Other users of this machine can read the file."""


class TheirError(SottovoceError):
    """Another party sent or did something wrong; `party` is its name, where that is known."""

    def __init__(self, message: str, *, party: str = "", hints: tuple[str, ...] = ()) -> None:
        """Keep the `message`, and the `party` where it is known already."""
        super().__init__(message, hints=hints)
        self.party = party

    def __str__(self) -> str:
        """The message, headed by the party where it is known."""
        return f"{self.party}: {self.message}" if self.party else self.message

    def by(self, party: str) -> Self:
        """The same error with the party named: decoders do not know whom they read."""
        return type(self)(self.message, party=party, hints=self.hints)


class MalformedError(TheirError, ValueError):
    """Bytes that are not the one encoding of a value."""


class ViolationError(TheirError):
    """A message out of order, out of range, or over budget."""


class AbsenceError(TheirError):
    """A party left, or too few are left to go on."""


class OtherEntitiesError(TheirError, ValueError):
    """Peers that must hold the same entities, with the same labels, do not."""


class StoppedError(TheirError):
    """The coordinator ended the study for everybody; the party is who caused it."""
