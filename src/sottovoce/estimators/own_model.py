"""A site's own model beside the joint one: the site takes its own where that is clearly better.

Learnt from the site's own documents and kept at the site. Both are judged by the site's documents
held out, which neither learnt from; the joint labels of these came with the evaluation. So nothing
is asked for the choice, and nothing of it leaves the site.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

from sottovoce.errors import MisuseError
from sottovoce.estimators.plain_text import PlainText, on_side
from sottovoce.study import StudyPlan
from sottovoce.text.documents import Document
from sottovoce.text.reading import Level
from sottovoce.text.splits import Side


@dataclass(frozen=True)
class OwnModel:
    """What a site learnt alone, and how often it and the joint model were right on its own."""

    model: PlainText = field(repr=False)
    alone: float
    joint: float
    documents: int

    @classmethod
    def learn(cls, plan: StudyPlan, documents: Sequence[Document], *, joint: float) -> "OwnModel":
        """From one site's documents, and the joint model's accuracy on those held out."""
        model = learn_alone(plan, documents)
        if model is None:
            raise MisuseError(
                "own model: expected documents that are rows of the plan, some of them held out",
                hints=("held_out=0.2 at level document, partition documents",),
            )
        held_out = on_side(plan, documents, Side.VALIDATION)
        return cls(model, model.accuracy(held_out), joint, len(held_out))

    @property
    def is_preferred(self) -> bool:
        """Whether the site is better off with its own model."""
        return clearly_better(self.alone, self.joint, documents=self.documents)


def clearly_better(alone: float, joint: float, *, documents: int) -> bool:
    """Whether one accuracy on so many documents is above another by more than a standard error.

    The error of the difference is at its largest where no document is wrong in both.
    """
    wrong_in_one = (2 - alone - joint) * documents
    return alone > joint and (alone - joint) * documents > sqrt(wrong_in_one)


def learn_alone(plan: StudyPlan, documents: Sequence[Document]) -> PlainText | None:
    """A model of one site's documents; None where these are no rows of the plan, or all learnt.

    Of different columns one peer's alone are no rows of the plan.
    """
    if plan.level is not Level.DOCUMENT or plan.arrangement.by_features:
        return None
    if not on_side(plan, documents, Side.VALIDATION):
        return None
    return PlainText.learn(plan, [documents])
