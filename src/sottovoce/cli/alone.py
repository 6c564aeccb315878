"""What a site would reach without the others: a model of its own documents, learnt in plaintext.

It stays at the site, and answers there where it is the better one.
"""

from collections.abc import Sequence

from sottovoce.config.study_file import StudyDescription
from sottovoce.errors import InputError
from sottovoce.estimators.own_model import clearly_better, learn_alone
from sottovoce.estimators.plain_text import on_side
from sottovoce.node.api import Classified
from sottovoce.node.kept_facts import keep_alone, kept_alone, kept_evaluations
from sottovoce.node.site.site_folder import JoinedStudy
from sottovoce.study.plan import StudyPlan
from sottovoce.text.documents import Document
from sottovoce.text.splits import Side


def measure_alone(
    joined: JoinedStudy, described: StudyDescription, documents: Sequence[Document]
) -> float | None:
    """Its accuracy on this site's documents held out, which is kept; None where rows are parts."""
    plan = described.plan
    model = learn_alone(plan, documents)
    if model is None:
        return None
    accuracy = model.accuracy(on_side(plan, documents, Side.VALIDATION))
    keep_alone(joined.folder, accuracy)
    return accuracy


def is_better_alone(joined: JoinedStudy) -> bool:
    """Whether this site's own model was clearly better than the joint one, by `evaluate`."""
    alone, held = kept_alone(joined.folder), kept_evaluations(joined.folder)
    own = held[-1].own if held else None
    if alone is None or own is None:
        raise InputError(
            f"--own: expected an evaluation of study {joined.id} at this site, found none, and "
            "nothing was asked",
            hints=(f"sottovoce evaluate --study {joined.id}",),
        )
    table = own.counts if own.labels.exclusive else own.counts[0]
    return clearly_better(alone, own.accuracy, documents=int(table.sum()))


def answer_alone(
    plan: StudyPlan, learnt_from: Sequence[Document], documents: Sequence[Document]
) -> Classified:
    """What a model of this site's documents alone says of others; nothing is asked or counted."""
    model = learn_alone(plan, learnt_from)
    if model is None:
        raise InputError("--own: expected some documents held out at level document, found none")
    return Classified(model.predict(documents), 0, model.scores(documents))
