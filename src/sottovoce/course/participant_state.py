"""The state of a participant of a training."""

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
