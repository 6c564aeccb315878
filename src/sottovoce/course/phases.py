"""How far a study is, in the same words at the coordinator, at a seat and on every screen."""

from enum import StrEnum

from sottovoce.study.attempts import Stage


class Phase(StrEnum):
    """What a study is in; agreement, dictionary, contributions and training are its stages."""

    INVITED = "invited"
    """This site has an invitation, and did not use it yet."""
    ENROLMENT = "enrolment"
    """Seats are taken; everybody waits until all have come, or the deadline."""
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
    """No query is answered any longer: key or shares were deleted."""
    WITHDRAWN = "withdrawn"
    """This site takes no part in it."""
    LEFT = "left"
    """This site cannot go on, because of an error here or of what it was sent."""
    RESEATED = "reseated"
    """This site lost its disk, and comes back with new keys after the training."""

    @classmethod
    def of(cls, stage: Stage) -> "Phase":
        """The phase of a stage."""
        return cls(str(stage))


OVER = (Phase.STOPPED, Phase.CLOSED, Phase.WITHDRAWN)
"""After these nothing more comes."""
STAGES = tuple(Phase.of(stage) for stage in Stage)
"""In these the programs of a training run."""
