"""`TextClassifier`: a whole sealed study behind scikit-learn's contract."""

import time
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError, MismatchError, MisuseError
from sottovoce.estimators.federation import LocalFederation, as_documents
from sottovoce.roles import Study, StudyPlan
from sottovoce.roles.evaluation import Evaluation
from sottovoce.roles.memory import Setting, StudyOutcome, run_study
from sottovoce.roles.roster import draw_roster
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.text.labels import Classes
from sottovoce.text.reading import Level, NGrams, Reading


class TextClassifier(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Train one classifier on several owners' texts, sealed, and ask it as one of them.

    `fit` takes a `LocalFederation` in the place of X and y and runs a whole
    study in memory: the same programs, message by message, as between machines.
    Nobody in it sees rados, moments, weights or scores in clear.

    Parameters
    ----------
    features : how many words (or word pairs) are selected jointly.
    engine : "shares" (with a dealer), "paillier" (without, few features) or "auto".
    release : "sealed" (labels only), "margin" (scores to the asker) or "peers" (weights too).
    alpha : Ridge's penalty on unit rows.
    ngrams : (1, 2) counts words and word pairs.
    level : "document", "sentence" or "token": what one label is for.
    key_bits : size of the Paillier key.
    min_documents : a word below this many documents of a peer does not leave it.
    min_peers : the fewest peers with which the study goes on.
    class_weight : None or "balanced".
    query_budget : how many documents each peer may have labelled; None is two a feature.
    held_out : the share of documents that `evaluate` is done on.

    """

    _plan_type: ClassVar[type[StudyPlan]] = StudyPlan

    def __init__(
        self,
        features: int = 2048,
        *,
        engine: str = "auto",
        release: str = "sealed",
        alpha: float = 1.0,
        ngrams: tuple[int, int] = (1, 1),
        level: str = "document",
        key_bits: int = 3072,
        min_documents: int = 3,
        min_peers: int = 3,
        class_weight: str | None = None,
        query_budget: int | None = None,
        held_out: float = 0.2,
    ) -> None:
        """Store the choices; they are checked when a study begins."""
        self.features = features
        self.engine = engine
        self.release = release
        self.alpha = alpha
        self.ngrams = ngrams
        self.level = level
        self.key_bits = key_bits
        self.min_documents = min_documents
        self.min_peers = min_peers
        self.class_weight = class_weight
        self.query_budget = query_budget
        self.held_out = held_out

    def fit(self, federation: Any, y: None = None) -> Self:
        """Run the study: every peer's documents in, one sealed model out."""
        if not isinstance(federation, LocalFederation) or y is not None:
            raise InputError(
                f"fit: expected a LocalFederation alone, found a {type(federation).__name__}",
                hints=('fit(LocalFederation({"alice": (texts, labels), "bob": …}))',),
            )
        entropy = SystemEntropy()
        roster, identities = draw_roster(
            federation.peers,
            entropy=entropy,
            evaluator_at=federation.evaluator_at,
            dealer_at=federation.dealer_at,
            with_dealer=self.engine != "paillier",
        )
        study = Study(self._plan(federation), roster)
        clock = _StageClock()
        self.study_: StudyOutcome = run_study(
            study,
            federation.documents,
            identities=identities,
            entropy=entropy,
            setting=Setting(told=clock.enter),
        )
        clock.enter("")
        self.seconds_ = clock.seconds
        self.federation_ = federation
        self.engine_ = str(study.engine)
        given = federation.labels_as_given
        self.classes_ = np.array([given[name] for name in federation.labels.names])
        return self

    def predict(self, texts: Sequence[str | Document], *, peer: str | None = None) -> Any:
        """The labels of texts, asked as one of the peers; nobody else learns them.

        At document level an array with a label a text (a tuple of labels where
        they overlap); at other levels, for every text, (start, end, label) of
        each of its sentences or tokens.
        """
        asker, documents = self._asked(texts, peer)
        if not documents:
            return self._shaped([])
        found = self._outcome.classify(asker, documents).classes
        if self.level == Level.DOCUMENT:
            return self._shaped(found)
        return self._placed(asker, documents, found)

    def decision_function(
        self, texts: Sequence[str | Document], *, peer: str | None = None
    ) -> NDArray[np.float64]:
        """The scores of texts, where the study released them ("margin" or "peers")."""
        asker, documents = self._asked(texts, peer)
        scores = self._outcome.classify(asker, documents).scores
        if scores is None:
            raise MisuseError(
                "decision_function: this study gives labels only, scores are sealed",
                hints=('TextClassifier(release="margin") gives scores to who asks',),
            )
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def score(
        self, texts: Sequence[Any], labels: Sequence[Any], *, peer: str | None = None
    ) -> float:
        """The share of texts whose label is found (at document level)."""
        if self.level != Level.DOCUMENT:
            raise MisuseError(
                f"score: expected level document, found {self.level}", hints=("use evaluate()",)
            )
        found = self.predict(texts, peer=peer)
        if len(found) != len(labels):
            raise MismatchError(f"score: expected {len(found)} labels, found {len(labels)}")
        return float(np.mean([one == other for one, other in zip(found, labels, strict=True)]))

    def evaluate(self) -> Evaluation:
        """The joint confusion table over all peers' held-out documents, from blind sums."""
        return self._outcome.evaluate(self._fitted().federation_.documents)

    def _plan(self, federation: LocalFederation) -> StudyPlan:
        try:
            level = Level(self.level)
        except ValueError:
            known = ", ".join(Level)
            raise InputError(f"level: expected one of {known}, found {self.level!r}") from None
        words = (int(self.ngrams[0]), int(self.ngrams[1]))
        return self._plan_type(
            "local federation",
            federation.labels,
            features=self.features,
            reading=Reading(level=level, ngrams=NGrams(words=words)),
            engine=self.engine,  # type: ignore[arg-type]  # the plan knows the names
            alpha=self.alpha,
            class_weight=self.class_weight,
            min_documents=self.min_documents,
            min_peers=self.min_peers,
            release=self.release,  # type: ignore[arg-type]
            key_bits=self.key_bits,
            query_budget=self.query_budget,
            held_out=self.held_out,
        )

    def _fitted(self) -> Self:
        if not hasattr(self, "study_"):
            raise NotFittedError("TextClassifier: expected fit(federation) first")
        return self

    @property
    def _outcome(self) -> StudyOutcome:
        return self._fitted().study_

    def _asked(self, texts: Any, peer: str | None) -> tuple[str, list[Document]]:
        asker = peer if peer is not None else next(iter(self._outcome.models))
        return asker, as_documents(texts)

    def _label(self, classes: Classes) -> Any:
        given = self.federation_.labels_as_given
        if self.federation_.labels.exclusive:
            return given[classes[0]]
        return tuple(given[name] for name in classes)

    def _shaped(self, found: Sequence[Classes]) -> Any:
        labels = [self._label(classes) for classes in found]
        if not self.federation_.labels.exclusive:
            return labels
        return np.array(labels, dtype=self.classes_.dtype)

    def _placed(
        self, asker: str, documents: list[Document], found: Sequence[Classes]
    ) -> list[list[tuple[int, int, Any]]]:
        model = self._outcome.models[asker]
        places = FeatureReader(model.space, model.key).read(documents).places
        labels = iter(found)
        return [
            [(place.start, place.end, self._label(next(labels))) for place in of_document]
            for of_document in places
        ]

    def __getstate__(self) -> NoReturn:
        """Refuse to be pickled: a fitted study holds every party's secrets side by side."""
        raise MisuseError("TextClassifier: never pickled, it holds keys and encrypted weights")


class _StageClock:
    """How long each stage of a study took, from being told where it stands."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._since = "", time.perf_counter()

    def enter(self, stage: str) -> None:
        """Book the time since the last call to the stage that ends now."""
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = stage, now
