"""A study's text as terms of its course: who may take which seat, and the deadlines."""

from sottovoce.config.deadlines import DECISION_STAGES
from sottovoce.config.study_file import StudyDescription
from sottovoce.course.terms import Terms, WaitingLimits
from sottovoce.transport.server.limits import LONGEST_WAIT


def poll_seconds(stage: float) -> float:
    """The seconds that a request for letters waits: shorter if stages are short."""
    return min(LONGEST_WAIT, max(0.5, stage / 4))


def terms_of(study: str, described: StudyDescription) -> Terms:
    """The terms of a study's course at the coordinator."""
    stage = described.deadlines.stage.total_seconds()
    limits = WaitingLimits(
        gather=stage,
        receive=DECISION_STAGES * stage,
        unseen=poll_seconds(stage) * 2 + 1.0,
        silent=max(stage, 1.0),
        enrolment=described.deadlines.enrolment.total_seconds(),
    )
    return Terms(study, described.plan, described.seats, limits)
