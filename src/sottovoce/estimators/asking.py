"""A fitted study as one of its peers sees it: a scikit-learn classifier that only predicts."""

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from sottovoce.errors import MisuseError
from sottovoce.estimators.own_model import OwnModel
from sottovoce.estimators.peer_parts import as_documents
from sottovoce.estimators.plain_text import PlainText
from sottovoce.text.documents import Document
from sottovoce.text.labels import Classes


class Asked(Protocol):
    """The answers of a fitted classifier of a study."""

    classes_: NDArray[Any]

    def predict(self, X: Any, *, peer: str | None = None) -> Any:
        """Labels, asked as a peer."""

    def classes_at(
        self, documents: Sequence[Document], peer: str, thresholds: NDArray[np.float64]
    ) -> list[Classes]:
        """Labels at thresholds of the asker's own."""

    def decision_function(self, X: Any, *, peer: str | None = None) -> NDArray[np.float64]:
        """Scores, where the study releases them."""

    def predict_proba(self, X: Any, *, peer: str | None = None) -> NDArray[np.float64]:
        """Probabilities, where the study was evaluated."""

    def labels_of(self, predicted: Sequence[Classes]) -> Any:
        """Classes as their owners wrote them."""


class PeerClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no types shipped
    """Asks a fitted study as one peer; every call is a query, and counted.

    Works wherever scikit-learn wants a fitted classifier: displays `from_estimator`, metrics,
    the end of a pipeline that is fitted already. It cannot be fitted again: tools that clone and
    fit what they are given (`cross_val_score`) take `FrozenEstimator(model.at(peer))`.
    """

    def __init__(self, model: Asked, peer: str, *, own: OwnModel | None = None) -> None:
        """The classifier of a study, who asks, and that peer's own model.

        With it labels are asked for at the peer's own class frequencies. The own model answers,
        and nothing is asked, where it was better than that on the peer's documents held out, by
        more than a standard error.
        """
        self.model = model
        self.peer = peer
        self.own = own

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, as their owners wrote them."""
        return self.model.classes_

    def __sklearn_clone__(self) -> Self:
        """Itself: copying the settings does not repeat a study."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self.model, "classes_")

    def fit(self, X: Any, y: Any = None) -> NoReturn:  # noqa: ARG002 - scikit-learn's contract
        """Refuse: a study is fitted by all its peers together."""
        raise MisuseError(
            f"{self.peer}: a study is fitted by all peers together",
            hints=("TextClassifier().fit(federation).at(peer)",),
        )

    def predict(self, X: Any) -> Any:
        """The labels of texts, which nobody else learns."""
        if self._answering is not None:
            return self.model.labels_of(self._answering.predict(as_documents(_listed(X))))
        if self.own is not None:
            thresholds, documents = self.own.thresholds, as_documents(_listed(X))
            return self.model.labels_of(self.model.classes_at(documents, self.peer, thresholds))
        return self.model.predict(_listed(X), peer=self.peer)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores of texts, where the study released them; of the own model always."""
        if self._answering is not None:
            scores = self._answering.scores(as_documents(_listed(X)))
            return scores[:, 0] if scores.shape[1] == 1 else scores
        scores = self.model.decision_function(_listed(X), peer=self.peer)
        return scores if self.own is None else scores - np.squeeze(self.own.thresholds)

    def _has_probabilities(self) -> bool:
        """Whether there are calibrated probabilities, which are of the joint class frequencies."""
        calibrated = getattr(self.model, "is_calibrated", False)
        return self.own is None and calibrated and hasattr(self.model, "predict_proba")

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]  # no types shipped
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of every class, once the study was evaluated."""
        return np.asarray(self.model.predict_proba(_listed(X), peer=self.peer))

    @property
    def _answering(self) -> PlainText | None:
        """The own model, where it is the better one."""
        return self.own.model if self.own is not None and self.own.is_preferred else None


def _listed(X: Any) -> Any:
    """Texts of an array as a list; tables are as they are."""
    return X.tolist() if isinstance(X, np.ndarray) and X.ndim == 1 else X
