"""The common part of a site's seats: the study's text, one consent, and the documents."""

import asyncio
import time
from collections.abc import Mapping, Sequence

from sottovoce.config.study_file import StudyDescription
from sottovoce.course.control import COORDINATOR, Seating
from sottovoce.course.seating import seated
from sottovoce.errors import InputError
from sottovoce.node.api import ConsentBy, ConsentQuestion, Documents, JoinOptions
from sottovoce.node.course_terms import terms_of
from sottovoce.node.events import OnEvent, RosterKnown
from sottovoce.node.phone_words import in_words
from sottovoce.study.card.card import StudyCard
from sottovoce.study.policy import Policy
from sottovoce.study.rehearsal import refuse_unfit
from sottovoce.study.roster import Role
from sottovoce.study.study import Study
from sottovoce.text.documents import Document


class SiteContext:
    """One organisation in one study."""

    def __init__(
        self,
        study: str,
        description: StudyDescription,
        publics: Mapping[str, bytes],
        *,
        source: Documents | None,
        options: JoinOptions,
    ) -> None:
        self._study = study
        self._description = description
        self.terms = terms_of(study, description)
        self.publics = publics
        self._source = source
        self._options = options
        self._consents: dict[bytes, asyncio.Task[bool | ConsentBy]] = {}
        self._documents: asyncio.Task[Sequence[Document]] | None = None
        # Set once the peer's seat of this site has stored its model.
        self.stored = asyncio.Event()

    @property
    def policy(self) -> Policy:
        """The most that this site consents to."""
        return self._options.policy

    def seated(self, seating: Seating) -> Study:
        """The study with these people, if it fits the text."""
        return seated(self.terms, self.publics, seating)

    async def consents(self, study: Study, seat: str, on_event: OnEvent) -> bool | ConsentBy:
        """Whether this site's person agrees to the study with these people; asked once.

        `on_event` belongs to the seat whose status says that a person is waited for.
        """
        words, until = in_words(study.digest), time.time() + self.terms.limits.enrolment
        on_event(RosterKnown(self._study, seat, study.roster.peers, words, until))
        if study.digest not in self._consents:
            self._consents[study.digest] = asyncio.create_task(self._ask(study, words, until))
        return await asyncio.shield(self._consents[study.digest])

    async def _ask(self, study: Study, words: tuple[str, ...], until: float) -> bool | ConsentBy:
        self.policy.check(study)
        question = ConsentQuestion(study, StudyCard(study), words, tuple(self.publics), until)
        return await self._options.consent(question)

    async def check_documents(self) -> None:
        """Refuse documents that do not fit the study, unless the caller has checked them."""
        peers = {seat.name for seat in self._description.seats if seat.role is Role.PEER}
        unchecked = (peers & set(self.publics)) - self._options.checked
        for peer in unchecked if self._source is not None else ():
            study, documents = self._description.rehearsed(), await self.documents()
            await asyncio.to_thread(refuse_unfit, study, peer, documents)

    async def documents(self) -> Sequence[Document]:
        """The peer's documents, read in a thread on first use."""
        if self._source is None:
            raise InputError(f"study {self._study!r}: a peer needs documents")
        if self._documents is None:
            self._documents = asyncio.create_task(asyncio.to_thread(self._source))
        return await asyncio.shield(self._documents)


def seated_before(described: StudyDescription, seating: Seating) -> Study:
    """The study to which the others agreed before our keys were lost."""
    theirs = {seat.name: seat.public for seat in seating.seats if seat.name == COORDINATOR}
    return seated(terms_of("", described), theirs, seating)
