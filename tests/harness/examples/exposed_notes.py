"""Synthetic notes as an attack's victim: word counts and unit rows, with labels ±1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from sottovoce.datasets import clinical_notes


@dataclass(frozen=True, eq=False)
class Victim:
    counts: sparse.csr_array
    labels: NDArray[np.float64]

    @property
    def unit_rows(self) -> sparse.csr_array:
        documents = self.counts.shape[0]
        having = np.asarray((self.counts > 0).sum(axis=0)).ravel()
        weighted = self.counts * (np.log(documents / having) + 1)
        sizes = np.sqrt(np.asarray((weighted**2).sum(axis=1)).ravel())
        return sparse.csr_array(sparse.diags_array(1 / sizes) @ weighted)


def victim(documents: int, *, least: int = 1, seed: int = 0) -> Victim:
    notes = clinical_notes(documents, random_state=seed)
    words = CountVectorizer(token_pattern=r"\w+", min_df=least)
    counts = sparse.csr_array(words.fit_transform(notes.texts).astype(np.float64))
    labels = np.array([1.0 if label == "urgent" else -1.0 for label in notes.labels("urgency")])
    return Victim(counts, labels)
