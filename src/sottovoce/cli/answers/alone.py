"""A site's own model, learnt in plaintext from its own documents, without the other sites.

It stays at the site, and labels documents there if it is better than the joint model.
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
    """Measure its accuracy on the held-out documents and keep it; None if rows are parts."""
    plan = described.plan
    model = learn_alone(plan, documents)
    if model is None:
        return None
    accuracy = model.accuracy(on_side(plan, documents, Side.VALIDATION))
    keep_alone(joined.folder, accuracy)
    return accuracy


def is_better_alone(joined: JoinedStudy) -> bool:
    """Whether `evaluate` found this site's own model clearly better than the joint one."""
    alone, held = kept_alone(joined.folder), kept_evaluations(joined.folder)
    own = held[-1].own if held else None
    if alone is None or own is None:
        raise InputError(
            f"--own: study {joined.id} was not evaluated at this site yet; nothing was asked",
            hints=(f"sottovoce evaluate --study {joined.id}",),
        )
    table = own.counts if own.labels.exclusive else own.counts[0]
    return clearly_better(alone, own.accuracy, documents=int(table.sum()))


def answer_alone(
    plan: StudyPlan, learnt_from: Sequence[Document], documents: Sequence[Document]
) -> Classified:
    """Label documents with the site's own model; nothing is asked or counted."""
    model = learn_alone(plan, learnt_from)
    if model is None:
        raise InputError("--own: no documents are held out at level document")
    return Classified(model.predict(documents), 0, model.scores(documents))
