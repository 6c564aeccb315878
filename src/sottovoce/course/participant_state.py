"""Where a participant of a training stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sottovoce.course.inputs import ProgramWaits
from sottovoce.course.participant_record import SEAT, ParticipantRecord
from sottovoce.course.phases import Phase
from sottovoce.course.terms import Terms
from sottovoce.errors import MisuseError
from sottovoce.study.attempts import Attempt
from sottovoce.study.study import Study
from sottovoce.wire import Value


@dataclass(frozen=True)
class Participation:
    """Where a participant of a training stands.

    `publics` are the keys of this site's seats. `study` is known once the person agreed and the
    documents are read; `began` is when the attempt under way began.
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
        """How far this seat is."""
        return self.record.phase

    @property
    def records(self) -> Mapping[str, Value]:
        """What outlives the process, by where it is kept."""
        return {SEAT: self.record}

    @property
    def agreed(self) -> Study:
        """The study that this site agreed to."""
        if self.study is None:
            raise MisuseError(f"{self.name}: expected a study that was agreed to, found none")
        return self.study

    def attempt_of(self, session: bytes) -> Attempt | None:
        """The attempt that has this session."""
        attempts = self.record.attempts if self.study is not None else ()
        matching = (attempt for attempt in attempts if attempt.session(self.agreed) == session)
        return next(matching, None)
