"""The record and the state of a participant of a training: what its decider remembers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
from sottovoce.course.terms import Terms
from sottovoce.course.training.inputs import ProgramWaits
from sottovoce.errors import MisuseError
from sottovoce.study.attempts import Attempt
from sottovoce.study.study import Study
from sottovoce.wire import Value

SEAT = "course/seat"
"""The name of a seat's record in its journal."""


class Helped(Value, frozen=True):
    """A query that this seat helps with, or (without an asker) an evaluation.

    `peers` are the helpers of the query, or the peers of the evaluation. `begun` says that this
    seat takes part in the evaluation.
    """

    asker: str
    number: int
    attempt: int
    peers: tuple[str, ...]
    begun: bool = False


class ParticipantRecord(Value, frozen=True):
    """The last proposal of a roster, every attempt that began under it, and how it ended.

    `consented` are the digests of the studies that this site's person agreed to. `said` is what the
    coordinator was already told: a session, and about whom (nobody: its program ended). `cleaned`
    says that the deletions at the end are done.
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
        """The seat's phase."""
        return Phase(self.phase_name)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every attempt under the roster."""
        return tuple(begin.attempt() for begin in self.begins)

    def but(self, *, phase: Phase | None = None, **changes: object) -> "ParticipantRecord":
        """The record with some fields changed."""
        if phase is not None:
            changes["phase_name"] = str(phase)
        return msgspec.structs.replace(self, **changes)

    def with_help(self, message: OpenedQuery | OpenedEvaluation) -> "ParticipantRecord":
        """The record with one more query or evaluation in which this seat helps.

        A peer asks one query after another, and so it is with evaluations: a new one ends the
        earlier one or the earlier attempt. So at most one is open for each asker.
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
        """The record after this seat began to take part in an evaluation."""
        begun = msgspec.structs.replace(helped, begun=True)
        return self.but(
            helping=tuple(begun if other == helped else other for other in self.helping)
        )

    def with_rejoining(self, message: Rejoining) -> "ParticipantRecord":
        """The record with the new keys of a seat; its earlier keys are void."""
        name = message.consent.name
        others = tuple(rejoined for rejoined in self.rejoining if rejoined.consent.name != name)
        return self.but(rejoining=(*others, message))


@dataclass(frozen=True)
class Participation:
    """The state of a participant of a training.

    `publics` are the keys of this site's seats. `study` is known once the person agreed and the
    documents are read; `began` is the start of the current attempt.
    """

    terms: Terms
    name: str
    publics: Mapping[str, bytes] = field(repr=False)
    record: ParticipantRecord
    study: Study | None = None
    began: float = 0.0
    waits: ProgramWaits | None = None

    @property
    def phase(self) -> Phase:
        """The seat's phase."""
        return self.record.phase

    @property
    def records(self) -> Mapping[str, Value]:
        """The records that outlive the process, by their names in the journal."""
        return {SEAT: self.record}

    @property
    def agreed(self) -> Study:
        """The study that this site agreed to."""
        if self.study is None:
            raise MisuseError(f"{self.name}: this site has not agreed to a study yet")
        return self.study

    def attempt_of(self, session: bytes) -> Attempt | None:
        """The attempt that has this session."""
        attempts = self.record.attempts if self.study is not None else ()
        matching = (attempt for attempt in attempts if attempt.session(self.agreed) == session)
        return next(matching, None)
