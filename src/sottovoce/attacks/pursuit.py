"""Few documents that make up a column of rados: orthogonal matching pursuit over known additions.

It is used if there are fewer rados than documents, so that least squares has no unique solution.
Rare words have one, because few documents contain them.
"""

from dataclasses import dataclass

import numpy as np

from sottovoce.rados.rows import Floats

# At most this share of as many documents as there are rados: more would explain anything.
_SPARSE_SHARE = 1 / 8
# How many times more documents than that the spread may hint at before nothing is tried.
_HOPELESS = 2


@dataclass(frozen=True, slots=True, repr=False)
class Pursuit:
    """Looks for sparse combinations of documents whose additions (0 and 1) are known."""

    added: Floats
    centred: Floats
    products: Floats

    @classmethod
    def over(cls, added: Floats) -> "Pursuit":
        """Over these documents (rows) of rados (columns)."""
        centred = added - added.mean(axis=1, keepdims=True)
        return cls(added, centred, centred @ centred.T)

    def explain(self, column: Floats, *, rounding: float) -> Floats | None:
        """The weights of few documents that make up the column; None where there are none."""
        most = min(int(_SPARSE_SHARE * len(column)), len(self.added))
        match = self.centred @ column
        chosen: list[int] = []
        left = match
        for step in range(most):
            fit = np.abs(left)
            fit[chosen] = 0
            chosen.append(int(fit.argmax()))
            try:
                weights = np.linalg.solve(self.products[np.ix_(chosen, chosen)], match[chosen])
            except np.linalg.LinAlgError:
                return None
            # Each document adds a quarter of its squared weight to the spread.
            if step == 0 and 4 * column.var() > _HOPELESS * most * weights[0] ** 2:
                return None
            left = match - self.products[:, chosen] @ weights
            rest = column - weights @ self.added[chosen]
            if np.abs(rest).max() <= rounding * np.abs(column).max():
                combination = np.zeros(len(self.added))
                combination[chosen] = weights
                return combination
        return None
