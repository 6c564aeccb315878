"""What the commands call: serve studies, join one, ask a trained one, leave one, and see how it is.

    at the coordinator (node/coordinator/serving.py)
      create_study(place, text, *, read=…, entropy=…) -> tuple[Token, ...]   one an organisation
      invite_again(place, study, organisation, *, entropy=…) -> Token        for one that lost all
      async run_coordinator(place, *, read=…, on_event=…, until=…) -> None   serves all studies
      study_status(place, study) -> StudyStatus
      studies(place) -> list[StudyStatus]                (study_statuses.py)   from its own disk
      cancel_study(place, study, *, reason) ;  close_study(place, study)
    at a site (node/site/joining.py)
      async describe(membership) -> str                                       the study's text
      async join(membership, source, *, options) -> Joined                    until it is finished
      async withdraw(membership, *, options) -> Withdrawal     (leaving.py)   and how far it goes
      status(membership) -> tuple[SeatStatus, ...]         (seat_status.py)   from its own disk
    with a trained study (node/site/asking.py)
      async classify(membership, documents, *, options) -> Classified         labels, and their cost
      async evaluate(membership, documents, *, options) -> Evaluated          own table, joint one

A `source` is a function without arguments that returns the peer's documents; it is called when
they are first needed, and again after a restart, and must then return the same ones.
Everything that a site keeps of a study lies below `Membership.folder`, everything of the
coordinator below `CoordinatorPlace.folder`; both are folders of mode 700 that the caller made.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypeAlias

from sottovoce.node.approval import Gate, OpenGate
from sottovoce.node.events import OnEvent, unheard
from sottovoce.node.memberships import (
    CoordinatorPlace,
    InvitationToken,
    Membership,
    SeatStatus,
    StudyStatus,
)
from sottovoce.study.card.card import StudyCard
from sottovoce.study.plan import StudyPlan
from sottovoce.study.policy import Policy
from sottovoce.study.queries.classification import Answer
from sottovoce.study.queries.explanations import Explanation
from sottovoce.study.queries.figures import Evaluation
from sottovoce.study.roster import Role
from sottovoce.study.study import Study
from sottovoce.text.documents import Document
from sottovoce.wire.printable import MAX_NAME, escaped

__all__ = [
    "AskOptions",
    "Classified",
    "Consent",
    "ConsentBy",
    "ConsentQuestion",
    "CoordinatorPlace",
    "DeadlinesDescribed",
    "Documents",
    "EvaluationTables",
    "InvitationToken",
    "JoinOptions",
    "Joined",
    "Membership",
    "ReadStudy",
    "SeatDescribed",
    "SeatStatus",
    "StudyDescribed",
    "StudyStatus",
    "Withdrawal",
]


class SeatDescribed(Protocol):
    """One seat that the study file names: who may sit there."""

    @property
    def name(self) -> str:
        """The seat: coordinator, evaluator, dealer, or a peer's name."""

    @property
    def organisation(self) -> str:
        """Whose it is."""

    @property
    def role(self) -> Role:
        """What it does."""


class DeadlinesDescribed(Protocol):
    """How long people and machines wait for each other."""

    @property
    def enrolment(self) -> timedelta:
        """Until when everybody may enrol."""

    @property
    def stage(self) -> timedelta:
        """How long a stage waits for one that is silent."""


class StudyDescribed(Protocol):
    """What the text of study.toml says; everybody reads the same text."""

    @property
    def plan(self) -> StudyPlan:
        """What is done."""

    @property
    def seats(self) -> Sequence[SeatDescribed]:
        """Who may take part, the coordinator too, in the roster's order."""

    @property
    def deadlines(self) -> DeadlinesDescribed:
        """How long everybody waits."""

    def rehearsed(self) -> Study:
        """The study as it will be if everybody comes, with keys that are none."""


ReadStudy: TypeAlias = Callable[[str], StudyDescribed]


@dataclass(frozen=True)
class ConsentQuestion:
    """What a person is shown before anything but public keys leaves the site.

    `until` is when the others stop waiting for the answer (seconds since 1970; 0 if nobody does).
    """

    study: Study
    card: StudyCard
    words: tuple[str, ...]
    seats: tuple[str, ...]
    until: float = 0.0


@dataclass(frozen=True)
class ConsentBy:
    """Yes, by this person, who compared the words over the phone or consented beforehand."""

    name: str
    compared: bool

    @property
    def note(self) -> str:
        """Who it was, for the ledger."""
        how = "the words were compared" if self.compared else "beforehand"
        return f"by {escaped(self.name)[:MAX_NAME]} ({how}) "


Consent: TypeAlias = Callable[[ConsentQuestion], Awaitable[bool | ConsentBy]]
"""What a person answers; a script need not say who it is."""


Documents: TypeAlias = Callable[[], Sequence[Document]]


@dataclass(frozen=True)
class AskOptions:
    """How a site talks: how it reads a study's text, who lets letters go, and who watches."""

    read: ReadStudy
    gate: Gate = field(default_factory=OpenGate, kw_only=True)
    on_event: OnEvent = field(default=unheard, kw_only=True)


@dataclass(frozen=True)
class JoinOptions(AskOptions):
    """How a site takes part: who consents, and under which policy."""

    consent: Consent
    policy: Policy = field(default_factory=Policy, kw_only=True)
    stay: bool = field(default=True, kw_only=True)
    """Whether a seat that deals for queries stays after the training."""


@dataclass(frozen=True)
class Joined:
    """What came of joining: the sealed model's file, if this site is a peer that was in time."""

    study: Study
    model: Path | None


@dataclass(frozen=True)
class Classified(Answer):
    """An answer, what it cost, and the numbers of rows without a word that the model knows.

    Such a row has the label that the bias alone gives. `because` holds the words that carried
    each label, where they were asked for.
    """

    charged: int = 0
    wordless: tuple[int, ...] = field(default=(), repr=False)
    because: tuple[Explanation, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class EvaluationTables:
    """A site's own table, which stays at the site, and the joint one over all that took part."""

    own: Evaluation
    joint: Evaluation


@dataclass(frozen=True)
class Withdrawal:
    """How far a withdrawal goes: whether the contribution is in a sum, and what ends now."""

    in_sum: bool
    says: str
