"""Where the coordinator of a training stands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sottovoce.course.inputs import (
    ProgramEnded,
    ProgramWaits,
)
from sottovoce.course.phases import Phase
from sottovoce.course.terms import Terms
from sottovoce.course.training_record import TrainingRecord
from sottovoce.errors import MisuseError
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.study import Study
from sottovoce.wire import Value

TRAINING = "course/training"
"""Where the coordinator's record of a training is kept."""


@dataclass(frozen=True)
class Training:
    """Where the coordinator of a training stands.

    The `record` outlives the process. Everything else is what this process saw: whose keys are
    enrolled, when seats were seen, which sums are agreed on, what our own program did in the
    attempt under way, and until when we wait for others to say that they finished.
    """

    terms: Terms
    record: TrainingRecord
    publics: Mapping[str, bytes] = field(repr=False)
    seated: Study | None = None
    started: float = 0.0
    seen: Mapping[str, float] = field(default_factory=dict)
    opened: frozenset[tuple[str, str]] = frozenset()
    began: float = 0.0
    ended: ProgramEnded | None = None
    reports_until: float = 0.0
    waits: ProgramWaits | None = None
    missing: tuple[str, ...] = ()

    @property
    def phase(self) -> Phase:
        """How far the study is."""
        return self.record.phase

    @property
    def records(self) -> Mapping[str, Value]:
        """What outlives the process, by where it is kept."""
        return {TRAINING: self.record}

    @property
    def study(self) -> Study:
        """The study with the roster that was proposed last."""
        if self.seated is None:
            raise MisuseError("course: expected a study with a roster, found none")
        return self.seated

    @property
    def attempt(self) -> Attempt:
        """The attempt under way."""
        return self.record.attempts[-1]

    @property
    def session(self) -> bytes:
        """The session of the attempt under way."""
        return self.attempt.session(self.study)

    def unseen(self, seats: Iterable[str], *, seconds: float, now: float) -> tuple[str, ...]:
        """Who made no request for so long; a process that has just begun waited for nobody yet."""
        since = now - seconds
        return tuple(seat for seat in seats if self.seen.get(seat, self.started) < since)

    def has_opened(self, stage: Stage) -> bool:
        """Whether a sum of this stage was agreed on: we sign every set before all others do."""
        digest = self.study.digest.hex()
        return any((digest, name) in self.opened for name in stage.opened_sums)
