"""The records of seats after the training: the agreed keys, and the scales of scores."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from sottovoce import wire
from sottovoce.course.control import Reseated, Seating
from sottovoce.course.queries.coordinator import asker_note
from sottovoce.course.queries.records import AskerRecord
from sottovoce.course.seat_course import SeatCourse
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import MalformedError, MisuseError, ViolationError
from sottovoce.hints import ShellCommand
from sottovoce.node.seat.durable_seat import SeatSession
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.residues import Base
from sottovoce.paillier import SecretKey
from sottovoce.storage.journal import Journal
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.candidates import Candidate
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import HeldShare, Trained
from sottovoce.study.queries.quorum_model import MemberShare, QuorumTrained
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.relay import Relay
from sottovoce.study.stages.agreement import (
    AgreedStudy,
    Agreement,
    SignedConsent,
    check_consent,
    recalled,
)
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals
from sottovoce.wire import Codec, Value

_AGREEMENT, _TRAINED, _SHARE = "standing/agreement", "standing/trained", "standing/share"
_RESIDUES = "standing/residues"

# Seven residues of 21 bits for each of some ten million weights.
_LONGEST_NOTE = 2**29

SHARE_OVER = {_SHARE: b"", _RESIDUES: b""}
"""Notes that remove the share of the model, which must not stay."""


class KeptTraining(Value, frozen=True):
    """The coordinator's record for answering queries, apart from the key."""

    idf_halves: wire.Words
    fraction_bits: int
    bound: bytes
    rows: int
    by_class: tuple[int, ...]
    counted: tuple[str, ...]
    peers: tuple[str, ...]
    alpha: str
    members: tuple[str, ...] = ()


class KeptShare(Value, frozen=True):
    """A holder's share of the model and the reading of scores, as its journal keeps them."""

    idf_halves: wire.Words
    fraction_bits: int
    bound: bytes
    words: wire.Words


class KeptResidues(Value, frozen=True):
    """A member's share of the model, its fellow members, and the reading of scores."""

    idf_halves: wire.Words
    fraction_bits: int
    bound: bytes
    members: tuple[str, ...]
    share: wire.Residues


def share_notes(course: SeatCourse) -> dict[str, bytes]:
    """The notes that keep this seat's share of the model, if labels are computed on shares."""
    trained, held, prepared = course.trained, course.held, course.prepared
    if isinstance(held, MemberShare):
        return _residue_notes(held)
    if isinstance(trained, Trained) and trained.share is not None:
        held = HeldShare(trained.scores, trained.share)
    if held is None:
        return {}
    assert prepared is not None
    solution = held.scores.solution
    kept = KeptShare(
        wire.Words.of(np.array(prepared.idf_halves, np.uint64)),
        solution.fraction_bits,
        solution.bound.to_bytes((solution.bits + 7) // 8),
        wire.Words.of(held.words),
    )
    return {_SHARE: Codec().encode(kept)}


def _residue_notes(held: MemberShare) -> dict[str, bytes]:
    solution = held.scores.solution
    kept = KeptResidues(
        wire.Words.of(np.array(held.idf_halves, np.uint64)),
        solution.fraction_bits,
        solution.bound.to_bytes((solution.bits + 7) // 8),
        held.members,
        wire.Residues.of(held.share),
    )
    return {_RESIDUES: Codec(limit=_LONGEST_NOTE).encode(kept)}


def _kept_residues(data: bytes, study: Study) -> MemberShare:
    kept = Codec(limit=_LONGEST_NOTE).decode(data, KeptResidues)
    halves = tuple(int(half) for half in kept.idf_halves.array())
    solution = Scale(kept.fraction_bits, int.from_bytes(kept.bound))
    scores, share = ScorePlan.fit(study.plan, halves, solution), kept.share.planes()
    if share.shape != (Base().count, *scores.shape):
        raise MalformedError(f"expected a share of shape {scores.shape}, found {share.shape[1:]}")
    return MemberShare(halves, scores, kept.members, share)


def kept_share(journal: Journal, study: Study) -> HeldShare | MemberShare | None:
    """The share of the model that this seat keeps, or None."""
    if residues := journal.note(_RESIDUES):
        return _kept_residues(residues, study)
    data = journal.note(_SHARE)
    if not data:
        return None
    kept = Codec().decode(data, KeptShare)
    halves = tuple(int(half) for half in kept.idf_halves.array())
    solution = Scale(kept.fraction_bits, int.from_bytes(kept.bound))
    scores = ScorePlan.fit(study.plan, halves, solution, on_shares=study.on_shares)
    if kept.words.shape != scores.kept_shape:
        raise MalformedError(
            f"expected a share of shape {scores.kept_shape}, found {kept.words.shape}"
        )
    return HeldShare(scores, kept.words.array())


def proof_notes(proof: AgreedStudy) -> dict[str, bytes]:
    """The notes that keep everybody's consent."""
    return {_AGREEMENT: Codec().encode(proof)}


def agreement_notes(course: SeatCourse) -> dict[str, bytes]:
    """The notes that keep the agreement."""
    agreed = course.agreement
    if agreed is None or agreed.proof is None:
        return {}
    return proof_notes(agreed.proof)


def kept_agreement(journal: Journal, study: Study) -> Agreement | None:
    """The agreement of a study whose training is over; None before."""
    data = journal.note(_AGREEMENT)
    if data is None:
        return None
    return recalled(study, Codec().decode(data, AgreedStudy))


def training_notes(course: SeatCourse) -> dict[str, bytes]:
    """The notes of the training that the coordinator keeps."""
    trained, prepared = course.trained, course.prepared
    assert trained is not None
    assert prepared is not None
    solution, totals = trained.scores.solution, trained.totals
    kept = KeptTraining(
        wire.Words.of(np.array(prepared.idf_halves, np.uint64)),
        solution.fraction_bits,
        solution.bound.to_bytes((solution.bits + 7) // 8),
        totals.rows,
        totals.by_class,
        totals.peers,
        trained.peers,
        trained.candidate.written,
        trained.members if isinstance(trained, QuorumTrained) else (),
    )
    # Labels told during the choice of a model count against each peer's budget.
    spent = {
        asker_note(name): Codec().encode(AskerRecord(spent=count))
        for name, count in trained.labels_told
    }
    return {_TRAINED: Codec().encode(kept), **share_notes(course), **spent}


def kept_training(journal: Journal, study: Study, key: SecretKey | None) -> Trained | QuorumTrained:
    """The coordinator's part of a trained study."""
    data = journal.note(_TRAINED)
    if data is None:
        raise MalformedError("the journal has no record of a finished training")
    kept = Codec().decode(data, KeptTraining)
    halves = tuple(int(half) for half in kept.idf_halves.array())
    solution = Scale(kept.fraction_bits, int.from_bytes(kept.bound))
    scores = ScorePlan.fit(study.plan, halves, solution, on_shares=study.on_shares)
    absent = study.plan.features - len(halves)
    totals = Totals(kept.rows, kept.by_class, kept.counted, absent)
    candidate = Candidate.read(kept.alpha)
    if key is None:
        return QuorumTrained(scores, totals, kept.peers, kept.members, candidate)
    held = kept_share(journal, study)
    share = held.words if isinstance(held, HeldShare) else None
    return Trained(scores, totals, kept.peers, key, candidate, share)


@dataclass(frozen=True)
class AfterTraining:
    """One seat after the training: its keys, and everybody's box keys."""

    study: Study
    keys: SeatKeys
    agreement: Agreement
    sums: OpenedSumsBook = field(default_factory=OpenedSumsBook, repr=False)

    @classmethod
    def read(cls, journal: Journal, study: Study, keys: SeatKeys) -> "AfterTraining":
        """Read a seat's journal after the training."""
        agreement = kept_agreement(journal, study)
        if agreement is None:
            raise MisuseError(
                f"{keys.identity.name}: the training is not finished",
                hints=(ShellCommand("sottovoce status"),),
            )
        return cls(study, keys, agreement, OpenedSumsBook.read(journal))

    @classmethod
    def again(
        cls, journal: Journal, reseated: Reseated, before: Study, keys: SeatKeys
    ) -> "AfterTraining":
        """The seat after it enrolled again: the others as before, itself with new keys."""
        agreement, seat = kept_agreement(journal, before), keys.identity.name
        if agreement is None:
            raise MisuseError(f"{seat}: it has not agreed to the study again")
        boxes = {**agreement.boxes, seat: keys.box.public}
        study = reseated_study(before, reseated.now, seat)
        mine = Agreement(agreement.key, boxes, agreement.proof)
        return cls(study, keys, mine, OpenedSumsBook.read(journal))

    def with_new_keys(self, now: Seating, consent: SignedConsent) -> "AfterTraining":
        """The same study with the new keys of a seat that enrolled again.

        The others stay the same; the seat signed its new box key. People compare words to check its
        new identity.
        """
        return AfterTraining(
            reseated_study(self.study, now, consent.name),
            self.keys,
            rejoined_agreement(self.agreement, self.study, now, consent),
            self.sums,
        )

    def party(
        self, entropy: Entropy, *, attempt: int = 1, peers: Collection[str] | None = None
    ) -> PartyContext:
        """A party for one conversation, with the record of sums that were opened in others."""
        roster = self.study.roster.peers
        chosen = roster if peers is None else tuple(peer for peer in roster if peer in peers)
        at = Attempt(Stage.TRAINING, attempt, chosen)
        return PartyContext(
            self.study,
            self.keys.identity,
            entropy,
            self.keys.box,
            at,
            self.sums.book,
            labels=self.sums.labels,
        )

    @property
    def drawn(self) -> Entropy:
        """A party for work that draws no secrets."""
        return SystemEntropy()

    def sitting(self, name: Sequence[str], parties: Collection[str]) -> SeatSession:
        """The seat's session in a conversation of this name."""
        me = self.keys.identity.name
        party = self.party(self.drawn)
        return SeatSession(
            me,
            self.study.session(*name),
            tuple(party for party in parties if party != me),
            Relay(party, self.agreement),
            self.study.codec(self.agreement.key),
            head=" ".join(name).encode(),
            sums=self.sums,
        )


def reseated_study(before: Study, now: Seating, seat: str) -> Study:
    """The study with a new key at one seat; nothing else may differ."""
    roster = now.roster()
    same = [
        (
            participant.name,
            participant.organisation,
            participant.role,
            participant.public if participant.name != seat else b"",
        )
        for participant in (*before.roster.participants, *roster.participants)
    ]
    half = len(before.roster.participants)
    if same[:half] != same[half:] or seat not in roster.names:
        raise ViolationError(
            f"the roster differs in more than the seat {seat!r}",
            party=before.roster.coordinator,
        )
    return Study(before.plan, roster)


def rejoined_agreement(
    agreement: Agreement, before: Study, now: Seating, consent: SignedConsent
) -> Agreement:
    """The agreement with the new box key of a seat, signed by its new identity."""
    check_consent(reseated_study(before, now, consent.name), consent)
    return Agreement(agreement.key, {**agreement.boxes, consent.name: consent.box})
