"""Studies of synthetic notes with toy keys, each trained when first looked at."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.entropy import SeededEntropy
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.datasets import Note, clinical_notes
from sottovoce.paillier import SecretKey
from sottovoce.protocols.identities import Identity
from sottovoce.rados import Moments, joined, solve
from sottovoce.study import Study, StudyPlan
from sottovoce.study.in_memory import Setting
from sottovoce.study.queries.thresholds import unit_scores
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.contributions import local_moments, penalties_of
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.training import held_out_side, training_side
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.text.labels import Classes, Labels

BINARY = Labels(("routine", "urgent"))
Documents = Mapping[str, list[Document]]


def notes(
    documents: int = 600, *, sites: int = 3, label: str = "urgency"
) -> dict[str, list[Document]]:
    """Synthetic notes by site."""
    by_site: dict[str, list[Document]] = {}
    for note in _written(documents, sites):
        by_site.setdefault(note.site, []).append(Document(note.text, getattr(note, label)))
    return by_site


@cache
def _written(documents: int, sites: int) -> tuple[Note, ...]:
    return tuple(clinical_notes(documents, sites=sites, random_state=4).notes)


def told_apart(count: int, seed: int) -> list[Document]:
    """Texts of two classes that share no word, each with a word of its own."""
    words = {"urgent": "fever cough", "routine": "calm rested"}
    order = [*words] * (count // 2)
    return [Document(f"{words[label]} note{seed}x{n}", label) for n, label in enumerate(order)]


@dataclass
class Case:
    """A study with its documents, run when first looked at."""

    documents: Documents
    plan: StudyPlan
    key: SecretKey
    seats: dict[str, Any] = field(default_factory=dict)
    _moments: dict[str, Moments] = field(default_factory=dict, init=False, repr=False)

    def changed(self, **settings: Any) -> "Case":
        return Case(self.documents, replace(self.plan, **settings), self.key, self.seats)

    @cached_property
    def study(self) -> Study:
        return Study(self.plan, self._drawn[0])

    @property
    def identities(self) -> dict[str, Identity]:
        return self._drawn[1]

    @cached_property
    def _drawn(self) -> Any:
        return draw_roster(tuple(self.documents), entropy=SeededEntropy(2), **self.seats)

    def run(self, **setting: Any) -> StudyOutcome:
        return self.run_with(self.documents, **setting)

    def run_with(self, documents: Documents, **setting: Any) -> StudyOutcome:
        return run_study(
            self.study,
            documents,
            identities=self.identities,
            entropy=SeededEntropy(3),
            setting=Setting(**{"key": self.key, **setting}),
        )

    @cached_property
    def outcome(self) -> StudyOutcome:
        return self.run()

    def held_out(self, *peers: str) -> list[Document]:
        names = peers or self.study.roster.peers
        return [
            document
            for name in names
            for document in held_out_side(self.outcome.parties[name], self.documents[name])
        ]

    def plain(
        self, documents: list[Document], *peers: str, alpha: float | None = None
    ) -> list[Classes]:
        """What the plaintext learner on these peers' pooled rows says (all of them unless told)."""
        model = next(iter(self.outcome.models.values()))
        rows = FeatureReader(model.space, model.key).read(documents).unit()
        return self.plan.labels.decide(rows @ self.theta(*peers, alpha=alpha))

    def theta(self, *peers: str, alpha: float | None = None) -> NDArray[np.float64]:
        """The plaintext learner's weights from these peers' pooled rows."""
        moments = joined(map(self._moments_of, peers or self.outcome.trained.peers))
        first = self.plan.candidates[0]
        candidate = first if alpha is None else replace(first, alpha=alpha)
        penalties = penalties_of(self.plan, moments.features, candidate)
        return solve(moments.second, moments.products, penalty=penalties)

    def _moments_of(self, peer: str) -> Moments:
        """The plaintext moments of one peer's training side, read once."""
        if peer not in self._moments:
            model, totals = next(iter(self.outcome.models.values())), self.outcome.trained.totals
            prepared = Prepared(totals, model.space.dictionary.idf_halves, model.space, model.key)
            rows = training_side(self.outcome.parties[peer], self.documents[peer])
            self._moments[peer] = local_moments(self.study, prepared, rows)
        return self._moments[peer]

    def scores(self, documents: list[Document]) -> NDArray[np.float64]:
        """The plaintext learner's scores, of rows as they are rounded for encrypted weights."""
        model = next(iter(self.outcome.models.values()))
        rows = FeatureReader(model.space, model.key).read(documents).integers()
        return unit_scores(rows, rows @ (model.space.factors[:, np.newaxis] * self.theta()))


def accuracy(documents: list[Document], classes: list[Classes]) -> float:
    return float(
        np.mean(
            [
                (document.label,) == predicted
                for document, predicted in zip(documents, classes, strict=True)
            ]
        )
    )
