"""The phases of a study, in the same words at the coordinator, at a seat and on every screen."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sottovoce.study.attempts import Stage


class Phase(StrEnum):
    """The phase of a study; agreement, dictionary, contributions and training are its stages."""

    INVITED = "invited"
    """This site has an invitation, and has not used it yet."""
    ENROLMENT = "enrolment"
    """Seats are taken, until everybody has joined or the deadline passes."""
    CONSENT = "consent"
    """Everybody is known, and people compare words."""
    AGREEMENT = "agreement"
    DICTIONARY = "dictionary"
    CONTRIBUTIONS = "contributions"
    TRAINING = "training"
    FINISHED = "finished"
    """There is a model, and queries are answered."""
    STOPPED = "stopped"
    """It ended without a model, for everybody or for this site."""
    CLOSED = "closed"
    """Key or shares were deleted, and queries are no longer answered."""
    WITHDRAWN = "withdrawn"
    """This site takes no part in it."""
    LEFT = "left"
    """This site cannot continue, because of an error here or of what it was sent."""
    RESEATED = "reseated"
    """This site lost its disk, and returns with new keys after the training."""

    @classmethod
    def of(cls, stage: "Stage") -> "Phase":
        """The phase of a stage."""
        return cls(str(stage))


OVER = (Phase.STOPPED, Phase.CLOSED, Phase.WITHDRAWN)
"""The last phases."""
STAGES = (Phase.AGREEMENT, Phase.DICTIONARY, Phase.CONTRIBUTIONS, Phase.TRAINING)
"""The phases in which the programs of a training run."""


def admits(phase: Phase, *, enrolled: bool) -> bool:
    """Whether a seat may enrol: anybody before the study begins, later who had `enrolled`."""
    return phase is Phase.ENROLMENT or enrolled
