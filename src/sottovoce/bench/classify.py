"""Labels that only the asker sees, all parties' CPU added, beside scores done with phe.

Ours is a whole query: scores on ciphertexts, many documents packed into one, opened under a mask,
and the private verdict. `score_documents_per_s` leaves the verdict out (the asker gets scores).
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

from sottovoce.bench.report import Row
from sottovoce.bench.schemes import Phe
from sottovoce.bench.timing import interleaved
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.paillier import Plain, SecretKey, encrypt
from sottovoce.protocols.runner import converse
from sottovoce.roles import Study, StudyPlan
from sottovoce.roles.budget import QueryBook
from sottovoce.roles.classification import Answer, answer, ask, deal, query_trio
from sottovoce.roles.contributions import solve_plan
from sottovoce.roles.desk import Desk
from sottovoce.roles.model import SealedModel, Trained, model_scale
from sottovoce.roles.plan import Release, Verdict
from sottovoce.roles.reference import Ends
from sottovoce.roles.roster import draw_roster
from sottovoce.roles.scoring import ScorePlan
from sottovoce.roles.totals import Totals
from sottovoce.text.dictionaries import HashedDictionary
from sottovoce.text.features import NORM_PARTS, FeatureSpace
from sottovoce.text.hashing import PUBLIC
from sottovoce.text.labels import Labels

Progress = Callable[[str], None]
Numbers = NDArray[np.integer]

PEERS = ("alice", "bob", "carol")
LABELS = Labels(("negative", "positive"))
# A study that trained on so many documents, with the spectrum that such text has.
ROWS, CEILING = 10_000, 800
# idf of 4, as halves.
IDF_HALVES = 8
THEIRS = 20


def plan_of(features: int, *, bits: int, kind: type[StudyPlan] = StudyPlan) -> StudyPlan:
    """A plan whose budget no benchmark spends."""
    return kind("bench classify", LABELS, features=features, key_bits=bits, query_budget=2**40)


@dataclass(frozen=True)
class Documents:
    """Rows of so many words each, once a word, and the norm times the bias."""

    rows: sparse.csr_array

    @classmethod
    def of(cls, documents: int, *, words: int, features: int) -> "Documents":
        """Words drawn evenly."""
        rng = np.random.default_rng(3)
        columns = np.argsort(rng.random((documents, features)), axis=1)[:, :words]
        norm = round(NORM_PARTS * IDF_HALVES / 2 * words**0.5)
        columns = np.sort(np.hstack([columns, np.full((documents, 1), features)]), axis=1)
        data = np.where(columns == features, norm, 1).astype(np.int64)
        ends = np.arange(0, data.size + 1, words + 1)
        shape = (documents, features + 1)
        return cls(sparse.csr_array((data.ravel(), columns.ravel(), ends), shape=shape))

    def first(self, documents: int) -> "Documents":
        """Some of them."""
        return Documents(self.rows[:documents])

    def lines(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Columns and counts of each document."""
        for start, end in pairwise(self.rows.indptr):
            yield self.rows.indices[start:end], self.rows.data[start:end]


@dataclass(frozen=True)
class Desks:
    """A study after its training: desks, model and key, ready for any number of queries."""

    study: Study
    desks: dict[str, Desk]
    model: SealedModel
    trained: Trained
    weights: NDArray[np.int64] = field(repr=False)
    _numbers: Iterator[int] = field(default_factory=count, repr=False)

    @classmethod
    def of(cls, plan: StudyPlan, key: SecretKey) -> "Desks":
        """With weights made up at random, as large as weights of unit rows are."""
        entropy = SystemEntropy()
        roster, identities = draw_roster(PEERS, entropy=entropy)
        study = Study(plan, roster)
        totals = Totals(ROWS, (ROWS, ROWS), PEERS)
        solution = solve_plan(plan, totals, alpha=1.0, ends=Ends(256 * CEILING)).solution
        scores = ScorePlan.fit(plan, (IDF_HALVES,) * plan.features, solution)
        theta = np.random.default_rng(4).normal(size=scores.shape) / 4
        weights = scores.folded(theta)
        plain = Plain(weights, model_scale(scores))
        sealed = encrypt(key, plain, slots=scores.model.slots, entropy=entropy)
        space = FeatureSpace(HashedDictionary(plan.features))
        desks = {name: Desk.open(study, identities[name], entropy=entropy) for name in roster.names}
        model = SealedModel(space, scores, sealed, 1.0, PUBLIC)
        return cls(study, desks, model, Trained(scores, totals, PEERS, key), weights)

    def query(self, documents: Documents) -> Answer:
        """A whole query of the first peer."""
        study, desks, asker = self.study, self.desks, PEERS[0]
        number, coordinator = next(self._numbers), study.roster.coordinator
        book = QueryBook(study.plan.budget, 0)
        programs = {
            asker: ask(desks[asker], self.model, documents.rows, number=number),
            coordinator: answer(desks[coordinator], self.trained, book, asker=asker),
        }
        if study.verdict_for(asker) is Verdict.FSS:
            dealer = query_trio(study, asker).dealer
            programs[dealer] = deal(desks[dealer])
        codec = study.codec(self.trained.key.public)
        result = converse(programs, session=study.session("query", str(number)), codec=codec)
        found = result.results[asker]
        assert isinstance(found, Answer)
        return found

    def truth(self, documents: Documents) -> list[int]:
        """The scores of the documents as integers."""
        return [int(score) for score in (documents.rows @ self.weights)[:, 0]]


@dataclass(frozen=True)
class Trial:
    """One row: how many documents of how many words are asked for, among how many features."""

    documents: int = 1_000
    words: int = 100
    features: int = 2_048
    rounds: int = 3


def measure(
    wanted: Sequence[Trial],
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
        desks = {
            "fss": Desks.of(plan, key),
            "dgk": Desks.of(replace(plan, verdict=Verdict.DGK), key),
            "scores": Desks.of(replace(plan, release=Release.MARGIN), key),
        }
        documents = Documents.of(trial.documents, words=trial.words, features=trial.features)
        progress(f"{trial.words} words of {trial.features}: asking")
        yield from _rows(trial, desks, documents)


def _rows(trial: Trial, desks: Mapping[str, Desks], documents: Documents) -> Iterator[Row]:
    """A row per verdict, all measured in turns; one that is slow is asked for a part of them."""
    sizes = {"fss": trial.documents, "scores": trial.documents}
    sizes["dgk"] = min(trial.documents, 2 * desks["dgk"].model.scores.batch)
    partner = Partner.of(desks["fss"], documents.first(min(THEIRS, trial.documents)))
    for verdict in ("fss", "dgk"):
        _check(desks[verdict], documents.first(sizes[verdict]))
    if partner.scores() != partner.expected:
        raise AssertionError("phe gave a wrong score")
    turns: dict[str, Callable[[], object]] = {
        name: partial(desks[name].query, documents.first(size)) for name, size in sizes.items()
    }
    seconds = interleaved({**turns, "phe": partner.scores}, rounds=trial.rounds)
    rates = {name: size / seconds[name] for name, size in sizes.items()}
    theirs = len(partner.expected) / seconds["phe"]
    for verdict in ("fss", "dgk"):
        yield {
            "bits": desks[verdict].study.plan.key_bits,
            "words": trial.words,
            "features": trial.features,
            "verdict": verdict,
            "documents_per_s": rates[verdict],
            "score_documents_per_s": rates["scores"],
            "phe_documents_per_s": theirs,
            "ratio": rates[verdict] / theirs,
        }


def _check(sealed: Desks, documents: Documents) -> None:
    scores = np.array(sealed.truth(documents), np.float64)[:, np.newaxis]
    # A score is read right to a few units; none of these lies so close to zero.
    far = np.abs(scores[:, 0]) > 4
    found, true = sealed.query(documents).classes, LABELS.decide(scores)
    if any(one != other for one, other, sure in zip(found, true, far, strict=True) if sure):
        raise AssertionError("the query gave a wrong label")


@dataclass(frozen=True)
class Partner:
    """phe under the very same key: one ciphertext and one decryption a document."""

    scheme: Phe
    weights: list[Any] = field(repr=False)
    documents: Documents = field(repr=False)
    expected: list[int] = field(repr=False)

    @classmethod
    def of(cls, sealed: Desks, documents: Documents) -> "Partner":
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
