"""What a seat remembers of a study: what the coordinator told it and what it said, on its disk."""

import msgspec

from sottovoce.course.control import (
    Begin,
    Gone,
    OpenedEvaluation,
    OpenedQuery,
    Rejoining,
    Reseated,
    Seating,
    Stopped,
)
from sottovoce.course.phases import Phase
from sottovoce.study.attempts import Attempt
from sottovoce.wire import Value

SEAT = "course/seat"
"""Where a seat's record is kept."""


class Helped(Value, frozen=True):
    """A query that this seat helps with, or (without an asker) an evaluation.

    `peers` are the helpers of the query, or the peers of the evaluation. `begun` says that an
    evaluation was looked at, and is taken part in.
    """

    asker: str
    number: int
    attempt: int
    peers: tuple[str, ...]
    begun: bool = False


class ParticipantRecord(Value, frozen=True):
    """The last proposal of a roster, every attempt that began under it, and how it ended.

    `consented` are the digests of the studies that this site's person agreed to, `said` what the
    coordinator was told already: a session, and about whom (nobody: that its program ended).
    `cleaned` says that what had to be deleted at the end is deleted.
    """

    phase_name: str = str(Phase.ENROLMENT)
    seating: tuple[Seating, ...] = ()
    begins: tuple[Begin, ...] = ()
    stopped: tuple[Stopped, ...] = ()
    peers: tuple[str, ...] = ()
    helping: tuple[Helped, ...] = ()
    reseated: tuple[Reseated, ...] = ()
    rejoining: tuple[Rejoining, ...] = ()
    gone: tuple[Gone, ...] = ()
    consented: tuple[bytes, ...] = ()
    said: tuple[tuple[bytes, str], ...] = ()
    cleaned: bool = False

    @property
    def phase(self) -> Phase:
        """How far this seat is."""
        return Phase(self.phase_name)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every attempt under the roster."""
        return tuple(begin.attempt() for begin in self.begins)

    def but(self, *, phase: Phase | None = None, **changes: object) -> "ParticipantRecord":
        """The record with some things changed."""
        if phase is not None:
            changes["phase_name"] = str(phase)
        return msgspec.structs.replace(self, **changes)

    def with_help(self, message: OpenedQuery | OpenedEvaluation) -> "ParticipantRecord":
        """The record with one more query or evaluation in which this seat helps.

        A peer asks one query after another, and evaluations are held so, too: an earlier one, or
        an earlier attempt, is over. However many somebody asks for, one is under way.
        """
        if isinstance(message, OpenedQuery):
            wanted = Helped(message.asker, message.number, 1, message.helpers)
        else:
            wanted = Helped("", message.number, message.attempt, message.peers)
        if {wanted, msgspec.structs.replace(wanted, begun=True)} & set(self.helping):
            return self
        others = tuple(helped for helped in self.helping if helped.asker != wanted.asker)
        return self.but(helping=(*others, wanted))

    def with_begun(self, helped: Helped) -> "ParticipantRecord":
        """The record once this seat takes part in something."""
        begun = msgspec.structs.replace(helped, begun=True)
        return self.but(
            helping=tuple(begun if other == helped else other for other in self.helping)
        )

    def with_rejoining(self, message: Rejoining) -> "ParticipantRecord":
        """The record with the new keys of a seat; those that it had before are void."""
        name = message.consent.name
        others = tuple(rejoined for rejoined in self.rejoining if rejoined.consent.name != name)
        return self.but(rejoining=(*others, message))
