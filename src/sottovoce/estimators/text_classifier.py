"""`TextClassifier`: a whole sealed study behind scikit-learn's contract."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.encoders import find_encoder, ready
from sottovoce.errors import InputError, MisuseError
from sottovoce.estimators.arrangements import text_arrangement
from sottovoce.estimators.comparison import Comparison
from sottovoce.estimators.federation import LocalFederation
from sottovoce.estimators.operating_point import OperatingPoint, written
from sottovoce.estimators.peer_parts import as_documents
from sottovoce.estimators.plain_text import PlainText, on_side
from sottovoce.estimators.report_facts import report_facts
from sottovoce.estimators.sealed_study import SealedEstimator, check_labels, share_found
from sottovoce.keyfiles.released_models import ReleasedModel, write_released
from sottovoce.pictures.html import Html
from sottovoce.pictures.shown import Shown
from sottovoce.report.report import report
from sottovoce.study import StudyPlan
from sottovoce.study.arrangement import one_of
from sottovoce.study.automatic_features import (
    AUTO,
    BESIDE,
    Circumstances,
    Columns,
    class_weight,
    columns,
    held_out,
    penalty,
)
from sottovoce.study.choices import DictionaryKind, Engine, Rare
from sottovoce.study.distrust import distrusted_places
from sottovoce.study.queries.explanations import DocumentQuestion, Explanation
from sottovoce.study.rare_classes import OTHER
from sottovoce.text.census import census
from sottovoce.text.dictionary.lookup import own_words
from sottovoce.text.documents import Document
from sottovoce.text.encoding import EncoderName, provide
from sottovoce.text.features import ONE_HOT, FeatureReader, Weighting
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.labels import Labels
from sottovoce.text.reading import Level, Reading
from sottovoce.text.splits import Side

_WEIGHTINGS = {"tf-idf": Weighting(), "one-hot": ONE_HOT}

C = TypeVar("C", bound=StrEnum)


@dataclass(frozen=True)
class TopWord:
    """A word (or sequence of words), how much it speaks for a class, and how often it is there.

    `weight` is what one occurrence adds to the score, times the length of the document; `share`
    is in how many of the peer's documents the word's column is.
    """

    word: str
    weight: float
    share: float


class TextClassifier(SealedEstimator):
    """Train one classifier on several owners' texts, sealed, and ask it as one of them.

    `fit` takes a `LocalFederation` in the place of X and y and runs a whole
    study in memory: the same programs, message by message, as between machines.
    Nobody in it sees rados, moments, weights or scores in clear.

    Parameters
    ----------
    features : how many words, word pairs and stretches of characters are selected jointly, at
        most; "auto" goes by classes, documents and their length, and adds a tail.
    engine : "quorum" (the peers by themselves, from three on), "shares" (with an evaluator and a
        dealer), "paillier" (without a dealer, few features), or "auto": the first that can be.
    release : "sealed" (labels only), "margin" (scores to the asker) or "peers" (weights too).
    alpha : Ridge's penalty on unit rows, or a tuple of penalties to choose from jointly; "auto"
        goes by the columns. Beside it all rows together count 131,072 at most.
    dictionary : "joint" (words are chosen by all peers together, sealed), "given" or "hashed".
    words : the dictionary, where it is given.
    weighting : "tf-idf" (rows of unit length), "one-hot" (a word is there or not, rows are not
        scaled), or a `Weighting`.
    distrusted : words of a given dictionary whose penalty is `epsilon` times alpha: the paper's Γ.
    epsilon : above 0, and at most 1.
    verdict : how labels are found: "fss" (with a dealer), "dgk" (without) or "auto" (with one
        that answers, else without: a `VerdictWarning` says so).
    ngrams : (1, 2) counts words and word pairs, (1, 1) words alone; "auto" counts pairs, but of a
        given dictionary, or of many long texts of ten classes or more, words alone.
    characters : (3, 5) counts stretches of three to five characters inside words, too; None does
        not, "auto" does unless `features` is "auto" and there are many long texts.
    letters : so many first letters of a word count; None is all, "auto" 7 of many long texts.
    tail : columns for words not selected, by keyed hash; "auto": some if `features` is "auto".
    encoder : "none", a folder or package that holds a frozen encoder ("wordllama"), or its name.
    encoder_weight, kernel_weight : how much the block weighs: a power of two, or "auto".
    kernel : how many columns make the model a kernel machine of the encoder's vectors (without an
        encoder, of words and tail); "auto" is some where there are many classes.
    kernel_width : how close two vectors must be to be alike; smaller is wider. Of a tuple of widths
        one is chosen jointly (so of weights); each has `kernel` columns, which cost as many more.
    own_weight : weight of scores of each site's own model; (0, 0.5) chooses whether to use them.
    level : "document", "sentence" or "token": what one label is for.
    labelling : "label" (the document's own), or how entities that were marked give classes to
        rows: "types" (several at once), "levels" (these and the document's own label, in one
        model), and of tokens "inside", "single" or "bio".
    entities : the types of entity that count, where the labelling looks at entities.
    key_bits : size of the Paillier key.
    min_documents : a word below this many documents of a peer does not leave it.
    min_peers : the fewest peers with which the study continues.
    class_weight : what rare classes count: None (every row alike), "balanced" (all classes alike),
        "root" (half of the way); "auto" is "root" for documents and sentences.
    rare : what becomes of a class with too few documents: "leave out", "other" or "stop".
    query_budget : how many documents each peer may have labelled; None: two a feature, or 512.
    held_out : the share of documents to evaluate with, which nobody learns from; "auto": some 100.
    operating_point : the threshold above which the second of two classes is said, or one by
        class, {"urgent": 0.2}; scores are near -1 and 1, and without it the threshold is 0.
    contribution : "exact" moments of a peer's documents, or "rados", those of a sample.
    rados : how many rados each peer samples, with contribution="rados".
    learner : "closed-form", or "rado-descent": gradient descent on encrypted rados (engine
        "paillier", contribution="rados", at most 128 columns).
    addition : how ciphertexts of peers are added up in engine "paillier": "pairwise" or "ring".
    weights : "whole" (everybody holds the whole encrypted model), or, as in the paper, each peer
        that of its own features: "reveal_feature_lists_to_coordinator", which it then does.

    """

    def __init__(
        self,
        features: int | str = "auto",
        *,
        engine: str = "auto",
        release: str = "sealed",
        alpha: float | tuple[float, ...] | str = "auto",
        ngrams: tuple[int, int] | str = "auto",
        characters: tuple[int, int] | str | None = "auto",
        letters: int | str | None = "auto",
        tail: int | str = "auto",
        encoder: Any = "none",
        encoder_weight: float | str = "auto",
        kernel: int | str = "auto",
        kernel_weight: float | tuple[float, ...] | str = "auto",
        kernel_width: float | tuple[float, ...] | str = "auto",
        own_weight: float | tuple[float, ...] | str = "auto",
        level: str = "document",
        labelling: str = "label",
        entities: tuple[str, ...] = (),
        key_bits: int = 3072,
        min_documents: int = 3,
        min_peers: int = 3,
        class_weight: str | None = "auto",
        rare: str = "leave out",
        query_budget: int | None = None,
        held_out: float | str = "auto",
        verdict: str = "auto",
        operating_point: OperatingPoint = None,
        contribution: str = "exact",
        rados: int = 0,
        learner: str = "closed-form",
        addition: str = "pairwise",
        weights: str = "whole",
        dictionary: str = "joint",
        words: Sequence[str] = (),
        weighting: str | Weighting = "tf-idf",
        distrusted: Sequence[str] = (),
        epsilon: float = 1.0,
    ) -> None:
        """Store the choices; they are checked when a study begins."""
        self.features = features
        self.engine = engine
        self.release = release
        self.alpha = alpha
        self.ngrams = ngrams
        self.characters = characters
        self.letters = letters
        self.tail = tail
        self.encoder = encoder
        self.encoder_weight = encoder_weight
        self.kernel = kernel
        self.kernel_weight = kernel_weight
        self.kernel_width = kernel_width
        self.own_weight = own_weight
        self.level = level
        self.labelling = labelling
        self.entities = entities
        self.key_bits = key_bits
        self.min_documents = min_documents
        self.min_peers = min_peers
        self.class_weight = class_weight
        self.rare = rare
        self.query_budget = query_budget
        self.held_out = held_out
        self.verdict = verdict
        self.operating_point = operating_point
        self.contribution = contribution
        self.rados = rados
        self.learner = learner
        self.addition = addition
        self.weights = weights
        self.dictionary = dictionary
        self.words = words
        self.weighting = weighting
        self.distrusted = distrusted
        self.epsilon = epsilon

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
            return self.labels_of([])
        return self.labels_of(self._outcome.classify(asker, documents).classes)

    def decision_function(
        self, texts: Sequence[str | Document], *, peer: str | None = None
    ) -> NDArray[np.float64]:
        """The scores of texts, where the study released them ("margin" or "peers")."""
        return self._scores(as_documents(texts), self._asker(peer))

    def explain(
        self, texts: Sequence[str | Document], *, peer: str | None = None
    ) -> list[Explanation]:
        """For each text the words that carried its label; None where there was no room to ask.

        Copies of a text, each without one word, take the places of a query that are charged
        anyway: the query costs as much as `predict`. A word is named if the label is another one
        without it or, where scores are released, if the label's score falls.
        """
        asker, documents = self._asker(peer), as_documents(texts)
        asked = DocumentQuestion.of(documents, self._part(asker), explain=True)
        answer = self._outcome.classify(asker, [*documents, *asked.copies.documents])
        labels = self._outcome.study.plan.labels
        return list(asked.copies.because(labels, answer.classes, answer.scores))

    def predict_proba(
        self, texts: Sequence[str | Document], *, peer: str | None = None
    ) -> NDArray[np.float64]:
        """The probability of every class, calibrated by the joint evaluation (`evaluate` first).

        Of sealed scores the asker learns one of eight bins, by labels at different thresholds,
        which are all charged: three of two classes. Of more classes it learns the label and the
        bin of the margin by which that won, by four; how often a label of such a margin is right
        it counts on its own held-out documents, which are asked about in the same way, once an
        evaluation. Where no ROC of two classes was counted, it gets how often documents with that
        label were of which class.
        """
        if self.level != Level.DOCUMENT:
            raise MisuseError(f"predict_proba: expected level document, found {self.level}")
        return self._probabilities(as_documents(texts), self._asker(peer))

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

    def export(
        self, path: str | PathLike[str], *, peer: str | None = None, replace: bool = False
    ) -> None:
        """Store a released model so that `ReleasedClassifier.load(path)` needs no study.

        Only where the weights were released (`release="peers"`). The file is for its owner alone.
        """
        asker = self._asker(peer)
        model = self._part(asker)
        if model.released is None:
            raise MisuseError(
                f"export: nobody knows the weights of this study (release {self.release})",
                hints=('TextClassifier(release="peers") gives every peer the weights',),
            )
        plan = self._outcome.study.plan
        released = ReleasedModel(
            plan.name,
            plan.labels,
            tuple(self._names[name] for name in plan.labels.names),
            model.space,
            model.key,
            model.released,
            model.operating_point,
        )
        write_released(Path(path), released, replace=replace)

    def top_words(self, peer: str | None = None, k: int = 10) -> dict[Any, list[TopWord]]:
        """For each class the words of this peer's own documents that speak most for it.

        Only where the weights were released (`release="peers"`). Words are ordered by what they
        do over all documents, weight times share: a rare word may weigh much and matter little.
        Of words that the dictionary cannot tell apart the peer's most frequent one is named; of
        two classes that exclude each other, the words against the second speak for the first.
        """
        asker = self._asker(peer)
        model = self._part(asker)
        if model.released is None:
            raise MisuseError(
                f"top_words: nobody knows the weights of this study (release {self.release})",
                hints=('TextClassifier(release="peers") gives every peer the weights',),
            )
        documents = self.federation_.documents[asker]
        words = own_words(documents, model.space, key=model.key, most=1)
        columns = [column for column in words if column < model.space.dictionary.size]
        weights = model.released[columns]
        if weights.shape[1] < len(self.classes_):
            weights = np.hstack([-weights, weights])
        rows = FeatureReader(model.space, model.key).read(documents).tf
        shares = np.bincount(rows.indices, minlength=rows.shape[1])[columns] / rows.shape[0]
        return {
            label: [
                TopWord(words[columns[place]][0], float(of_class[place]), float(shares[place]))
                for place in np.argsort(-of_class * shares, kind="stable")[:k]
                if of_class[place] > 0
            ]
            for label, of_class in zip(self._names.values(), weights.T, strict=True)
        }

    def compare_alone(self) -> Comparison:
        """Compare the accuracies of each peer alone, of this model, and of pooled text.

        Each on the documents that all peers hold out (at document level). Nothing is asked of the
        sealed model beyond the joint evaluation, which is held if it was not yet.
        """
        if self.level != Level.DOCUMENT:
            raise MisuseError(
                f"compare_alone: expected level document, found {self.level}",
                hints=("use evaluate()",),
            )
        # The same buckets and the same penalty: what differs is whose documents were learnt from.
        plan, parts = self._settled_plan, self.federation_.documents
        key = self._part(self.federation_.peers[0]).key
        test = [
            document for part in parts.values() for document in on_side(plan, part, Side.VALIDATION)
        ]
        alone = {peer: PlainText.learn(plan, [part], key=key) for peer, part in parts.items()}
        growth = {
            many: PlainText.learn(plan, list(parts.values())[:many], key=key).accuracy(test)
            for many in range(1, len(parts) + 1)
        }
        joint = self.evaluation_ if hasattr(self, "evaluation_") else self.evaluate()
        return Comparison(
            {peer: model.accuracy(test) for peer, model in alone.items()},
            joint.accuracy,
            growth[len(parts)],
            growth,
        )

    def report(self, path: str | PathLike[str] | None = None, *, alone: bool = True) -> Shown:
        """One self-contained HTML page about this study, also written to `path` if one is given.

        With `alone`, what each peer alone and pooled text would reach is learnt and compared.
        """
        compare = alone and self.level == Level.DOCUMENT
        comparison = self.compare_alone() if compare else None
        page = report(report_facts(self, self._outcome, comparison))
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        said = f"a report of {len(page):,} characters"
        return Shown(Html(page), said if path is None else f"{said} in {path}")

    def _plan(self, federation: LocalFederation) -> StudyPlan:
        level = _one_of(Level, self.level, "level")
        scheme = _one_of(Scheme, self.labelling, "labelling")
        if scheme is Scheme.LABEL:
            labelling = Labelling(self._with_other(federation.labels))
        elif scheme is Scheme.LEVELS:
            labelling = Labelling.by_levels(_types(self.entities), federation.labels.names)
        else:
            labelling = Labelling.by_entity(scheme, _types(self.entities))
        about = self._about(federation, len(labelling.labels.names), level)
        row, exclusive = self._row(about), labelling.labels.exclusive
        return self._plan_type(
            "local federation",
            labelling.labels,
            labelling=labelling,
            features=row.features,
            dictionary=one_of(DictionaryKind, self.dictionary, "dictionary"),
            words=tuple(self.words),
            weighting=_weighting(self.weighting),
            distrusted=distrusted_places(self.distrusted, words=self.words, before=0),
            epsilon=self.epsilon,
            reading=Reading(level=level, ngrams=row.ngrams),
            beside=row.beside,
            engine=self.engine,  # type: ignore[arg-type]  # the plan knows the names
            alpha=penalty(self.alpha, about, features=self.features),
            class_weight=class_weight(self.class_weight, about, exclusive=exclusive),
            rare=self.rare,  # type: ignore[arg-type]
            min_documents=self.min_documents,
            min_peers=self.min_peers,
            release=self.release,  # type: ignore[arg-type]
            key_bits=self.key_bits,
            query_budget=self.query_budget,
            held_out=held_out(self.held_out, about),
            verdict=self.verdict,  # type: ignore[arg-type]
            operating_point=written(labelling.labels, self.operating_point),
            contribution=self.contribution,  # type: ignore[arg-type]
            rados=self.rados,
            learner=self.learner,  # type: ignore[arg-type]
            addition=self.addition,  # type: ignore[arg-type]
            arrangement=text_arrangement(federation, weights=self.weights),
        )

    def _with_other(self, labels: Labels) -> Labels:
        """Add the class into which rare ones are joined, if they are and nobody has it."""
        if self.rare != Rare.OTHER or OTHER in labels.names:
            return labels
        return Labels(tuple(sorted((*labels.names, OTHER))), labels.exclusive)

    def _about(self, federation: LocalFederation, classes: int, level: Level) -> Circumstances:
        """The figures that the rules look at."""
        documents = [document for mine in federation.documents.values() for document in mine]
        engine = one_of(Engine, self.engine, "engine")
        dictionary = one_of(DictionaryKind, self.dictionary, "dictionary")
        length = census(documents).mean_words
        return Circumstances(classes, level, dictionary, engine, len(documents), length)

    def _row(self, about: Circumstances) -> Columns:
        """Return the parts of a row, by the rules where they are asked."""
        names = ("features", "ngrams", "characters", "letters", *BESIDE)
        given = {name: getattr(self, name) for name in names if hasattr(self, name)}
        given["encoder"] = encoder_of(self.encoder)
        if about.dictionary is DictionaryKind.GIVEN and self.features == AUTO:
            given["features"] = len(self.words)
        return columns(given, about)

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


def _weighting(value: Any) -> Weighting:
    """Return the weighting of words, given as a name or as an object."""
    if isinstance(value, Weighting):
        return value
    if not isinstance(value, str) or value not in _WEIGHTINGS:
        known = " or ".join(map(repr, _WEIGHTINGS))
        raise InputError(f"weighting: expected {known} or a Weighting, found {value!r}")
    return _WEIGHTINGS[value]


def encoder_of(value: Any) -> EncoderName | None:
    """Return the encoder that is meant: an open one, its name, a folder, a package, or none."""
    if value is None or isinstance(value, EncoderName):
        ready(value)
        return value
    if isinstance(value, str | PathLike):
        name = find_encoder(str(value))
        ready(name)
        return name
    if not hasattr(value, "encode"):
        raise InputError(
            f"encoder: expected a folder, a package or an encoder, found {value!r}",
            hints=('encoder="wordllama"', "or encoder=Path(FOLDER)"),
        )
    return provide(value)


def _types(entities: Any) -> tuple[str, ...]:
    """The types of entity that count."""
    listed = isinstance(entities, tuple | list)
    if not (listed and all(isinstance(entity, str) for entity in entities)):
        raise InputError(
            f"entities: expected names of types, found {entities!r}",
            hints=('entities=("Drug", "Disease")',),
        )
    return tuple(entities)
