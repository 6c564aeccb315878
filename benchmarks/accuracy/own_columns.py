"""What a site's own model would give as further columns of its rows, beside what was built instead.

Each site learns logistic regression of its full vocabulary. Its scores for the site's own
documents, cross-fitted, are K further columns of the rows that it adds up, so that the joint model
learns how far to trust them; a site that asks uses its own model's scores. In plain text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.accuracy.accuracy import KEY, label_of
from sottovoce.estimators.own_model import rows_by_class
from sottovoce.estimators.plain_text import PlainText, on_side
from sottovoce.rados import solve_rows
from sottovoce.rados.rows import Floats
from sottovoce.study import StudyPlan
from sottovoce.study.totals import Totals
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.text.labels import label_name
from sottovoce.text.passes import training_examples
from sottovoce.text.splits import Side

_FOLDS = 5


@dataclass(frozen=True)
class CrossFittedScores:
    """A site's logistic regression, and the weight of its scores in a row.

    A `balanced` one does not know which classes are frequent at the site.
    """

    plan: StudyPlan
    weight: float
    balanced: bool = False

    def scores(self, learnt: Sequence[Document], asked: Sequence[Document]) -> Floats:
        """Return 2p − 1 of every class for the documents asked about, times the weight."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression

        names = [label_name(label_of(document)) for document in learnt]
        scores = np.full((len(asked), len(self.plan.labels.names)), -1.0)
        if len(set(names)) < 2:
            return 0.0 * scores
        vectors = TfidfVectorizer(sublinear_tf=True)
        weights = "balanced" if self.balanced else None
        model = LogisticRegression(C=10, max_iter=1000, class_weight=weights)
        model.fit(vectors.fit_transform([document.text for document in learnt]), names)
        chances = model.predict_proba(vectors.transform([document.text for document in asked]))
        places = [self.plan.labels.names.index(str(name)) for name in model.classes_]
        scores[:, places] = 2 * chances - 1
        return self.weight * scores

    def cross_fitted(self, documents: Sequence[Document]) -> Floats:
        """Return the scores of a site's own documents, each by a model that did not see it."""
        fold = np.arange(len(documents)) % _FOLDS
        scores = np.zeros((len(documents), len(self.plan.labels.names)))
        for number in range(_FOLDS):
            kept = [
                document for document, its in zip(documents, fold, strict=True) if its != number
            ]
            left = [
                document for document, its in zip(documents, fold, strict=True) if its == number
            ]
            scores[fold == number] = self.scores(kept, left)
        return scores


@dataclass(frozen=True)
class CrossFittedColumns:
    """The joint model of rows with K further columns, and what each site learnt from."""

    joint: PlainText
    model: CrossFittedScores
    theta: Floats

    @classmethod
    def learn(
        cls, joint: PlainText, parts: Sequence[Sequence[Document]], model: CrossFittedScores
    ) -> "CrossFittedColumns":
        """From every site's documents to train with, with the dictionary of the joint model."""
        plan = joint.plan
        rows: list[Any] = []
        targets, numbers = [], []
        for part in parts:
            training = on_side(plan, part, Side.TRAIN)
            blocks = list(
                training_examples(
                    training, joint.space, plan.labelled, fewest=plan.min_documents, key=KEY
                )
            )
            own = model.cross_fitted(training)
            read = sparse.vstack([block.rows for block in blocks], format="csr")
            rows.append(sparse.hstack([read, sparse.csr_array(own)], format="csr"))
            targets.append(np.vstack([block.targets for block in blocks]))
            true = [plan.labels.classes(document) for document in training]
            numbers.append(plan.labels.membership(true).argmax(axis=1))
        counts = rows_by_class(plan, [document for part in parts for document in part]).astype(int)
        totals = Totals(int(counts.sum()), tuple(counts.tolist()), ())
        weights = totals.weights(plan.class_weight)[np.concatenate(numbers)]
        width = joint.space.width + len(plan.labels.names)
        penalty = np.full(width, plan.alphas[0])
        together = sparse.csr_array(sparse.vstack(rows, format="csr"))
        theta = solve_rows(together, np.vstack(targets), weights=weights, penalty=penalty)
        return cls(joint, model, theta)

    def accuracy(
        self, site: Sequence[Document], documents: Sequence[Document], thresholds: Floats
    ) -> float:
        """The share of documents that a site would label rightly, at thresholds of its own."""
        plan = self.joint.plan
        read = FeatureReader(self.joint.space, KEY).read(documents).unit()
        own = self.model.scores(on_side(plan, site, Side.TRAIN), documents)
        rows = sparse.hstack([read, sparse.csr_array(own)], format="csr")
        scores = np.asarray(rows @ self.theta) - thresholds
        decided = plan.labels.decide(scores)
        true = map(plan.labels.classes, documents)
        return float(np.mean([its == said for its, said in zip(true, decided, strict=True)]))
