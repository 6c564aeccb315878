"""`TextClassifier`: a whole sealed study behind scikit-learn's contract."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError, MisuseError
from sottovoce.estimators.arrangements import text_arrangement
from sottovoce.estimators.federation import LocalFederation, as_documents
from sottovoce.estimators.operating_point import OperatingPoint, written
from sottovoce.estimators.sealed_study import SealedEstimator, check_labels, share_found
from sottovoce.roles import StudyPlan
from sottovoce.roles.kinds import whole
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.lookup import own_words
from sottovoce.text.reading import Level, NGrams, Reading

C = TypeVar("C", bound=StrEnum)


@dataclass(frozen=True)
class TopWord:
    """A word (or sequence of words), and how much it speaks for a class."""

    word: str
    weight: float


class TextClassifier(SealedEstimator):
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
    verdict : how labels are found: "fss" (with a dealer), "dgk" (without) or "auto" (with one
        that answers, else without: a `VerdictWarning` says so).
    ngrams : (1, 2) counts words and word pairs.
    level : "document", "sentence" or "token": what one label is for.
    labelling : "label" (the document's own), or how entities that were marked give classes to
        rows: "types" (several at once), and of tokens "inside", "single" or "bio".
    entities : the types of entity that count, where the labelling looks at entities.
    key_bits : size of the Paillier key.
    min_documents : a word below this many documents of a peer does not leave it.
    min_peers : the fewest peers with which the study goes on.
    class_weight : None or "balanced".
    query_budget : how many documents each peer may have labelled; None is two a feature, and at
        least 512.
    held_out : the share of documents that `evaluate` is done on.
    operating_point : the threshold above which the second of two classes is said, or one by
        class, {"urgent": 0.2}; scores are near -1 and 1, and without it the threshold is 0.
    contribution : "exact" moments of a peer's documents, or "rados", those of a sample.
    rados : how many rados each peer samples, with contribution="rados".
    weights : "whole" (everybody holds the whole encrypted model), or, as in the paper, each peer
        that of its own features: "reveal_feature_lists_to_coordinator", which it then does.

    """

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
        verdict: str = "auto",
        operating_point: OperatingPoint = None,
        contribution: str = "exact",
        rados: int = 0,
        weights: str = "whole",
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
        self.verdict = verdict
        self.operating_point = operating_point
        self.contribution = contribution
        self.rados = rados
        self.weights = weights

    def predict(self, texts: Sequence[str | Document], *, peer: str | None = None) -> Any:
        """The labels of texts, asked as one of the peers; nobody else learns them.

        At document level an array with a label a text (a tuple of labels where
        they overlap); at other levels, for every text, (start, end, label) of
        each of its sentences or tokens.
        """
        asker, documents = self._asker(peer), as_documents(texts)
        if self.level != Level.DOCUMENT:
            return self._placed(asker, documents)
        if not documents:
            return self._shaped([])
        return self._shaped(self._outcome.classify(asker, documents).classes)

    def decision_function(
        self, texts: Sequence[str | Document], *, peer: str | None = None
    ) -> NDArray[np.float64]:
        """The scores of texts, where the study released them ("margin" or "peers")."""
        return self._scores(as_documents(texts), self._asker(peer))

    def score(
        self, texts: Sequence[Any], labels: Sequence[Any], *, peer: str | None = None
    ) -> float:
        """The share of texts whose label is found (at document level)."""
        if self.level != Level.DOCUMENT:
            raise MisuseError(
                f"score: expected level document, found {self.level}", hints=("use evaluate()",)
            )
        check_labels(labels)
        return share_found(self.predict(texts, peer=peer), labels)

    def top_words(self, peer: str | None = None, k: int = 10) -> dict[Any, list[TopWord]]:
        """For each class the words of this peer's own documents that speak most for it.

        Only where the weights were released (`release="peers"`). Of words that the dictionary
        cannot tell apart the peer's most frequent one is named; of two classes that exclude
        each other, the words against the second speak for the first.
        """
        asker = self._asker(peer)
        model = self._part(asker)
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

    def _plan(self, federation: LocalFederation) -> StudyPlan:
        level = _one_of(Level, self.level, "level")
        scheme = _one_of(Scheme, self.labelling, "labelling")
        words = _lengths(self.ngrams)
        if scheme is Scheme.LABEL:
            labelling = Labelling(federation.labels)
        else:
            labelling = Labelling.by_entity(scheme, _types(self.entities))
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
            verdict=self.verdict,  # type: ignore[arg-type]
            operating_point=written(labelling.labels, self.operating_point),
            contribution=self.contribution,  # type: ignore[arg-type]
            rados=self.rados,
            arrangement=text_arrangement(federation, weights=self.weights),
        )

    def _given_names(self, federation: LocalFederation) -> dict[str, Any]:
        """Classes of entities are names; those of documents are as their owners wrote them."""
        if self.labelling == Scheme.LABEL:
            return super()._given_names(federation)
        return {name: name for name in self._outcome.study.plan.labels.names}

    def _placed(self, asker: str, documents: list[Document]) -> list[list[tuple[int, int, Any]]]:
        model = self._part(asker)
        places = FeatureReader(model.space, model.key).read(documents).places
        # A text without a sentence or token has nothing to ask about.
        asked = self._outcome.classify(asker, documents).classes if any(places) else []
        labels = iter(asked)
        return [
            [(place.start, place.end, self._label(next(labels))) for place in of_document]
            for of_document in places
        ]


def _one_of(kind: type[C], value: Any, name: str) -> C:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InputError(f"{name}: expected one of {known}, found {value!r}") from None


def _lengths(ngrams: Any) -> tuple[int, int]:
    """The shortest and the longest sequence of words."""
    if not isinstance(ngrams, tuple | list) or len(ngrams) != 2:
        raise InputError(
            f"ngrams: expected the shortest and the longest, found {ngrams!r}",
            hints=("words and pairs of words: ngrams=(1, 2)",),
        )
    return whole(ngrams[0], "ngrams"), whole(ngrams[1], "ngrams")


def _types(entities: Any) -> tuple[str, ...]:
    """The types of entity that count."""
    if not isinstance(entities, tuple | list) or not all(isinstance(one, str) for one in entities):
        raise InputError(
            f"entities: expected names of types, found {entities!r}",
            hints=('entities=("Drug", "Disease")',),
        )
    return tuple(entities)
