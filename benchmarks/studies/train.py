"""A whole sealed training, all parties' CPU added, beside the same learner on pooled plaintext.

Ours: dictionary, contributions, sealed solve and what every peer gets of the model, by the very
programs that run between machines. The partner is our own plaintext pipeline on all documents
in one place: counting, choosing features, reading, moments, solve. Both run on one thread.
`sklearn_seconds` is what scikit-learn takes for as much (`TfidfVectorizer`, `SelectKBest`,
`RidgeClassifier`): it reads text once, where peers read it three times, to hide rare words.
Documents are made up, unless a source of labelled text is named: made-up words have one eigenvalue
far above all others, real ones have not, and a solve takes fewer steps. Documents and the Paillier
key are made before the clock starts. In engine quorum every peer is a member: `member_ratio` is
what one of them spends, the coordinator's work shared out evenly.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks.accuracy.accuracy import label_of
from benchmarks.studies.rosters import roster_for
from benchmarks.studies.text import LABELLING, synthetic_documents
from benchmarks.timing import cpu_seconds, forget_peak, one_thread, peak_megabytes
from sottovoce.cli.terminal.measurements import Row
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.estimators.plain_text import PlainText, accuracy
from sottovoce.paillier import SecretKey
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.seat import Packet
from sottovoce.protocols.shares.handover import EncryptedShare
from sottovoce.sources import SourceOptions, open_source
from sottovoce.study import Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.in_memory import Setting
from sottovoce.study.stages.quorum_contributions import SpectrumShare
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels
from sottovoce.text.splits import position
from sottovoce.wire.codec import tag_of

Progress = Callable[[str], None]

SHARES_FEATURES = (512, 1024, 2048, 4096)
PAILLIER_FEATURES = (32, 64)
QUORUM_FEATURES = (2048,)
MEMBERS = (3, 5)
DOCUMENTS = (10_000, 100_000)
PEERS = 4
KEY_BITS = 3072
TEST_DOCUMENTS = 1_000
# So many labels are wrong on purpose: nobody can be right everywhere.
WRONG = 0.1
_ORDER = "order of a corpus to train from"


@dataclass(frozen=True)
class TrainTrial:
    """One row: which engine learns how many features from how many documents of how many peers."""

    engine: Engine
    features: int
    documents: int
    peers: int = PEERS
    rounds: int = 1
    source: "LabelledText | None" = None

    def plan(self, kind: type[StudyPlan] = StudyPlan, *, key_bits: int = KEY_BITS) -> StudyPlan:
        """No document held out, and a budget that the test documents fit into."""
        return kind(
            "bench train",
            self.source.labels if self.source else LABELLING.labels,
            features=self.features,
            engine=self.engine,
            key_bits=key_bits,
            held_out=0.0,
            query_budget=100 * TEST_DOCUMENTS,
        )


@dataclass(frozen=True)
class LabelledText:
    """Real documents in an order that follows from what they say, and their classes."""

    documents: Sequence[Document] = field(repr=False)
    labels: Labels

    @classmethod
    def read(cls, place: Path, options: SourceOptions) -> "LabelledText":
        """Every labelled document of a source, one of each text."""
        by_text = {document.text: document for document in open_source(place, options)}
        documents = sorted(
            by_text.values(), key=lambda document: position(document, purpose=_ORDER)
        )
        return cls(documents, Labels.distinct(map(label_of, documents)))

    def some(self, number: int) -> Sequence[Document]:
        """The first so many."""
        if number > len(self.documents):
            raise InputError(
                f"expected at least {number:,} different documents, found {len(self.documents):,}",
                hints=(f"--documents {max(len(self.documents) - TEST_DOCUMENTS, 0)}",),
                place="--data",
            )
        return self.documents[:number]


def trials(
    engine: Engine,
    *,
    features: Sequence[int],
    documents: Sequence[int],
    peers: Sequence[int] = (PEERS,),
    like: TrainTrial | None = None,
) -> list[TrainTrial]:
    """Every size with every number of documents and of peers; the rest as in `like`."""
    rest = like or TrainTrial(engine, 1, 1)
    return [
        replace(rest, engine=engine, features=width, documents=count, peers=number)
        for count in documents
        for width in features
        for number in peers
    ]


def measure(
    wanted: Sequence[TrainTrial],
    *,
    plan: StudyPlan | None = None,
    progress: Progress = lambda _: None,
) -> Iterator[Row]:
    """One row per trial; `plan` gives kind and size of the key (3072 bits unless told)."""
    like = plan or TrainTrial(Engine.SHARES, 1, 1).plan()
    progress("making a key")
    key = like.generate(entropy=SystemEntropy())
    # What is loaded when it is first used belongs to no row.
    small = TrainTrial(Engine.SHARES, 16, 400)
    with one_thread():
        TrainingRun.of(small.plan(type(like), key_bits=like.key_bits), PeersAndTest.of(small), key)
    for trial in wanted:
        progress(f"{trial.engine}, {trial.features} features: making documents")
        corpus = PeersAndTest.of(trial)
        plan = trial.plan(type(like), key_bits=like.key_bits)
        runs = []
        for number in range(trial.rounds):
            stage = f"{trial.engine}, {trial.features} features, {trial.documents:,} documents"
            progress(f"{stage}: plaintext, then sealed ({number + 1} of {trial.rounds})")
            with one_thread():
                runs.append(TrainingRun.of(plan, corpus, key))
        yield _row(trial, corpus, runs)


@dataclass(frozen=True)
class PeersAndTest:
    """Each peer's documents, and others to test with."""

    parts: Mapping[str, list[Document]] = field(repr=False)
    test: list[Document] = field(repr=False)

    @classmethod
    def of(cls, trial: TrainTrial) -> "PeersAndTest":
        """Documents dealt to the peers in turn; if they are made up, with some labels wrong."""
        number = trial.documents + TEST_DOCUMENTS
        made = (
            trial.source.some(number)
            if trial.source
            else list(_mislabelled(synthetic_documents(number)))
        )
        training, test = made[: trial.documents], made[trial.documents :]
        # By tens, so that no peer gets a single class of labels that alternate.
        shares: list[list[Document]] = [[] for _ in range(trial.peers)]
        for start in range(0, len(training), 10):
            shares[start // 10 % trial.peers] += training[start : start + 10]
        return cls({f"peer {number + 1}": part for number, part in enumerate(shares)}, list(test))

    @property
    def pooled(self) -> list[Document]:
        """All peers' documents in one place."""
        return [document for part in self.parts.values() for document in part]


def _mislabelled(documents: Iterable[Document]) -> Iterator[Document]:
    random = Random(5)  # noqa: S311 - sample labels, not secrets
    first, second = LABELLING.labels.names
    for document in documents:
        wrong = second if document.label == first else first
        yield replace(document, label=wrong) if random.random() < WRONG else document


@dataclass(frozen=True)
class TrainingRun:
    """One sealed and one plaintext training of the same documents, with their CPU seconds."""

    plain: PlainText
    sealed: StudyOutcome
    plain_seconds: float
    sklearn_seconds: float
    seconds: float
    solve_seconds: float
    handover_seconds: float
    bytes_sent: int
    sizes: Counter[str]
    peak_mb: float

    @classmethod
    def of(cls, plan: StudyPlan, corpus: PeersAndTest, key: SecretKey) -> "TrainingRun":
        """Plaintext first, then sealed."""
        start, pooled = cpu_seconds(), [corpus.pooled]
        plain = PlainText.learn(plan, pooled)
        plain_seconds = cpu_seconds() - start
        start = cpu_seconds()
        learn_with_sklearn(pooled[0], plan)
        sklearn_seconds = cpu_seconds() - start
        entropy, clock = SystemEntropy(), HandoverClock(corpus.parts)
        roster, identities = roster_for(plan.engine, corpus.parts, entropy=entropy)
        study = Study(plan, roster)
        forget_peak()
        start = cpu_seconds()
        setting = Setting(key=key, meddler=clock, views=False)
        sealed = run_study(
            study, corpus.parts, identities=identities, entropy=entropy, setting=setting
        )
        end = cpu_seconds()
        return cls(
            plain,
            sealed,
            plain_seconds,
            sklearn_seconds,
            end - start,
            (clock.handover or end) - clock.solve,
            end - (clock.handover or end),
            sealed.traffic.total_bytes,
            clock.sizes,
            peak_megabytes(),
        )


def learn_with_sklearn(documents: Sequence[Document], plan: StudyPlan) -> Any:
    """What one would write without us: words in enough documents, the best of them, ridge."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.feature_selection import SelectKBest, chi2
    from sklearn.linear_model import RidgeClassifier

    labels = [document.label for document in documents]
    vectors = TfidfVectorizer(min_df=plan.min_documents)
    rows = vectors.fit_transform([document.text for document in documents])
    best = SelectKBest(chi2, k=min(plan.features, rows.shape[1]))
    ridge = RidgeClassifier(alpha=plan.alphas[0], solver="cholesky", fit_intercept=False)
    return ridge.fit(best.fit_transform(rows, labels), labels)


class HandoverClock(Meddler):
    """Notes when the solve begins, when it ends and the model is encrypted, and what is sent."""

    def __init__(self, peers: Collection[str]) -> None:
        self.solve = self.handover = 0.0
        self.sizes = Counter[str]()
        self._peers = peers
        self._last = 0.0
        self._first_of_handover = EncryptedShare.__struct_config__.tag
        self._spectrum = SpectrumShare.__struct_config__.tag
        self._of_members = False

    def carry(self, packet: Packet) -> Iterable[Packet]:
        """The share is encrypted between the last message of the solve and the first after it."""
        # Asking costs as much as a small message: once for each.
        tag, now = tag_of(packet.body), cpu_seconds()
        self.sizes[tag] += len(packet.body)
        # Peers have nothing to say after their contributions, unless they are members.
        if packet.sender in self._peers and not self._of_members:
            self.solve = now
        if tag == self._spectrum:
            self._of_members, self.solve = True, now
        if not self.handover and tag == self._first_of_handover:
            self.handover = self._last
        self._last = now
        return (packet,)


def _row(trial: TrainTrial, corpus: PeersAndTest, runs: Sequence[TrainingRun]) -> Row:
    last = runs[-1]
    plan, asker = last.plain.plan, next(iter(corpus.parts))
    predicted = last.sealed.classify(asker, corpus.test).classes
    plain = median(run.plain_seconds for run in runs)
    seconds = median(run.seconds for run in runs)
    study = last.sealed.study
    quorum = study.quorum if study.engine is Engine.QUORUM else None
    return {
        "engine": str(trial.engine),
        "members": len(quorum.members) if quorum else None,
        "threshold": quorum.threshold if quorum else None,
        "labels": "shares" if quorum else str(study.labels_on),
        "features": trial.features,
        "documents": trial.documents,
        "peers": trial.peers,
        "classes": len(plan.labels.names),
        "seconds": seconds,
        "solve_seconds": median(run.solve_seconds for run in runs),
        "handover_seconds": median(run.handover_seconds for run in runs),
        "plain_seconds": plain,
        "sklearn_seconds": median(run.sklearn_seconds for run in runs),
        "ratio": seconds / plain,
        "member_ratio": seconds / plain / len(quorum.members) if quorum else None,
        "accuracy": accuracy(plan, corpus.test, predicted),
        "plain_accuracy": last.plain.accuracy(corpus.test),
        "bytes_sent": last.bytes_sent,
        "bytes_per_document": last.bytes_sent / trial.documents,
        "largest_mb": ", ".join(
            f"{kind} {size / 1e6:.1f}" for kind, size in last.sizes.most_common(3)
        ),
        "peak_mb": max(run.peak_mb for run in runs),
    }
