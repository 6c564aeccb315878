"""One dishonest peer against the words of one document: everybody else as shipped, labels only.

It gets a surname into the dictionary, claims a hundred thousand documents, contributes a
near-diagonal matrix with a huge right-hand side for the surname, made up from where the others
measure their rows, and asks for labels of one-word texts: where a word stands together with the
surname in somebody's document, the label differs.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import hypergeom

from harness.entropy import SeededEntropy
from harness.studies import BINARY
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.datasets import clinical_notes
from sottovoce.numbers.rounding import rounded_up
from sottovoce.paillier import SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.rados.moments import Moments
from sottovoce.study import InsecureToyPlan, Policy, Study
from sottovoce.study.choices import Centre
from sottovoce.study.in_memory import Setting
from sottovoce.study.party_context import PartyContext
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages import contributions, preparation, training
from sottovoce.study.stages.centring import _UNIT, Reference, ToldSpectrum
from sottovoce.study.stages.contributions import MomentPlan, send_halves
from sottovoce.study.stages.holdings import integer_rows
from sottovoce.study.stages.joint_mean import bring_mean, guess, measuring_from, takes_mean
from sottovoce.study.stages.preparation import Prepared
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.dictionary.lookup import own_words
from sottovoce.text.documents import Document
from sottovoce.text.splits import Side

SITES = ("northfield", "harbour", "stanmore", "mallory")
NAME, VICTIM, MALLORY = "zebrowski", "harbour", "stanmore"
SHORTEST = 10
# Where more rows are claimed, each counts less: that would hide the document from its reader.
FEATURES, CLAIMED, DAMPING = 256, 100_000, 300.0


@dataclass
class Read:
    """What the dishonest peer read of the victim's document, and what stands there."""

    marked: NDArray[np.bool_]
    true: NDArray[np.bool_]

    @property
    def right(self) -> int:
        return int((self.marked & self.true).sum())

    @property
    def chance(self) -> float:
        """How often as many words drawn at random are as right as these."""
        drawn = hypergeom(self.true.size, int(self.true.sum()), int(self.marked.sum()))
        return float(drawn.sf(self.right - 1))


@dataclass
class Mallory:
    """The dishonest peer, and the study that it attacks."""

    key: SecretKey
    claimed: int = CLAIMED
    weight: int = CLAIMED
    """Of how many documents what it contributes is, whatever it claimed."""
    centre: Centre = Centre.MEAN
    policies: dict[str, Policy] | None = None
    column: int = -1
    pull: float = 0.0
    documents: dict[str, list[Document]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seats = dict(zip(SITES, (VICTIM, "north", "valley", MALLORY), strict=True))
        for note in clinical_notes(1200, sites=list(SITES), random_state=4).notes:
            site = self.documents.setdefault(seats[note.site], [])
            site.append(Document(note.text, note.urgency))
        self.plan = InsecureToyPlan(
            "victim",
            BINARY,
            features=FEATURES,
            key_bits=768,
            query_budget=10**6,
            centre=self.centre,
        )
        roster, self.identities = draw_roster(tuple(self.documents), entropy=SeededEntropy(2))
        self.study = Study(self.plan, roster)
        self._hide()

    def _hide(self) -> None:
        """Put the surname into one document of the victim, and into those that Mallory shows."""
        mine = self.documents[VICTIM]
        # Of so many claimed documents moments are written coarsely: a short note shows best.
        for written in sorted(mine, key=lambda document: len(document.text)):
            marked = Document(f"{written.text} {NAME}", written.label)
            if len(written.text.split()) > SHORTEST and self.plan.split.side(marked) is Side.TRAIN:
                self.victim, mine[mine.index(written)] = marked, marked
                break
        self.documents[MALLORY] = [
            Document(document.text + f" {NAME}" * (document.label == "urgent"), document.label)
            for document in self.documents[MALLORY]
        ]

    def bucket(self, key: DictionaryKey) -> int:
        return int(np.uint64(key.words()(NAME)) >> np.uint64(64 - self.plan.bucket_bits))

    def deviate(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take the place of Mallory's programs."""
        honest_vector, honest_contribute = preparation._vector, contributions.contribute

        def vector(study: Study, name: str, docs: Any, key: DictionaryKey, **more: Any) -> Any:
            counts = honest_vector(study, name, docs, key, **more)
            if name != MALLORY:
                return counts
            out = np.zeros_like(counts)
            out[:3] = self.claimed, int(0.6 * self.claimed), self.claimed - int(0.6 * self.claimed)
            out[3:].reshape(2, -1)[1, self.bucket(key)] = max(60, int(2e-4 * self.claimed))
            return out

        def contribute(party: PartyContext, prepared: Prepared, docs: Any) -> Party[Any]:
            if party.name != MALLORY:
                return (yield from honest_contribute(party, prepared, docs))
            return (yield from self._contribute(party, prepared, docs))

        monkeypatch.setattr(preparation, "_vector", vector)
        monkeypatch.setattr(training, "contribute", contribute)

    def _contribute(self, party: PartyContext, prepared: Prepared, docs: Any) -> Party[Any]:
        layout = MomentPlan.of(self.plan, prepared.totals)
        assert prepared.space is not None
        width = layout.width
        self.column = prepared.space.dictionary.buckets.index(self.bucket(prepared.key))
        second = np.zeros((width, width))
        np.fill_diagonal(second, DAMPING)
        second[self.column, self.column] = 0
        second[-1, -1] = self.weight * _UNIT**2
        self.pull = 0.8 * math.sqrt(self.weight * 1.2)
        # It guesses that the others' text is like its own.
        own = contributions.local_moments(self.study, prepared, docs)
        reference = yield from self._point(party, prepared, width)
        reference.move(own)
        products = np.zeros((width, 1))
        products[:-1] = -3 * own.products[:-1]
        products[self.column] = self.pull
        words = layout.scales.written(second, products)
        end = rounded_up(math.ceil((DAMPING + 1) * 256))
        return (
            yield from send_halves(
                measuring_from(party, reference), layout, words, spectrum=ToldSpectrum(end, end)
            )
        )

    def _point(self, party: PartyContext, prepared: Prepared, width: int) -> Party[Reference]:
        """From where the others measure.

        To the joint mean it brings no rows: with its own, full of the surname, that column would
        lie far from zero in every row of the others, and drown the one document that has it.
        """
        reference = guess(party, prepared)
        if takes_mean(party, reference):
            reference = yield from bring_mean(party, prepared, Moments(width))
        assert reference is not None
        return reference

    def train(self) -> StudyOutcome:
        return run_study(
            self.study,
            self.documents,
            identities=self.identities,
            entropy=SeededEntropy(3),
            setting=Setting(key=self.key, policies=self.policies),
        )

    def read(self, outcome: StudyOutcome, *shares: float) -> list[Read]:
        """The words that stand with the surname, from labels of one-word texts.

        A word counts as standing there if it has at least this share of the document.
        """
        bias = self._bisected(outcome)
        pull = self.pull / 1.2 / (DAMPING + 1.5)
        return [self._read(outcome, bias - pull * share) for share in shares]

    def _read(self, outcome: StudyOutcome, threshold: float) -> Read:
        words = self._words(outcome)
        asked = self._asked(outcome, [Document(word) for word in words.values()], threshold)
        marked = np.zeros(FEATURES, np.bool_)
        marked[list(words)] = ~asked
        model = outcome.models[MALLORY]
        rows = integer_rows(self.study, model.space, VICTIM, [self.victim], key=model.key)
        true = rows.toarray()[0][:FEATURES] > 0
        others = np.isin(np.arange(FEATURES), [word for word in words if word != self.column])
        return Read(marked[others], true[others])

    def _asked(
        self, outcome: StudyOutcome, documents: list[Document], threshold: float
    ) -> NDArray[np.bool_]:
        models = dict(outcome.models)
        models[MALLORY] = replace(models[MALLORY], operating_point=(threshold,))
        outcome.models = models
        classes = outcome.classify(MALLORY, documents).classes
        return np.array([class_ == ("urgent",) for class_ in classes])

    def _bisected(self, outcome: StudyOutcome) -> float:
        low, high = -6.0, 6.0
        for _ in range(11):
            middle = (low + high) / 2
            above = self._asked(outcome, [Document("")], middle)[0]
            low, high = (middle, high) if above else (low, middle)
        return (low + high) / 2

    def _words(self, outcome: StudyOutcome) -> dict[int, str]:
        """A word of its own for every column that has one."""
        model = outcome.models[MALLORY]
        own = own_words(self.documents[MALLORY], model.space, key=model.key)
        return {column: words[0] for column, words in own.items()}
