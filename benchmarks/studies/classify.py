"""Labels that only the asker sees, all parties' CPU added, beside scores done with phe.

Ours is a whole query, every message through its bytes: rows under masks to the two holders of the
model's shares, or scores on ciphertexts, many documents packed into one and opened under a mask;
then the private verdict. `score_documents_per_s` leaves the verdict out (the asker gets scores),
`check_ms_per_query` is what the check costs in engine quorum that signs are bits.
phe does the same scores one document a ciphertext, and whoever decrypts reads them: no privacy
of score or label. The model is made before the clock starts; every label and score is checked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.arithmetic.schemes import Phe
from benchmarks.studies.quorum_classify import QuorumParties
from benchmarks.timing import interleaved, one_thread
from sottovoce.cli.terminal.measurements import Row
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.numbers.ring import share, to_ring
from sottovoce.paillier import Plain, SecretKey, encrypt
from sottovoce.protocols.runner import Conversation, Outcome
from sottovoce.study import Study, StudyPlan
from sottovoce.study.candidates import Candidate
from sottovoce.study.choices import LabelsOn, Verdict
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.queries.classification import Answer, answer, ask, deal
from sottovoce.study.queries.model import HeldShare, PeerModel, Trained, model_scale
from sottovoce.study.queries.query_seats import query_trio
from sottovoce.study.queries.quorum_model import BATCH
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.queries.shared_queries import share_scores
from sottovoce.study.release import Release
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.centring import Ends
from sottovoce.study.stages.contributions import solve_plan
from sottovoce.study.totals import Totals
from sottovoce.text.dictionary.dictionaries import HashedDictionary
from sottovoce.text.dictionary.hashing import PUBLIC
from sottovoce.text.features import NORM_PARTS, FeatureSpace
from sottovoce.text.labels import Labels

Progress = Callable[[str], None]
Numbers = NDArray[np.integer]
Way = tuple[LabelsOn, str]

PEERS = ("alice", "bob", "carol")
LABELS = Labels(("negative", "positive"))
# A study that trained on so many documents, with the spectrum that such text has.
ROWS, CEILING = 10_000, 800
# idf of 4, as halves.
IDF_HALVES = 8
THEIRS = 20
# Sizes of a quorum, whose members compare without a dealer: a part of the documents will do.
MEMBERS = (3, 5)
QUORUM_DOCUMENTS = 256
_CHECK_ROUNDS = 15


# What labels are found on, and how; scores leave the verdict out.
WAYS = tuple(
    (labels, how)
    for labels, ways in (
        (LabelsOn.SHARES, ("fss", "scores")),
        (LabelsOn.PAILLIER, ("fss", "dgk", "scores")),
    )
    for how in ways
)


def plan_of(features: int, *, bits: int, kind: type[StudyPlan] = StudyPlan) -> StudyPlan:
    """A plan whose budget no benchmark spends."""
    return kind("bench classify", LABELS, features=features, key_bits=bits, query_budget=2**40)


def plan_for(plan: StudyPlan, labels: LabelsOn, how: str) -> StudyPlan:
    """The same plan for labels that are found like this."""
    if how == "scores":
        return replace(plan, labels_on=labels, release=Release.MARGIN)
    return replace(plan, labels_on=labels, verdict=Verdict(how))


@dataclass(frozen=True)
class QueryDocuments:
    """Rows of so many words each, once a word, and the norm times the bias."""

    rows: sparse.csr_array

    @classmethod
    def of(cls, documents: int, *, words: int, features: int) -> "QueryDocuments":
        """Words drawn evenly."""
        rng = np.random.default_rng(3)
        columns = np.argsort(rng.random((documents, features)), axis=1)[:, :words]
        norm = round(NORM_PARTS * IDF_HALVES / 2 * words**0.5)
        columns = np.sort(np.hstack([columns, np.full((documents, 1), features)]), axis=1)
        data = np.where(columns == features, norm, 1).astype(np.int64)
        ends = np.arange(0, data.size + 1, words + 1)
        shape = (documents, features + 1)
        return cls(sparse.csr_array((data.ravel(), columns.ravel(), ends), shape=shape))

    def first(self, documents: int) -> "QueryDocuments":
        """Some of them."""
        return QueryDocuments(self.rows[:documents])

    def lines(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Columns and counts of each document."""
        for start, end in pairwise(self.rows.indptr):
            yield self.rows.indices[start:end], self.rows.data[start:end]


@dataclass(frozen=True)
class Parties:
    """A study after its training: parties, model and key, ready for any number of queries."""

    study: Study
    parties: dict[str, PartyContext]
    model: PeerModel
    trained: Trained
    weights: NDArray[np.int64] = field(repr=False)
    held: HeldShare | None = None
    _numbers: Iterator[int] = field(default_factory=count, repr=False)

    @classmethod
    def of(cls, plan: StudyPlan, key: SecretKey) -> "Parties":
        """With weights made up at random, as large as weights of unit rows are."""
        entropy = SystemEntropy()
        roster, identities = draw_roster(PEERS, entropy=entropy)
        study = Study(plan, roster)
        totals = Totals(ROWS, (ROWS, ROWS), PEERS)
        solution = solve_plan(plan, totals, Candidate(), ends=Ends(256 * CEILING)).solution
        halves, shared = (IDF_HALVES,) * plan.features, study.on_shares
        scores = ScorePlan.fit(plan, halves, solution, on_shares=shared)
        theta = np.random.default_rng(4).normal(size=scores.shape) / 4
        weights = scores.folded(theta)
        space = FeatureSpace(HashedDictionary(plan.features))
        parties = {
            name: PartyContext.open(study, identities[name], entropy=entropy)
            for name in roster.names
        }
        trained = Trained(scores, totals, PEERS, key)
        if shared:
            mine, theirs = share(to_ring(weights), entropy)
            model = PeerModel(space, scores, None, Candidate(), PUBLIC, public=key.public)
            held = HeldShare(scores, theirs)
            return cls(study, parties, model, replace(trained, share=mine), weights, held)
        plain = Plain(weights, model_scale(scores))
        sealed = encrypt(key, plain, slots=scores.model.slots, entropy=entropy)
        return cls(
            study,
            parties,
            PeerModel(space, scores, sealed, Candidate(), PUBLIC),
            trained,
            weights,
        )

    def query(self, documents: QueryDocuments) -> Answer:
        """A whole query of the first peer."""
        answer = self.asked(documents).results[PEERS[0]]
        assert isinstance(answer, Answer)
        return answer

    def asked(self, documents: QueryDocuments) -> Outcome:
        """A whole query of the first peer, with what everybody sent."""
        study, parties, asker = self.study, self.parties, PEERS[0]
        number, coordinator = next(self._numbers), study.roster.coordinator
        book = QueryBook(study.plan.budget, 0)
        programs = {
            asker: ask(parties[asker], self.model, documents.rows, number=number),
            coordinator: answer(parties[coordinator], self.trained, book, asker=asker),
        }
        if self.held is not None:
            evaluator = study.roster.evaluator
            programs[evaluator] = share_scores(parties[evaluator], (self.held,))
        if study.verdict_for(asker) is Verdict.FSS:
            dealer = query_trio(study, asker).dealer
            programs[dealer] = deal(parties[dealer])
        codec = study.codec(self.trained.key.public)
        session = study.session("query", str(number))
        # Views are for tests: nobody in a study keeps what it received.
        return Conversation(programs, session=session, codec=codec, recorded=False).run()

    def truth(self, documents: QueryDocuments) -> list[int]:
        """The scores of the documents as integers."""
        rows, scores = documents.rows, self.model.scores
        rows = scores.split_norms(rows) if scores.on_shares else rows
        return [int(score) for score in (rows @ self.weights)[:, 0]]


@dataclass(frozen=True)
class ClassifyTrial:
    """One row: how many documents of how many words are asked for, among how many features."""

    documents: int = 1_000
    words: int = 100
    features: int = 2_048
    rounds: int = 3


def measure(
    wanted: Sequence[ClassifyTrial],
    *,
    bits: int,
    kind: type[StudyPlan] = StudyPlan,
    progress: Progress = lambda _: None,
) -> Iterator[Row]:
    """One row per trial and verdict: documents a second of CPU time."""
    for trial in wanted:
        if trial.words > trial.features:
            raise InputError(
                f"bench classify: expected at most {trial.features} words a document, "
                f"as many as there are features, found {trial.words}"
            )
    progress("making a key")
    key = plan_of(1, bits=bits, kind=kind).generate(entropy=SystemEntropy())
    for trial in wanted:
        progress(f"{trial.words} words of {trial.features}: encrypting a model")
        plan = plan_of(trial.features, bits=bits, kind=kind)
        parties = {way: Parties.of(plan_for(plan, *way), key) for way in WAYS}
        documents = QueryDocuments.of(trial.documents, words=trial.words, features=trial.features)
        progress(f"{trial.words} words of {trial.features}: asking")
        quorums = [
            QuorumParties.of(
                replace(plan, verdict=verdict),
                size,
                halves=(IDF_HALVES,) * plan.features,
                ends=Ends(256 * CEILING),
                rows=ROWS,
            )
            for size in MEMBERS
            for verdict in (Verdict.AUTO, Verdict.FSS)
        ]
        yield from _rows(trial, parties, quorums, documents)


def _rows(
    trial: ClassifyTrial,
    parties: Mapping[Way, Parties],
    quorums: Sequence[QuorumParties],
    documents: QueryDocuments,
) -> Iterator[Row]:
    """A row per way, all measured in turns; one that is slow is asked for a part of them."""
    slow = (LabelsOn.PAILLIER, "dgk")
    sizes = dict.fromkeys(WAYS, trial.documents)
    sizes[slow] = min(trial.documents, 3 * parties[slow].model.scores.batch)
    sealed = parties[LabelsOn.PAILLIER, "fss"]
    partner = Partner.of(sealed, documents.first(min(THEIRS, trial.documents)))
    for way in WAYS:
        if way[1] != "scores":
            _check(parties[way], documents.first(sizes[way]))
    if partner.scores() != partner.expected:
        raise AssertionError("phe gave a wrong score")
    turns: dict[str, Callable[[], object]] = {
        " ".join(way): partial(parties[way].asked, documents.first(size))
        for way, size in sizes.items()
    }
    few = documents.first(min(QUORUM_DOCUMENTS, trial.documents))
    for quorum in quorums:
        quorum.check(few.rows)
        turns[quorum.named] = partial(quorum.asked, few.rows)
    with one_thread():
        seconds = interleaved({**turns, "phe": partner.scores}, rounds=trial.rounds)
    rates = {way: size / seconds[" ".join(way)] for way, size in sizes.items()}
    theirs = len(partner.expected) / seconds["phe"]
    for labels, verdict in WAYS:
        if verdict == "scores":
            continue
        part = documents.first(sizes[labels, verdict])
        sent = parties[labels, verdict].asked(part).traffic.total_bytes
        yield {
            "bits": sealed.study.plan.key_bits,
            "words": trial.words,
            "features": trial.features,
            "engine": "shares",
            "members": None,
            "threshold": None,
            "labels": str(labels),
            "verdict": verdict,
            "documents_per_s": rates[labels, verdict],
            "score_documents_per_s": rates[labels, "scores"],
            "check_ms_per_query": None,
            "phe_documents_per_s": theirs,
            "ratio": rates[labels, verdict] / theirs,
            "bytes_per_document": sent / sizes[labels, verdict],
        }
    asked = few.rows.shape[0]
    for quorum in quorums:
        rate = asked / seconds[quorum.named]
        yield {
            "bits": sealed.study.plan.key_bits,
            "words": trial.words,
            "features": trial.features,
            "engine": "quorum",
            "members": len(quorum.shares),
            "threshold": quorum.threshold,
            "labels": "shares",
            "verdict": quorum.verdict,
            "documents_per_s": rate,
            "score_documents_per_s": None,
            "check_ms_per_query": _check_milliseconds(quorum, documents),
            "phe_documents_per_s": theirs,
            "ratio": rate / theirs,
            "bytes_per_document": quorum.asked(few.rows).traffic.total_bytes / asked,
        }


def _check_milliseconds(quorum: QuorumParties, documents: QueryDocuments) -> float | None:
    """CPU time of the check of signs in a query of one batch; larger ones hide it in noise."""
    if quorum.study.fast_labels:
        return None
    rows = documents.first(BATCH).rows
    with one_thread():
        seconds = interleaved(
            {"checked": partial(quorum.asked, rows), "not": partial(quorum.asked_unchecked, rows)},
            rounds=_CHECK_ROUNDS,
        )
    return 1000 * (seconds["checked"] - seconds["not"])


def _check(sealed: Parties, documents: QueryDocuments) -> None:
    scores = np.array(sealed.truth(documents), np.float64)[:, np.newaxis]
    # A score is read right to a few units; none of these lies so close to zero.
    far = np.abs(scores[:, 0]) > 4
    predicted, true = sealed.query(documents).classes, LABELS.decide(scores)
    if any(label != other for label, other, sure in zip(predicted, true, far, strict=True) if sure):
        raise AssertionError("the query gave a wrong label")


@dataclass(frozen=True)
class Partner:
    """phe under the very same key: one ciphertext and one decryption a document."""

    scheme: Phe
    weights: list[Any] = field(repr=False)
    documents: QueryDocuments = field(repr=False)
    expected: list[int] = field(repr=False)

    @classmethod
    def of(cls, sealed: Parties, documents: QueryDocuments) -> "Partner":
        """The same model, one value a ciphertext."""
        scheme = Phe(sealed.trained.key)
        values = [int(weight) for weight in sealed.weights[:, 0]]
        bits = max(abs(value) for value in values).bit_length()
        weights = scheme.prepared(values, bits=bits)
        return cls(scheme, weights, documents, sealed.truth(documents))

    def scores(self) -> list[int]:
        """The decrypted score of every document."""
        return self.scheme.decrypt([self._score(*line) for line in self.documents.lines()])

    def _score(self, columns: Numbers, counts: Numbers) -> Any:
        total: Any = None
        for column, times in zip(columns.tolist(), counts.tolist(), strict=True):
            weight = self.weights[column]
            part = weight if times == 1 else self.scheme.times_one(weight, times)
            total = part if total is None else self.scheme.add_one(total, part)
        return total
