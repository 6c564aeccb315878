"""The study card for one organisation, and its consent."""

import json
from dataclasses import dataclass
from pathlib import Path

from sottovoce.config.deadlines import waits_in_words
from sottovoce.config.study_file import StudyDescription
from sottovoce.course import control
from sottovoce.errors import DamagedFileError
from sottovoce.keyfiles import storage
from sottovoce.node.api import ConsentQuestion
from sottovoce.node.phone_words import in_words
from sottovoce.study.card.card import StudyCard
from sottovoce.study.roster import Participant, Role, Roster
from sottovoce.study.study import Study

_NAME = "consent.json"
_LARGEST = 2**20


def card_of(described: StudyDescription, organisation: str | None = None) -> StudyCard:
    """The card for one organisation, before anybody's keys are known."""
    return _card(described, described.rehearsed(), organisation, keyed=False)


def agreed_card(
    described: StudyDescription, agreed: "GivenConsent", organisation: str | None
) -> StudyCard:
    """The card of the study that this site agreed to, with its fingerprint."""
    return _card(described, Study(described.plan, agreed.roster), organisation, keyed=True)


def _card(
    described: StudyDescription, study: Study, organisation: str | None, *, keyed: bool
) -> StudyCard:
    return StudyCard(
        study,
        words=in_words(study.digest) if keyed else (),
        waits=waits_in_words(described.deadlines.enrolment, described.deadlines.stage),
        also=(("course of the study", control),),
        organisation=organisation,
        keyed=keyed,
    )


@dataclass(frozen=True)
class GivenConsent:
    """A consent: to which study with whom, by whom here, and when (seconds since 1970)."""

    roster: Roster
    by: str
    at: float


def keep_consent(folder: Path, question: ConsentQuestion, *, by: str, at: float) -> None:
    """Keep this site's consent."""
    people = [
        [
            participant.name,
            participant.organisation,
            str(participant.role),
            participant.public.hex(),
        ]
        for participant in question.study.roster.participants
    ]
    data = json.dumps({"people": people, "by": by, "at": at}).encode()
    storage.write_whole(folder / _NAME, data, mode=storage.SECRET_MODE, replace=True)


def kept_consent(folder: Path) -> GivenConsent | None:
    """This site's consent, if it was given."""
    path = folder / _NAME
    if not path.exists():
        return None
    try:
        status = json.loads(storage.read_whole(path, limit=_LARGEST).data)
        people = tuple(
            Participant(name, organisation, Role(role), bytes.fromhex(public))
            for name, organisation, role, public in status["people"]
        )
        return GivenConsent(Roster(people), str(status["by"]), float(status["at"]))
    except (ValueError, KeyError, TypeError):
        raise DamagedFileError(f"{path}: expected the consent that was given here") from None
