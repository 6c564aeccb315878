"""Decides who has to leave after a complaint, although the accuser or the accused may lie.

A complaint says that another seat keeps the accuser waiting. Letters between two seats are sealed,
so nobody else can see which of them is at fault. The rules:

1. A complaint about a seat that the server has not seen for a stage's time is believed.
2. Any other complaint waits while the study continues. If the study finishes, it has no effect.
3. If our own program waits for a seat until the deadline, that seat has to leave, unless it
   complained about another in time. Then we look at that one, and so on to the last that is
   accused: two organisations that accuse it are believed, and it leaves. One is not: both accuser
   and accused leave, and the study stops if one of them is a helper without a substitute.
4. Somebody in a ring of complaints lies, and nobody outside can tell who: all seats of the ring
   leave, however many accuse one of them.

So no seat can exclude another by a complaint and stay itself. A single seat can only do what it
always can: leave, and so stop a study that needs it. It can also make another late where the others
continue without a latecomer (gathering ends after a stage's time): the peer that draws the
dictionary's key, if it withholds the key from another peer, and the evaluator, if it claims that a
peer's part did not arrive.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sottovoce.course.control import COORDINATOR
from sottovoce.course.training.training_record import TrainingRecord
from sottovoce.study.attempts import Attempt
from sottovoce.study.study import Study

ABSENCE = "AbsenceError"


@dataclass(frozen=True)
class Judgement:
    """The seats that have to leave, and the accuser if there is only one."""

    missing: tuple[str, ...]
    accuser: str = ""

    @property
    def disputed(self) -> bool:
        """Whether accusers and accused leave, because one of them must be at fault."""
        return self.accuser != ""


def complaints(record: TrainingRecord, study: Study, attempt: Attempt) -> dict[str, str]:
    """The last complaint of every accuser in this attempt; only its parties count."""
    parties = set(attempt.parties(study)) - {COORDINATOR}
    return {
        seat: report.party
        for seat, report in record.of(attempt.session(study)).items()
        if report.kind == ABSENCE and {seat, report.party} <= parties and seat != report.party
    }


def believed(accusations: Mapping[str, str], *, away: Collection[str]) -> set[str]:
    """The seats about which a complaint is believed at once."""
    return set(accusations.values()) & set(away)


def judged(accusations: Mapping[str, str], study: Study, *, waited: str) -> Judgement:
    """Judge who has to leave if our program waited in vain for `waited`, and all were seen."""
    chain = [waited]
    while (accused := accusations.get(chain[-1], "")) and accused not in chain:
        chain.append(accused)
    if accused:
        ring = chain[chain.index(accused) + 1 :]
        return Judgement((*ring, accused), ring[-1])
    if len(chain) == 1:
        return Judgement((waited,))
    accuser, accused = chain[-2:]
    organisations = {seat.name: seat.organisation for seat in study.roster.participants}
    accusing = {organisations[seat] for seat, other in accusations.items() if other == accused}
    if len(accusing - {organisations[accused]}) > 1:
        return Judgement((accused,))
    return Judgement((accuser, accused), accuser)
