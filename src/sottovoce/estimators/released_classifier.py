"""A released model as a scikit-learn classifier, from a file alone."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from sottovoce.encoders import ready
from sottovoce.errors import MisuseError
from sottovoce.estimators.peer_parts import as_documents, as_rows
from sottovoce.estimators.tables import is_table
from sottovoce.keyfiles.released_models import ReleasedModel, read_released
from sottovoce.text.documents import Document
from sottovoce.text.labels import Classes
from sottovoce.text.reading import Level


class ReleasedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no types shipped
    """Labels texts, or rows of a table, with weights that a study released; nobody is asked."""

    def __init__(self, model: ReleasedModel) -> None:
        """The model of a file; `load` reads one."""
        self.model = model

    @classmethod
    def load(cls, path: str | PathLike[str], *, encoder: str | PathLike[str] | None = None) -> Self:
        """Read what `export` wrote; `encoder` says where the model's encoder lies."""
        model = read_released(Path(path))
        ready(model.space.blocks.encoder, None if encoder is None else str(encoder))
        return cls(model)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, as their owners wrote them."""
        return np.array(self.model.as_given)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        """Itself: there is nothing to fit again."""
        return self

    def fit(self, X: Any, y: Any = None) -> NoReturn:  # noqa: ARG002 - scikit-learn's contract
        """Refuse: the model was made by a study."""
        raise MisuseError(
            f"{self.model.study}: a released model is not fitted again",
            hints=("TextClassifier().fit(federation)",),
        )

    def predict(self, X: Any) -> Any:
        """The labels of texts or rows; at other levels (start, end, label) of each row of a text.

        Texts (or documents) where the study had texts, a table with its columns where it had none.
        """
        documents = self._documents(X)
        predicted = [
            self._label(classes) for classes in self.model.classes(self.model.scores(documents))
        ]
        if self.model.space.reading.level is not Level.DOCUMENT:
            labels = iter(predicted)
            return [
                [(place.start, place.end, next(labels)) for place in of_document]
                for of_document in self.model.places(documents)
            ]
        if not self.model.labels.exclusive:
            return predicted
        return np.array(predicted, dtype=self.classes_.dtype)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores of texts, or of rows of a table."""
        scores = self.model.scores(self._documents(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _documents(self, X: Any) -> Sequence[Document]:
        space = self.model.space
        if not is_table(X) or space.has_text:
            return as_documents(X)
        return as_rows(X, names=[column.name for column in space.columns])

    def _label(self, classes: Classes) -> Any:
        named = dict(zip(self.model.labels.names, self.model.as_given, strict=True))
        if self.model.labels.exclusive:
            return named[classes[0]]
        return tuple(named[name] for name in classes)
