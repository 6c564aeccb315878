"""`TextClassifier`: a whole sealed study behind scikit-learn's contract."""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError, MismatchError, MisuseError
from sottovoce.estimators.federation import LocalFederation, as_documents
from sottovoce.keyfiles.models import read_model, write_model
from sottovoce.protocols.runner import Meddler
from sottovoce.roles import Study, StudyPlan
from sottovoce.roles.evaluation import Evaluation
from sottovoce.roles.memory import Setting, StudyOutcome, run_study
from sottovoce.roles.roster import draw_roster
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.labels import Classes
from sottovoce.text.lookup import own_words
from sottovoce.text.reading import Level, NGrams, Reading

C = TypeVar("C", bound=StrEnum)


@dataclass(frozen=True)
class TopWord:
    """A word (or sequence of words), and how much it speaks for a class."""

    word: str
    weight: float


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
    alpha : Ridge's penalty on unit rows, or a tuple of penalties to choose from jointly.
    ngrams : (1, 2) counts words and word pairs.
    level : "document", "sentence" or "token": what one label is for.
    labelling : "label" (the document's own), or how entities that were marked give classes to
        rows: "types" (several at once), and of tokens "inside", "single" or "bio".
    entities : the types of entity that count, where the labelling looks at entities.
    key_bits : size of the Paillier key.
    min_documents : a word below this many documents of a peer does not leave it.
    min_peers : the fewest peers with which the study goes on.
    class_weight : None or "balanced".
    query_budget : how many documents each peer may have labelled; None is two a feature.
    held_out : the share of documents that `evaluate` is done on.

    """

    _plan_type: ClassVar[type[StudyPlan]] = StudyPlan
    _meddler: ClassVar[Meddler | None] = None

    def __init__(
        self,
        features: int = 2048,
        *,
        engine: str = "auto",
        release: str = "sealed",
        alpha: float | tuple[float, ...] = 1.0,
        ngrams: tuple[int, int] = (1, 1),
        level: str = "document",
        labelling: str = "label",
        entities: tuple[str, ...] = (),
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
        self.labelling = labelling
        self.entities = entities
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
            setting=Setting(told=clock.enter, meddler=self._meddler),
        )
        clock.enter("")
        self.seconds_ = clock.seconds
        self.federation_ = federation
        self.engine_ = str(study.engine)
        # Classes of entities are names; those of documents are as their owners wrote them.
        given = federation.labels_as_given if self.labelling == Scheme.LABEL else {}
        self._names = {name: given.get(name, name) for name in study.plan.labels.names}
        self.classes_ = np.array(list(self._names.values()))
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

    def top_words(self, peer: str | None = None, k: int = 10) -> dict[Any, list[TopWord]]:
        """For each class the words of this peer's own documents that speak most for it.

        Only where the weights were released (`release="peers"`). Of words that the dictionary
        cannot tell apart the peer's most frequent one is named; of two classes that exclude
        each other, the words against the second speak for the first.
        """
        asker = peer if peer is not None else next(iter(self._outcome.models))
        if asker not in self._outcome.models:
            raise InputError(f"top_words: expected a peer with a model, found {asker!r}")
        model = self._outcome.models[asker]
        if model.released is None:
            raise MisuseError(
                f"top_words: the weights of this study are {self.release}, nobody knows them",
                hints=('TextClassifier(release="peers") gives every peer the weights',),
            )
        documents = self.federation_.documents[asker]
        words = own_words(documents, model.space, key=model.key, most=1)
        columns = [column for column in words if column < model.space.dictionary.size]
        weights = model.released[columns]
        if weights.shape[1] < len(self.classes_):
            weights = np.hstack([-weights, weights])
        return {
            label: [
                TopWord(words[columns[place]][0], float(of_class[place]))
                for place in np.argsort(-of_class, kind="stable")[:k]
                if of_class[place] > 0
            ]
            for label, of_class in zip(self._names.values(), weights.T, strict=True)
        }

    def save(self, path: str | PathLike[str], *, peer: str, replace: bool = False) -> None:
        """Store one peer's part: signed by it, and for the owner of the file alone to read."""
        if peer not in self._outcome.models:
            known = ", ".join(self._outcome.models)
            raise InputError(f"save: expected a peer with a model ({known}), found {peer!r}")
        identity = self._outcome.desks[peer].identity
        model, study = self._outcome.models[peer], self._outcome.study
        write_model(Path(path), model, study, identity=identity, replace=replace)

    @classmethod
    def load(cls, path: str | PathLike[str], *, study: "TextClassifier") -> Self:
        """A classifier that holds one peer's stored part alone, and asks in the running `study`.

        The labels of a sealed model need its coordinator: `study` is the fitted classifier
        in whose study the part was trained.
        """
        running = study._outcome  # noqa: SLF001 - another of this class
        name, model = read_model(Path(path), running.study)
        alone = cls(**study.get_params())
        alone.study_ = dataclasses.replace(running, models={name: model})
        alone.federation_, alone._names = study.federation_, study._names  # noqa: SLF001 - as above
        alone.engine_, alone.seconds_ = study.engine_, {}
        alone.classes_ = study.classes_
        return alone

    def _plan(self, federation: LocalFederation) -> StudyPlan:
        level = _one_of(Level, self.level, "level")
        scheme = _one_of(Scheme, self.labelling, "labelling")
        words = (int(self.ngrams[0]), int(self.ngrams[1]))
        if scheme is Scheme.LABEL:
            labelling = Labelling(federation.labels)
        else:
            labelling = Labelling.by_entity(scheme, tuple(self.entities))
        return self._plan_type(
            "local federation",
            labelling.labels,
            labelling=labelling,
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

    @property
    def _exclusive(self) -> bool:
        return self._outcome.study.plan.labels.exclusive

    def _label(self, classes: Classes) -> Any:
        if self._exclusive:
            return self._names[classes[0]]
        return tuple(self._names[name] for name in classes)

    def _shaped(self, found: Sequence[Classes]) -> Any:
        labels = [self._label(classes) for classes in found]
        if not self._exclusive:
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


def _one_of(kind: type[C], value: Any, name: str) -> C:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InputError(f"{name}: expected one of {known}, found {value!r}") from None


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
