"""The stages at one seat: which program it runs in which session, and what it keeps.

    agreement      everybody           consents, box keys, the study's Paillier key
    dictionary     who has text, C, E  features and totals, from sums of suppressed counts
    contributions  engine quorum       every peer's moments, added up in shares among the members
    training       everybody           the sealed solve, and what each keeps of the model

Each attempt at a stage is its own session. A program is a function of the seat's inputs, of the
entropy of its session and of the events in it, and of nothing else. So it can be run again from
these, and comes to the same point.
"""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sottovoce.entropy import Entropy, bound
from sottovoce.errors import InputError, MisuseError
from sottovoce.paillier import PublicKey, SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.identities import digest
from sottovoce.study.attempts import Attempt, Stage, following
from sottovoce.study.choices import Engine
from sottovoce.study.party_context import PartyContext
from sottovoce.study.roster import Role
from sottovoce.study.stages.agreement import Agreement, collected, consented
from sottovoce.study.stages.encrypted.intermediary import train_intermediary
from sottovoce.study.stages.encrypted.outsourced import (
    hear_owner,
    hold_key,
    prepare_owner,
    train_for_owner,
    train_owner,
)
from sottovoce.study.stages.preparation import (
    Prepared,
    prepare_coordinator,
    prepare_evaluator,
    prepare_member,
)
from sottovoce.study.stages.quorum_contributions import (
    JointSums,
    add_up,
    collect_moments,
)
from sottovoce.study.stages.training import (
    OnStage,
    contribute_from,
    prepare_from,
    take_quorum,
    train_coordinator,
    train_dealer,
    train_evaluator,
    train_member,
    train_peer,
    train_quorum,
)
from sottovoce.text.documents import Document
from sottovoce.text.parts import inputs_digest
from sottovoce.wire import Codec

if TYPE_CHECKING:
    from sottovoce.study.queries.model import HeldShare, PeerModel, Trained
    from sottovoce.study.queries.quorum_model import MemberShare, QuorumModel, QuorumTrained


# Roles without a part in the dictionary.
_NO_TEXT = frozenset({Role.DEALER, Role.INTERMEDIARY})
_INPUTS = "study/inputs/v1"


def _untold(_: str) -> None:
    """Ignore the event."""


class SeatCourse:
    """The stages at one seat. It is pure: a carrier runs its programs and moves their messages."""

    def __init__(
        self,
        party: PartyContext,
        *,
        documents: Sequence[Document] | None = None,
        key: SecretKey | None = None,
    ) -> None:
        """A peer has documents, the coordinator the study's key, others nothing."""
        self.party = party
        self.role = next(
            participant.role
            for participant in party.study.roster.participants
            if participant.name == party.name
        )
        if (self.role is Role.PEER) != (documents is not None):
            raise InputError(f"{party.name}: only a peer has documents")
        keyless = party.study.engine is Engine.QUORUM
        if (self.role is Role.COORDINATOR and not keyless) != (key is not None):
            raise InputError(f"{party.name}: only the coordinator has the key")
        self.agreement: Agreement | None = None
        self.prepared: Prepared | None = None
        self.sums: JointSums | None = None
        self.model: PeerModel | QuorumModel | None = None
        self.trained: Trained | QuorumTrained | None = None
        self.held: HeldShare | MemberShare | None = None
        self.left_out = False
        self._documents = documents or ()
        self._key = key
        self._kept: list[Stage] = []

    @cached_property
    def inputs(self) -> bytes:
        """A digest of this seat's inputs; its randomness depends on it."""
        key = b"" if self._key is None else self._key.public.to_bytes()
        return digest(_INPUTS, inputs_digest(self._documents), key)

    def drawn(self, entropy: Entropy) -> Entropy:
        """The entropy of a program; other documents give another stream."""
        return bound(entropy, _INPUTS, self.inputs)

    @property
    def next_stage(self) -> Stage | None:
        """The next stage at this seat; None at the end, or if the seat was left out."""
        if self.left_out:
            return None
        for stage in Stage.of(self.party.study):
            idle = self.role in _NO_TEXT and stage is Stage.DICTIONARY
            idle |= self.role is Role.ANSWERER and stage is not Stage.AGREEMENT
            if stage not in self._kept and not idle:
                return stage
        return None

    @property
    def peers(self) -> tuple[str, ...]:
        """The peers that can take part in the next stage."""
        if self.prepared is not None:
            return self.prepared.totals.peers
        return self.party.study.roster.peers

    @property
    def key(self) -> PublicKey | None:
        """The study's Paillier key, once it is known."""
        return None if self.agreement is None else self.agreement.key

    def codec(self) -> Codec:
        """The codec of this seat's messages, with the study's key once it is known."""
        return self.party.study.codec(self.key)

    def takes_part(self, attempt: Attempt) -> bool:
        """Whether this seat takes part in an attempt."""
        return self.party.name in attempt.parties(self.party.study)

    def program(
        self, attempt: Attempt, *, entropy: Entropy, on_stage: OnStage = _untold
    ) -> Party[Any]:
        """This seat's program in an attempt at its next stage."""
        if attempt.stage is not self.next_stage or not self.takes_part(attempt):
            raise MisuseError(
                f"{self.party.name}: expected an attempt at {self.next_stage or 'nothing more'}, "
                f"found one at {attempt.stage} among {', '.join(attempt.peers)}"
            )
        party = self.party.at(attempt, entropy=self.drawn(entropy))
        match attempt.stage:
            case Stage.AGREEMENT:
                collects = self.role is Role.COORDINATOR or self._key is not None
                return collected(party, self._key) if collects else consented(party)
            case Stage.DICTIONARY:
                return self._dictionary(party)
            case Stage.CONTRIBUTIONS:
                return self._contributions(party)
        return self._training(party, on_stage)

    def keep(self, attempt: Attempt, result: Any) -> None:
        """Keep the result of an attempt's program; its stage is over."""
        if attempt.stage is not self.next_stage:
            raise MisuseError(f"{self.party.name}: {attempt.stage} is over, or has not begun")
        self._kept.append(attempt.stage)
        match attempt.stage:
            case Stage.AGREEMENT:
                self.agreement = result
            case Stage.DICTIONARY:
                self.prepared = result
            case Stage.CONTRIBUTIONS:
                self.sums = result
            case Stage.TRAINING if self.role is Role.PEER:
                self.model = result
            case Stage.TRAINING if self.role is Role.COORDINATOR:
                self.trained = result
            case Stage.TRAINING if self.role in {Role.EVALUATOR, Role.MEMBER}:
                self.held = result
        self.left_out = self.role is Role.PEER and result is None

    def following(self, failed: Attempt, *, missing: Collection[str]) -> Attempt:
        """At the coordinator: the attempt after a failed one; `AbsenceError` stops the study.

        Its own record says whether a sum was agreed on: it signs every set first.
        """
        if self.role is not Role.COORDINATOR:
            raise MisuseError(f"{self.party.name}: only the coordinator decides this")
        study = self.party.study
        spent = {name for digest, name in self.party.book.spent if digest == study.digest.hex()}
        opened = bool(spent & failed.stage.opened_sums)
        return following(study, failed, missing=missing, opened=opened)

    def _dictionary(self, party: PartyContext) -> Party[Any]:
        if party.study.outsourced:
            owns = self.role is Role.PEER
            return prepare_owner(party, self._documents) if owns else hear_owner(party)
        if self.role is Role.COORDINATOR:
            return prepare_coordinator(party)
        if self.role is Role.EVALUATOR:
            return prepare_evaluator(party)
        if self.role is Role.MEMBER:
            return prepare_member(party)
        assert self.agreement is not None
        return prepare_from(party, self.agreement, self._documents)

    def _contributions(self, party: PartyContext) -> Party[Any]:
        assert self.prepared is not None
        party = party.having(self.prepared.shown)
        if self.role is Role.COORDINATOR:
            return add_up(party, self.prepared)
        if self.role is Role.MEMBER:
            return collect_moments(party, self.prepared)
        return contribute_from(party, self.prepared, self._documents)

    def _training(self, party: PartyContext, on_stage: OnStage) -> Party[Any]:
        assert self.agreement is not None
        if self.role is Role.DEALER:
            return train_dealer(party)
        if self.role is Role.INTERMEDIARY:
            return train_intermediary(party, self.agreement)
        assert self.prepared is not None
        party = party.having(self.prepared.shown)
        if party.study.outsourced:
            return self._outsourced(party, self.agreement, self.prepared)
        if self.sums is not None:
            return self._quorum_training(party, self.prepared, self.sums, on_stage)
        return self._sealed_training(party, self.agreement, self.prepared, on_stage)

    def _sealed_training(
        self, party: PartyContext, agreement: Agreement, prepared: Prepared, on_stage: OnStage
    ) -> Party[Any]:
        """The training with an evaluator."""
        if self.role is Role.PEER:
            return train_peer(party, agreement, prepared, self._documents)
        if self.role is Role.EVALUATOR:
            return train_evaluator(party, agreement, prepared)
        assert self._key is not None
        return train_coordinator(party, self._key, prepared, on_stage=on_stage)

    def _outsourced(
        self, party: PartyContext, agreement: Agreement, prepared: Prepared
    ) -> Party[Any]:
        """The training of a lone owner that outsources its work."""
        if self.role is Role.PEER:
            return train_owner(party, agreement, prepared, self._documents)
        if self.role is Role.EVALUATOR:
            return train_for_owner(party, agreement)
        assert self._key is not None
        return hold_key(party, self._key)

    def _quorum_training(
        self, party: PartyContext, prepared: Prepared, sums: JointSums, on_stage: OnStage
    ) -> Party[Any]:
        """The training in engine quorum, from what every seat kept of the contributions."""
        if self.role is Role.MEMBER:
            return train_member(party, prepared, sums)
        if self.role is Role.COORDINATOR:
            return train_quorum(party, prepared, sums, on_stage=on_stage)
        return take_quorum(party, prepared, sums, self._documents)


def counted(result: object) -> tuple[str, ...]:
    """The peers in the coordinator's result of a stage, if it names them."""
    match result:
        case Prepared(totals):
            return totals.peers
        case _ if isinstance(peers := getattr(result, "peers", ()), tuple):
            return peers
    return ()
