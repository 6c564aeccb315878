"""What stays after the training: the agreed keys at every seat, and how scores are read at one."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from sottovoce import wire
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import MalformedError, MisuseError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import SecretKey
from sottovoce.roles.agreement import (
    AgreedStudy,
    Agreement,
    SignedConsent,
    check_consent,
    checked,
)
from sottovoce.roles.attempts import Attempt, Stage
from sottovoce.roles.classification import query_trio
from sottovoce.roles.course import Course
from sottovoce.roles.desk import Desk
from sottovoce.roles.model import Trained
from sottovoce.roles.plan import StudyPlan, Verdict
from sottovoce.roles.relay import Relay
from sottovoce.roles.scoring import ScorePlan
from sottovoce.roles.study import Study
from sottovoce.roles.totals import Totals
from sottovoce.service.control import Reseated, Seating
from sottovoce.service.durable import Sitting
from sottovoce.service.journal import Journal
from sottovoce.service.opened_sums import OpenedSums
from sottovoce.service.seat_keys import SeatKeys
from sottovoce.wire import Codec, Value

_AGREEMENT, _TRAINED = "standing/agreement", "standing/trained"


class KeptTraining(Value, frozen=True):
    """What the coordinator needs to answer queries, beside the key."""

    idf_halves: wire.Words
    fraction_bits: int
    bound: bytes
    rows: int
    by_class: tuple[int, ...]
    counted: tuple[str, ...]
    peers: tuple[str, ...]
    alpha: str


def proof_notes(proof: AgreedStudy) -> dict[str, bytes]:
    """Everybody's consent, as the journal keeps it."""
    return {_AGREEMENT: Codec().encode(proof)}


def agreement_notes(course: Course) -> dict[str, bytes]:
    """The agreement, as the journal keeps it."""
    agreed = course.agreement
    if agreed is None or agreed.proof is None:
        return {}
    return proof_notes(agreed.proof)


def kept_agreement(journal: Journal, study: Study) -> Agreement | None:
    """The agreement of a study whose training is over; None before."""
    data = journal.note(_AGREEMENT)
    if data is None:
        return None
    return checked(study, Codec().decode(data, AgreedStudy))


def training_notes(course: Course) -> dict[str, bytes]:
    """What the coordinator keeps of the training."""
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
        trained.alpha.hex(),
    )
    return {_TRAINED: Codec().encode(kept)}


def kept_training(journal: Journal, plan: StudyPlan, key: SecretKey) -> Trained:
    """The coordinator's part of a trained study."""
    data = journal.note(_TRAINED)
    if data is None:
        raise MalformedError("expected what the training left, found nothing")
    kept = Codec().decode(data, KeptTraining)
    halves = tuple(int(one) for one in kept.idf_halves.array())
    solution = Scale(kept.fraction_bits, int.from_bytes(kept.bound))
    scores = ScorePlan.fit(plan, halves, solution)
    totals = Totals(kept.rows, kept.by_class, kept.counted)
    return Trained(scores, totals, kept.peers, key, float.fromhex(kept.alpha))


@dataclass(frozen=True)
class Standing:
    """One seat in a study whose training is over: its keys, and everybody's box keys."""

    study: Study
    keys: SeatKeys
    agreement: Agreement
    sums: OpenedSums = field(default_factory=OpenedSums, repr=False)

    @classmethod
    def read(cls, journal: Journal, study: Study, keys: SeatKeys) -> "Standing":
        """What the training left in a seat's journal."""
        agreement = kept_agreement(journal, study)
        if agreement is None:
            raise MisuseError(
                f"{keys.identity.name}: expected a study whose training is over, found one that "
                "is not",
                hints=("sottovoce status",),
            )
        return cls(study, keys, agreement, OpenedSums.read(journal))

    @classmethod
    def again(cls, journal: Journal, told: Reseated, before: Study, keys: SeatKeys) -> "Standing":
        """What a seat has that enrolled again: the others as they were, itself with new keys."""
        agreement, seat = kept_agreement(journal, before), keys.identity.name
        if agreement is None:
            raise MisuseError(f"{seat}: expected a study that it agreed to again, found none")
        boxes = {**agreement.boxes, seat: keys.box.public}
        study = reseated_study(before, told.now, seat)
        mine = Agreement(agreement.key, boxes, agreement.proof)
        return cls(study, keys, mine, OpenedSums.read(journal))

    def with_new_keys(self, now: Seating, consent: SignedConsent) -> "Standing":
        """The same study with the new keys of a seat that enrolled again.

        Everybody else is who it was; the seat itself signed its new box key. Whether its
        new identity is the right one, people compare by the words.
        """
        return Standing(
            reseated_study(self.study, now, consent.name),
            self.keys,
            rejoined_agreement(self.agreement, self.study, now, consent),
            self.sums,
        )

    def desk(
        self, entropy: Entropy, *, attempt: int = 1, peers: Collection[str] | None = None
    ) -> Desk:
        """A desk for one conversation; what was opened in another, its book knows."""
        roster = self.study.roster.peers
        chosen = roster if peers is None else tuple(one for one in roster if one in peers)
        at = Attempt(Stage.TRAINING, attempt, chosen)
        return Desk(self.study, self.keys.identity, entropy, self.keys.box, at, self.sums.book)

    @property
    def drawn(self) -> Entropy:
        """For what needs a desk and draws nothing that hides something."""
        return SystemEntropy()

    def sitting(self, name: Sequence[str], parties: Collection[str]) -> Sitting:
        """Where the seat sits in a conversation of this name."""
        me = self.keys.identity.name
        desk = self.desk(self.drawn)
        return Sitting(
            me,
            self.study.session(*name),
            tuple(one for one in parties if one != me),
            Relay(desk, self.agreement),
            self.study.codec(self.agreement.key),
            head=" ".join(name).encode(),
            sums=self.sums,
        )

    def query_parties(self, asker: str, verdict: Verdict | None) -> tuple[str, ...]:
        """Who talks in a query whose labels are found like this."""
        if verdict is not Verdict.FSS:
            return (self.study.roster.coordinator, asker)
        return (self.study.roster.coordinator, asker, query_trio(self.study, asker).dealer)


def wanted_verdict(name: str) -> Verdict | None:
    """How an asker wants its labels found, by the name in a letter or a note; None as planned."""
    if not name:
        return None
    if name not in {Verdict.FSS, Verdict.DGK}:
        raise MisuseError(f"query: expected a verdict fss or dgk, found {name!r}")
    return Verdict(name)


def reseated_study(before: Study, now: Seating, seat: str) -> Study:
    """The study with another key at one seat; nothing else may differ."""
    roster = now.roster()
    same = [
        (one.name, one.organisation, one.role, one.public if one.name != seat else b"")
        for one in (*before.roster.participants, *roster.participants)
    ]
    half = len(before.roster.participants)
    if same[:half] != same[half:] or seat not in roster.names:
        raise ViolationError(
            f"expected everybody but {seat!r} as before, found others",
            party=before.roster.coordinator,
        )
    return Study(before.plan, roster)


def rejoined_agreement(
    agreement: Agreement, before: Study, now: Seating, consent: SignedConsent
) -> Agreement:
    """The agreement with the new box key of a seat, signed by its new identity."""
    check_consent(reseated_study(before, now, consent.name), consent)
    return Agreement(agreement.key, {**agreement.boxes, consent.name: consent.box})


class AskerRecord(Value, frozen=True):
    """What one peer asked so far: its next number, what it spent, and the query that is open.

    `verdict` is how the labels of the open one are found, if not as the plan says first.
    """

    following: int = 0
    spent: int = 0
    evaluated: int = 0
    open: tuple[int, ...] = ()
    verdict: str = ""

    @classmethod
    def read(cls, journal: Journal, asker: str) -> "AskerRecord":
        """The record of a peer."""
        data = journal.note(f"asker/{asker}")
        return cls() if data is None else Codec().decode(data, cls)

    def notes(self, asker: str) -> dict[str, bytes]:
        """As the journal keeps it."""
        return {f"asker/{asker}": Codec().encode(self)}

    def counters(self, asker: str) -> tuple[Counter[str], Counter[str]]:
        """Documents and evaluations, as `QueryBook` counts them."""
        return Counter({asker: self.spent}), Counter({asker: self.evaluated})
