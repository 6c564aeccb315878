"""What a site would reach without the others: a model of its own documents, learnt in plaintext."""

from collections.abc import Sequence

from sottovoce.config.study_file import StudyDescription
from sottovoce.estimators.plain_text import PlainText, on_side
from sottovoce.node.kept_facts import keep_alone
from sottovoce.node.site.site_folder import JoinedStudy
from sottovoce.text.documents import Document
from sottovoce.text.reading import Level
from sottovoce.text.splits import Side


def measure_alone(
    joined: JoinedStudy, described: StudyDescription, documents: Sequence[Document]
) -> float | None:
    """Its accuracy on this site's documents held out, which is kept; None where rows are parts."""
    plan = described.plan
    held_out = on_side(plan, documents, Side.VALIDATION)
    # Of different columns one peer's alone are no rows of the plan.
    if plan.level is not Level.DOCUMENT or plan.arrangement.by_features or not held_out:
        return None
    accuracy = PlainText.learn(plan, [documents]).accuracy(held_out)
    keep_alone(joined.folder, accuracy)
    return accuracy
