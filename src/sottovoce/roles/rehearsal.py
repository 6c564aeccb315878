"""Whether a peer's documents can go into a study, before it takes its seat or sends a byte.

What would stop the peer in the middle, or the study with it, is found at the peer alone: documents
of one class, a class with fewer than the agreed minimum, nothing left after suppression. Afterwards
the seat would be spent, and the others would have waited.
"""

from collections.abc import Sequence

from sottovoce.errors import InputError
from sottovoce.roles.preparation import own_counts
from sottovoce.roles.study import Study
from sottovoce.text.counts import Counts
from sottovoce.text.documents import Document
from sottovoce.text.hashing import PUBLIC
from sottovoce.text.splits import Side


def check_documents(study: Study, name: str, documents: Sequence[Document]) -> None:
    """Refuse documents with which peer `name` would end the study for itself, or for all.

    The words are hashed under no key here, and nothing of the counts is kept.
    """
    plan = study.plan
    training = [one for one in documents if plan.split.side(one) is Side.TRAIN]
    if len(training) < plan.min_documents:
        held = len(documents) - len(training)
        without = f", without {held} that are held out" if held else ""
        raise InputError(
            f"{name}: expected at least {plan.min_documents} documents to train with, "
            f"found {len(training)}{without}",
            hints=("bring more documents",),
        )
    _check_minimum(study, name, own_counts(study, name, training, PUBLIC))


def _check_minimum(study: Study, name: str, counts: Counts) -> None:
    """A class that a peer has must reach the minimum; that others have it is enough, too.

    Where labels do not exclude each other a rare one is no document less, and sums decide.
    """
    plan = study.plan
    if not plan.labels.exclusive:
        return
    for one, rows in zip(plan.labels.names, counts.rows_by_class.tolist(), strict=True):
        if 0 < rows < plan.min_documents:
            raise InputError(
                f"{name}: class {one!r}: expected at least {plan.min_documents} rows to train "
                f"with, or none, found {rows}",
                hints=(
                    f"bring {plan.min_documents - rows} more of class {one!r}, or leave these out",
                    "or agree on a lower min_documents in a new study",
                ),
            )
