"""The state of a training's coordinator."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sottovoce.course.phases import STAGES, Phase
from sottovoce.course.terms import Terms
from sottovoce.course.training.inputs import (
    ProgramEnded,
    ProgramWaits,
)
from sottovoce.course.training.training_record import TrainingRecord
from sottovoce.errors import MisuseError
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.study import Study
from sottovoce.wire import Value

TRAINING = "course/training"
"""The name of the coordinator's record of a training."""


@dataclass(frozen=True)
class Training:
    """The state of a training's coordinator.

    The `record` outlives the process. Everything else is what this process saw: the enrolled keys,
    when seats were seen, which sums are agreed on, the progress of our own program in the current
    attempt, until when we wait for the others' reports, and how long our server took no letters.
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
    held: float = 0.0
    waits: ProgramWaits | None = None
    missing: tuple[str, ...] = ()

    @property
    def phase(self) -> Phase:
        """The study's phase."""
        return self.record.phase

    @property
    def records(self) -> Mapping[str, Value]:
        """The records that outlive the process, by their names in the journal."""
        return {TRAINING: self.record}

    @property
    def study(self) -> Study:
        """The study with the last proposed roster."""
        if self.seated is None:
            raise MisuseError("course: the study has no roster yet")
        return self.seated

    @property
    def attempt(self) -> Attempt:
        """The current attempt."""
        return self.record.attempts[-1]

    @property
    def session(self) -> bytes:
        """The session of the current attempt."""
        return self.attempt.session(self.study)

    def runs(self, attempt: Attempt) -> bool:
        """Whether this attempt is the current one: a later decision may have ended it."""
        return self.phase in STAGES and attempt == self.attempt

    def unseen(self, seats: Iterable[str], *, seconds: float, now: float) -> tuple[str, ...]:
        """The seats without a request for this time; a new process counts from its own start."""
        since = now - seconds
        return tuple(seat for seat in seats if self.seen.get(seat, self.started) < since)

    def has_opened(self, stage: Stage) -> bool:
        """Whether a sum of this stage was agreed on; we sign every set first."""
        digest = self.study.digest.hex()
        return any((digest, name) in self.opened for name in stage.opened_sums)
