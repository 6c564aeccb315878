"""The answers of `classify --own`: at this site's class frequencies, or by its own model.

The own model is learnt in plaintext from this site's documents, without the other sites. It stays
at the site, and labels documents there if it is better than the joint model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from sottovoce.config.study_file import StudyDescription
from sottovoce.errors import InputError
from sottovoce.estimators.own_model import (
    clearly_better,
    learn_alone,
    own_thresholds,
    rows_by_class,
)
from sottovoce.estimators.plain_text import accuracy, on_side
from sottovoce.hints import ShellCommand
from sottovoce.node.api import Classified
from sottovoce.node.kept_facts import (
    keep_alone,
    kept_alone,
    kept_joint,
)
from sottovoce.node.known_studies import site_chosen, site_evaluations, site_totals
from sottovoce.node.site.site_folder import JoinedStudy
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.plan import StudyPlan
from sottovoce.study.queries.thresholds import Floats
from sottovoce.text.documents import Document
from sottovoce.text.splits import Side

AskAt = Callable[[Sequence[Document], Callable[[Classified], None], Floats], Classified]
"""Asks for labels of documents at thresholds, and delivers them."""


def measure_alone(
    joined: JoinedStudy, described: StudyDescription, documents: Sequence[Document]
) -> float | None:
    """Measure its accuracy on the held-out documents and keep it; None if rows are parts."""
    plan = described.plan
    model = learn_alone(plan, documents)
    if model is None:
        return None
    measured = model.accuracy(on_side(plan, documents, Side.VALIDATION))
    keep_alone(joined.folder, measured)
    return measured


@dataclass(frozen=True)
class OwnAnswers:
    """The record of `evaluate` at this site, and the documents with which it joined."""

    joined: JoinedStudy
    plan: StudyPlan
    learnt_from: Sequence[Document] = field(repr=False)
    own: Evaluation
    joint: Evaluation
    alone: float

    @classmethod
    def of(
        cls, joined: JoinedStudy, plan: StudyPlan, learnt_from: Sequence[Document]
    ) -> "OwnAnswers":
        """Read the record, or raise an error where there was no evaluation yet."""
        alone, held = kept_alone(joined.folder), site_evaluations(joined)
        last = held[-1] if held else None
        if alone is None or last is None or last.own is None or last.joint is None:
            raise InputError(
                f"--own: study {joined.id} was not evaluated at this site yet; nothing was asked",
                hints=(ShellCommand(f"sottovoce evaluate --study {joined.id}"),),
            )
        chosen = site_chosen(joined)
        settled = plan if chosen is None else plan.settled(chosen)
        return cls(joined, settled, learnt_from, last.own, last.joint, alone)

    @property
    def thresholds(self) -> Floats:
        """The thresholds of this site's class frequencies; 0 where joint ones were not kept."""
        joint, own = site_totals(self.joined), rows_by_class(self.plan, self.learnt_from)
        totals = np.array(joint.by_class if joint else (0.0,) * len(own))
        return own_thresholds(self.plan, totals, own, accuracy=self.joint.accuracy)

    def label(
        self, documents: Sequence[Document], deliver: Callable[[Classified], None], ask: AskAt
    ) -> tuple[Classified, bool]:
        """The labels, and whether this site's own model gave them."""
        if not self._is_ahead(self.own.accuracy):
            return ask(documents, deliver, self.thresholds), False
        joint, charged = self._compared(ask)
        if not self._is_ahead(joint):
            answer = ask(documents, deliver, self.thresholds)
            return replace(answer, charged=answer.charged + charged), False
        answer = replace(self._alone(documents), charged=charged)
        deliver(answer)
        return answer, True

    def _is_ahead(self, joint: float) -> bool:
        """Whether the own model is clearly better than that on the documents held out."""
        table = self.own.counts if self.own.labels.exclusive else self.own.counts[0]
        return clearly_better(self.alone, joint, documents=int(table.sum()))

    def _compared(self, ask: AskAt) -> tuple[float, int]:
        """The joint model's accuracy at our thresholds: asked for once; and what that cost."""
        before = kept_joint(self.joined.folder)
        if before is not None:
            return before, 0
        held_out = on_side(self.plan, self.learnt_from, Side.VALIDATION)
        answer = ask(held_out, partial(self._keep, held_out), self.thresholds)
        return accuracy(self.plan, held_out, answer.classes), answer.charged

    def _keep(self, held_out: Sequence[Document], answer: Classified) -> None:
        joint = accuracy(self.plan, held_out, answer.classes)
        keep_alone(self.joined.folder, self.alone, joint=joint)

    def _alone(self, documents: Sequence[Document]) -> Classified:
        model = learn_alone(self.plan, self.learnt_from)
        if model is None:
            raise InputError("--own: no documents are held out at level document")
        return Classified(model.predict(documents), 0, model.scores(documents))
