"""What the seats of one site share: the study's text, one consent, and the documents, read once."""

import asyncio
from collections.abc import Mapping, Sequence

from sottovoce.errors import InputError, ViolationError
from sottovoce.roles.card import StudyCard
from sottovoce.roles.rehearsal import check_documents
from sottovoce.roles.roster import Role, Roster
from sottovoce.roles.study import Study
from sottovoce.service.api import ConsentQuestion, Documents, JoinOptions, StudyDescribed
from sottovoce.service.control import COORDINATOR, Seating
from sottovoce.service.events import RosterKnown
from sottovoce.service.words import in_words
from sottovoce.text.documents import Document


class House:
    """One organisation in one study."""

    def __init__(
        self,
        study: str,
        description: StudyDescribed,
        publics: Mapping[str, bytes],
        *,
        source: Documents | None,
        options: JoinOptions,
    ) -> None:
        """The seats whose `publics` these are."""
        self._study = study
        self._description = description
        self._publics = publics
        self._source = source
        self._options = options
        self._consents: dict[bytes, asyncio.Task[bool]] = {}
        self._documents: asyncio.Task[Sequence[Document]] | None = None

    def seated(self, seating: Seating) -> Study:
        """The study with these people, if it is the one that the text describes."""
        return seated(self._description, self._publics, seating)

    async def consents(self, study: Study, seat: str) -> bool:
        """Whether this site's person agrees to the study with these people; asked once."""
        words = in_words(study.digest)
        self._options.on_event(RosterKnown(self._study, seat, study.roster.peers, words))
        if study.digest not in self._consents:
            self._consents[study.digest] = asyncio.create_task(self._ask(study, words))
        return await asyncio.shield(self._consents[study.digest])

    async def _ask(self, study: Study, words: tuple[str, ...]) -> bool:
        self._options.policy.check(study)
        question = ConsentQuestion(study, StudyCard(study), words, tuple(self._publics))
        return await self._options.consent(question)

    async def check_documents(self) -> None:
        """Refuse documents that cannot go into the study, before anything is sent."""
        peers = {one.name for one in self._description.seats if one.role is Role.PEER}
        for peer in peers & set(self._publics) if self._source is not None else ():
            study, documents = self._description.rehearsed(), await self.documents()
            await asyncio.to_thread(check_documents, study, peer, documents)

    async def documents(self) -> Sequence[Document]:
        """The peer's documents, read in a thread when they are first needed."""
        if self._source is None:
            raise InputError(f"study {self._study!r}: expected documents of a peer, found none")
        if self._documents is None:
            self._documents = asyncio.create_task(asyncio.to_thread(self._source))
        return await asyncio.shield(self._documents)


def seated(described: StudyDescribed, publics: Mapping[str, bytes], seating: Seating) -> Study:
    """The study with these people, if it is the one that the text describes.

    The coordinator proposes whose keys are whose and who stays away; everything else was in
    the text. Whether the keys are the right ones, people compare by the words.
    """
    roster = seating.roster()
    planned = {one.name: one for one in described.seats}
    for one in roster.participants:
        expected = planned.get(one.name)
        if expected is None or (expected.organisation, expected.role) != (
            one.organisation,
            one.role,
        ):
            raise ViolationError(
                f"expected the seats of the study's text, found {one.role} {one.name!r} "
                f"of {one.organisation!r}",
                party=COORDINATOR,
            )
    for name, public in publics.items():
        mine = next((one for one in roster.participants if one.name == name), None)
        if mine is None or mine.public != public:
            raise ViolationError(
                f"expected our own key at the seat {name!r}, found "
                f"{'nobody' if mine is None else 'another'}",
                party=COORDINATOR,
            )
    _check_helpers(described, roster)
    return Study(described.plan, roster)


def seated_before(described: StudyDescribed, seating: Seating) -> Study:
    """The study as others agreed to it, before our own keys were lost."""
    theirs = {one.name: one.public for one in seating.seats if one.name == COORDINATOR}
    return seated(described, theirs, seating)


def _check_helpers(described: StudyDescribed, roster: Roster) -> None:
    missing = [
        one.name
        for one in described.seats
        if one.role is not Role.PEER and one.name not in roster.names
    ]
    if missing:
        raise ViolationError(f"expected a {missing[0]} at the table, found none", party=COORDINATOR)
