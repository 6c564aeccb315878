"""Who has to go when a seat says that another keeps it waiting, though one of both may be lying.

A complaint is one seat's word, and letters between two seats are sealed, so nobody else can see
who of both owes the other. What is done about it:

1. A complaint about a seat that the server has not seen for a stage's time is believed.
2. Any other complaint waits, while the study goes on. If it gets to its end, nothing follows.
3. If our own program waits in vain for somebody to the deadline, it goes; unless it complained
   about another in time. Then we look at that one, and so on to the last that is accused:
   two organisations that accuse it are believed, and it goes. One is not: accuser and accused go
   both, and the study stops where one of them is a helper that nobody else can stand in for.
4. A ring of complaints has somebody in it who lies, and whoever waits behind the ring cannot
   tell who: however many accuse one of the ring, all of it go.

So nobody throws another out by a word and stays at the table. What is left to one seat alone is
what it has anyway: to end its own part, and to stop a study with it. And where others can do
without somebody (what is gathered from many goes on after a stage's time), it can be the reason
why that one is late: the peer that draws the key of the dictionary, if it keeps it from another
peer, and the evaluator, if it says that a peer's part did not come.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sottovoce.course.control import COORDINATOR
from sottovoce.course.training_record import TrainingRecord
from sottovoce.study.attempts import Attempt
from sottovoce.study.study import Study

ABSENCE = "AbsenceError"


@dataclass(frozen=True)
class Judgement:
    """Who goes, and who said so (of the last that goes) where that is but one seat's word."""

    missing: tuple[str, ...]
    accuser: str = ""

    @property
    def disputed(self) -> bool:
        """Whether accusers and accused go, because one of them must be at fault."""
        return self.accuser != ""


def complaints(record: TrainingRecord, study: Study, attempt: Attempt) -> dict[str, str]:
    """By accuser, about whom it complained last in this attempt; only parties of it count."""
    parties = set(attempt.parties(study)) - {COORDINATOR}
    return {
        seat: report.party
        for seat, report in record.of(attempt.session(study)).items()
        if report.kind == ABSENCE and {seat, report.party} <= parties and seat != report.party
    }


def believed(accusations: Mapping[str, str], *, away: Collection[str]) -> set[str]:
    """Of whom a complaint is believed at once."""
    return set(accusations.values()) & set(away)


def judged(accusations: Mapping[str, str], study: Study, *, waited: str) -> Judgement:
    """Who goes when our own program waited in vain for `waited`, and everybody was seen."""
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
