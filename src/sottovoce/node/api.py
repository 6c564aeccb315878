"""The functions that commands call: serve studies, join, query and leave one, and see its state.

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

A `source` is a function without arguments that returns the peer's documents. It is called when they
are first needed and again after a restart, and must return the same documents. A site keeps
everything of a study below `Membership.folder`, the coordinator below `CoordinatorPlace.folder`;
the caller makes both folders with mode 700.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from sottovoce.config.study_file import StudyDescription
from sottovoce.node.approval import Gate, OpenGate
from sottovoce.node.events import OnEvent, unheard
from sottovoce.study.card.card import StudyCard
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.policy import Policy
from sottovoce.study.queries.classification import Answer
from sottovoce.study.queries.explanations import Explanation
from sottovoce.study.study import Study
from sottovoce.text.documents import Document
from sottovoce.wire.printable import MAX_NAME, escaped

ReadStudy: TypeAlias = Callable[[str], StudyDescription]


@dataclass(frozen=True)
class ConsentQuestion:
    """The question that a person answers before anything but public keys leaves the site.

    The others wait for the answer until `until` (seconds since 1970; 0 for no limit).
    """

    study: Study
    card: StudyCard
    words: tuple[str, ...]
    seats: tuple[str, ...]
    until: float = 0.0


@dataclass(frozen=True)
class ConsentBy:
    """Consent by this person, who compared the words by phone or consented in advance."""

    name: str
    compared: bool

    @property
    def note(self) -> str:
        """The person, for the ledger."""
        how = "the words were compared" if self.compared else "beforehand"
        return f"by {escaped(self.name)[:MAX_NAME]} ({how}) "


Consent: TypeAlias = Callable[[ConsentQuestion], Awaitable[bool | ConsentBy]]
"""A person's answer; a script need not name the person."""


Documents: TypeAlias = Callable[[], Sequence[Document]]


@dataclass(frozen=True)
class AskOptions:
    """Options of a site: how it reads a study's text, who approves letters, who gets events."""

    read: ReadStudy
    gate: Gate = field(default_factory=OpenGate, kw_only=True)
    on_event: OnEvent = field(default=unheard, kw_only=True)


@dataclass(frozen=True)
class JoinOptions(AskOptions):
    """Options of joining: who consents, and under which policy."""

    consent: Consent
    policy: Policy = field(default_factory=Policy, kw_only=True)
    stay: bool = field(default=True, kw_only=True)
    """Whether a seat that deals for queries stays after the training."""
    checked: frozenset[str] = field(default=frozenset(), kw_only=True)
    """The peers whose documents the caller has already checked against the study."""


@dataclass(frozen=True)
class Joined:
    """The result of joining: the sealed model's file, at a peer that took part to the end."""

    study: Study
    model: Path | None


@dataclass(frozen=True)
class Classified(Answer):
    """The labels, their cost, and the numbers of rows without a known word.

    Further columns and the bias alone decide the label of such a row. `because` holds the words
    that decided each label, if they were asked for.
    """

    charged: int = 0
    wordless: tuple[int, ...] = field(default=(), repr=False)
    because: tuple[Explanation, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class EvaluationTables:
    """A site's own table, which stays at the site, and the joint table of all peers."""

    own: Evaluation
    joint: Evaluation


@dataclass(frozen=True)
class Withdrawal:
    """The effect of a withdrawal: whether the contribution is in a sum, and what ends now."""

    in_sum: bool
    says: str
