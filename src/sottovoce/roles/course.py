"""One seat's way through a study: which program it runs in which session, and what it keeps.

    agreement    everybody           consents, box keys, the study's Paillier key
    dictionary   who has text, C, E  features and totals, from blind sums of suppressed counts
    training     everybody           contributions, the sealed solve, the encrypted model

Each stage is a session, and each attempt at it one of its own. A program is a function of the
seat's inputs, of the entropy of its session and of what happened in it, in this order; nothing
else. So whoever has these can run it again and stand in the same place.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MisuseError
from sottovoce.paillier import PublicKey, SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.roles.agreement import Agreement, collected, consented
from sottovoce.roles.attempts import Attempt, Stage, Stop, following
from sottovoce.roles.desk import Desk
from sottovoce.roles.intermediary import train_intermediary
from sottovoce.roles.preparation import (
    Prepared,
    prepare_coordinator,
    prepare_evaluator,
)
from sottovoce.roles.roster import Role
from sottovoce.roles.training import (
    Told,
    prepare_from,
    train_coordinator,
    train_dealer,
    train_evaluator,
    train_peer,
)
from sottovoce.text.documents import Document
from sottovoce.wire import Codec

if TYPE_CHECKING:
    from sottovoce.roles.model import SealedModel, Trained

__all__ = ["Attempt", "Course", "Stage", "Stop"]


# Who has nothing to do with the dictionary.
_NO_TEXT = frozenset({Role.DEALER, Role.INTERMEDIARY})


def _untold(_: str) -> None:
    """Nobody listens."""


class Course:
    """The stages at one seat; pure: whoever runs its programs carries what they say."""

    def __init__(
        self,
        desk: Desk,
        *,
        documents: Sequence[Document] | None = None,
        key: SecretKey | None = None,
    ) -> None:
        """A peer brings its documents, the coordinator the study's key, others nothing."""
        self.desk = desk
        self.role = next(
            one.role for one in desk.study.roster.participants if one.name == desk.name
        )
        if (self.role is Role.PEER) != (documents is not None):
            raise InputError(f"{desk.name}: expected documents of a peer, and of nobody else")
        if (self.role is Role.COORDINATOR) != (key is not None):
            raise InputError(f"{desk.name}: expected the key of the coordinator, of nobody else")
        self.agreement: Agreement | None = None
        self.prepared: Prepared | None = None
        self.model: SealedModel | None = None
        self.trained: Trained | None = None
        self.left_out = False
        self._documents = documents or ()
        self._key = key
        self._kept: list[Stage] = []

    @property
    def next_stage(self) -> Stage | None:
        """The stage that comes next at this seat; None at the end, or when it was left out."""
        if self.left_out:
            return None
        for stage in Stage:
            idle = self.role in _NO_TEXT and stage is Stage.DICTIONARY
            if stage not in self._kept and not idle:
                return stage
        return None

    @property
    def peers(self) -> tuple[str, ...]:
        """Who can take part in what comes next, as far as this seat knows."""
        if self.prepared is not None:
            return self.prepared.totals.peers
        return self.desk.study.roster.peers

    @property
    def key(self) -> PublicKey | None:
        """The study's Paillier key, once it is known."""
        return None if self.agreement is None else self.agreement.key

    def codec(self) -> Codec:
        """How this seat reads and writes messages, with the study's key once it is known."""
        return self.desk.study.codec(self.key)

    def takes_part(self, attempt: Attempt) -> bool:
        """Whether this seat sits in an attempt."""
        return self.desk.name in attempt.parties(self.desk.study)

    def program(self, attempt: Attempt, *, entropy: Entropy, told: Told = _untold) -> Party[Any]:
        """What this seat runs in an attempt at its next stage."""
        if attempt.stage is not self.next_stage or not self.takes_part(attempt):
            raise MisuseError(
                f"{self.desk.name}: expected an attempt at {self.next_stage or 'nothing more'}, "
                f"found one at {attempt.stage} among {', '.join(attempt.peers)}"
            )
        desk = self.desk.at(attempt, entropy=entropy)
        match attempt.stage:
            case Stage.AGREEMENT:
                return consented(desk) if self._key is None else collected(desk, self._key)
            case Stage.DICTIONARY:
                return self._dictionary(desk)
        return self._training(desk, told)

    def keep(self, attempt: Attempt, result: Any) -> None:
        """Keep what the program of an attempt returned; its stage is over."""
        if attempt.stage is not self.next_stage:
            raise MisuseError(f"{self.desk.name}: {attempt.stage} is over, or has not begun")
        self._kept.append(attempt.stage)
        match attempt.stage:
            case Stage.AGREEMENT:
                self.agreement = result
            case Stage.DICTIONARY:
                self.prepared = result
            case Stage.TRAINING if self.role is Role.PEER:
                self.model = result
            case Stage.TRAINING if self.role is Role.COORDINATOR:
                self.trained = result
        self.left_out = self.role is Role.PEER and result is None

    def following(self, failed: Attempt, *, missing: Collection[str]) -> Attempt:
        """At the coordinator: the attempt after a failed one, or `AbsenceError`: the study stops.

        Its own book says whether a sum was agreed on: it signs every set before all others do.
        """
        if self.role is not Role.COORDINATOR:
            raise MisuseError(f"{self.desk.name}: expected the coordinator to decide")
        study = self.desk.study
        spent = {name for digest, name in self.desk.book.spent if digest == study.digest.hex()}
        opened = bool(spent & failed.stage.opened_sums)
        return following(study, failed, missing=missing, opened=opened)

    def _dictionary(self, desk: Desk) -> Party[Any]:
        if self.role is Role.COORDINATOR:
            return prepare_coordinator(desk)
        if self.role is Role.EVALUATOR:
            return prepare_evaluator(desk)
        assert self.agreement is not None
        return prepare_from(desk, self.agreement, self._documents)

    def _training(self, desk: Desk, told: Told) -> Party[Any]:
        assert self.agreement is not None
        if self.role is Role.DEALER:
            return train_dealer(desk)
        if self.role is Role.INTERMEDIARY:
            return train_intermediary(desk, self.agreement)
        assert self.prepared is not None
        desk = desk.having(self.prepared.shown)
        if self.role is Role.PEER:
            return train_peer(desk, self.agreement, self.prepared, self._documents)
        if self.role is Role.EVALUATOR:
            return train_evaluator(desk, self.agreement, self.prepared)
        assert self._key is not None
        return train_coordinator(desk, self._key, self.prepared, told=told)
