"""`SealedClassifier`: the same sealed study for tables of numbers and categories, without text."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError
from sottovoce.estimators.arrangements import check_split, joint_columns, table_arrangement
from sottovoce.estimators.federation import LocalFederation
from sottovoce.estimators.operating_point import OperatingPoint, written
from sottovoce.estimators.peer_parts import as_rows
from sottovoce.estimators.sealed_study import SealedEstimator, check_labels, share_found
from sottovoce.estimators.tables import columns_of
from sottovoce.study import StudyPlan
from sottovoce.study.arrangement import Remote
from sottovoce.study.choices import DictionaryKind
from sottovoce.study.distrust import distrusted_places
from sottovoce.study.plan import default_budget
from sottovoce.text.columns import ROW
from sottovoce.text.documents import Document
from sottovoce.text.features import Weighting

Bounds = tuple[float, float] | Mapping[str, tuple[float, float]]


class SealedClassifier(SealedEstimator):
    """Train one classifier on several owners' tables, sealed, and ask it as one of them.

    `fit` takes a `LocalFederation` of (X, y): arrays, lists of rows or data frames with the
    same columns. What comes out is ridge regression on all rows together, each number scaled
    to [-1, 1] by public bounds and rounded to 1/64, each category a column of its own, and a
    column of ones. Bounds and categories are public, because everybody must agree on them:
    do not take them from the data.

    Parameters
    ----------
    bounds : (low, high) of every number, or one pair for each column by name; a number
        beyond a bound counts as the bound.
    categories : the values of each categorical column by name; any other value is none of them.
    wordings : the words of each column with a text by name: which of them the text has.
    missing : what stands for a number that is missing; without it that is an error.
    engine : "quorum" (the peers by themselves, from three on), "shares" (with an evaluator and a
        dealer), "paillier" (without a dealer, few columns), or "auto": the first that can be.
    release : "sealed" (labels only), "margin" (scores to the asker) or "peers" (weights too).
    alpha : Ridge's penalty, or a tuple of penalties to choose from jointly.
    distrusted : columns by name whose penalty is `epsilon` times alpha: the paper's Γ.
    epsilon : above 0, and at most 1.
    verdict : how labels are found: "fss" (with a dealer), "dgk" (without) or "auto" (with one
        that answers, else without: a `VerdictWarning` says so).
    key_bits : size of the Paillier key.
    min_documents : a class with fewer rows than this for each peer stops the study.
    min_peers : the fewest peers with which the study continues.
    class_weight : None, "root" or "balanced": what rare classes count.
    query_budget : how many rows each peer may have labelled; None is two a column, and at
        least 512.
    held_out : the share of rows that `evaluate` is done on.
    operating_point : the threshold above which the second of two classes is said, or one by
        class, {"urgent": 0.2}; scores are near -1 and 1, and without it the threshold is 0.
    remote : where peers hold different features of the same entities, what stands for those
        of others in a query: "normalised" (their mean edge vector), "zero" or "full" (they add
        their part, and learn which entity is asked about).
    answering : the peers that add a remote part; by default all others.
    contribution : "exact" moments of a peer's rows, or "rados", those of a sample.
    rados : how many rados each peer (or its intermediary) samples, with contribution="rados".
    learner : "closed-form", or "rado-descent": gradient descent on encrypted rados (engine
        "paillier", contribution="rados", at most 128 columns).
    addition : how ciphertexts of peers are added up in engine "paillier": "pairwise" or "ring".
    weights : "whole" (everybody holds the whole encrypted model), or, as in the paper, each peer
        that of its own features: "reveal_feature_lists_to_coordinator", which it then does.

    """

    def __init__(
        self,
        *,
        bounds: Bounds = (-1.0, 1.0),
        categories: Mapping[str, Sequence[Any]] | None = None,
        wordings: Mapping[str, Sequence[str]] | None = None,
        missing: float | None = None,
        engine: str = "auto",
        release: str = "sealed",
        alpha: float | tuple[float, ...] = 1.0,
        key_bits: int = 3072,
        min_documents: int = 3,
        min_peers: int = 3,
        class_weight: str | None = None,
        query_budget: int | None = None,
        held_out: float = 0.2,
        verdict: str = "auto",
        operating_point: OperatingPoint = None,
        remote: str = "normalised",
        answering: Sequence[str] = (),
        contribution: str = "exact",
        rados: int = 0,
        learner: str = "closed-form",
        addition: str = "pairwise",
        weights: str = "whole",
        distrusted: Sequence[str] = (),
        epsilon: float = 1.0,
    ) -> None:
        """Store the choices; they are checked when a study begins."""
        self.bounds = bounds
        self.categories = categories
        self.wordings = wordings
        self.missing = missing
        self.engine = engine
        self.release = release
        self.alpha = alpha
        self.key_bits = key_bits
        self.min_documents = min_documents
        self.min_peers = min_peers
        self.class_weight = class_weight
        self.query_budget = query_budget
        self.held_out = held_out
        self.verdict = verdict
        self.operating_point = operating_point
        self.remote = remote
        self.answering = answering
        self.contribution = contribution
        self.rados = rados
        self.learner = learner
        self.addition = addition
        self.weights = weights
        self.distrusted = distrusted
        self.epsilon = epsilon

    def fit(self, federation: Any, y: None = None, *, executor: Any = None) -> Self:
        """Run the study: every peer's rows in, one sealed model out."""
        super().fit(federation, y, executor=executor)
        self.feature_names_in_ = np.array(joint_columns(federation), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def predict(
        self, X: Any, *, peer: str | None = None, entities: Sequence[Any] | None = None
    ) -> Any:
        """The labels of rows, asked as one of the peers; nobody else learns them.

        In partition "features" rows have the columns of that peer, and `entities` names
        whom each row is about, where the other peers add their part (remote="full").
        """
        asker = self._asker(peer)
        rows = self._rows(X, asker, entities)
        return self.labels_of(self._outcome.classify(asker, rows).classes if rows else [])

    def decision_function(
        self, X: Any, *, peer: str | None = None, entities: Sequence[Any] | None = None
    ) -> NDArray[np.float64]:
        """The scores of rows, where the study released them ("margin" or "peers")."""
        asker = self._asker(peer)
        return self._scores(self._rows(X, asker, entities), asker)

    def score(
        self,
        X: Any,
        y: Sequence[Any],
        *,
        peer: str | None = None,
        entities: Sequence[Any] | None = None,
    ) -> float:
        """The share of rows whose label is found."""
        check_labels(y)
        return share_found(self.predict(X, peer=peer, entities=entities), y)

    def _rows(self, X: Any, asker: str, entities: Sequence[Any] | None) -> list[Document]:
        arrangement = self._outcome.study.plan.arrangement
        names = tuple(self._fitted().feature_names_in_)
        if arrangement.by_features:
            names = arrangement.columns_of(asker)
        if entities is None and arrangement.by_features and arrangement.remote is Remote.FULL:
            raise InputError(
                "predict: name the entity of each row",
                hints=("predict(X, peer=…, entities=names): the other peers look them up",),
            )
        return as_rows(X, None, entities, names=names)

    def _plan(self, federation: LocalFederation) -> StudyPlan:
        check_split(federation, self.held_out)
        columns = columns_of(
            joint_columns(federation),
            bounds=self.bounds,
            categories=self.categories or {},
            missing=self.missing,
            wordings=self.wordings,
        )
        width = 1 + sum(column.width for column in columns)
        budget = default_budget(width) if self.query_budget is None else self.query_budget
        return self._plan_type(
            "local federation",
            federation.labels,
            features=1,
            columns=columns,
            dictionary=DictionaryKind.GIVEN,
            words=(ROW,),
            # The word that every row has is the intercept; a bias beside it would be a second.
            weighting=Weighting(tf_cap=1, idf=False, bias=0.0),
            engine=self.engine,  # type: ignore[arg-type]  # the plan knows the names
            alpha=self.alpha,
            distrusted=distrusted_places(self.distrusted, words=(ROW,), before=1, columns=columns),
            epsilon=self.epsilon,
            class_weight=self.class_weight,
            min_documents=self.min_documents,
            min_peers=self.min_peers,
            release=self.release,  # type: ignore[arg-type]
            key_bits=self.key_bits,
            query_budget=budget,
            held_out=self.held_out,
            verdict=self.verdict,  # type: ignore[arg-type]
            operating_point=written(federation.labels, self.operating_point),
            arrangement=table_arrangement(
                federation,
                remote=self.remote,
                answering=self.answering,
                weights=self.weights,
            ),
            contribution=self.contribution,  # type: ignore[arg-type]
            rados=self.rados,
            learner=self.learner,  # type: ignore[arg-type]
            addition=self.addition,  # type: ignore[arg-type]
        )
