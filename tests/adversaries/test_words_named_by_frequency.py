"""The coordinator names nameless counts by public text: rounding blurs them, hashing ends it."""

import numpy as np
import pytest

from harness.studies import BINARY, Case, notes
from sottovoce.attacks.frequencies import (
    FREQUENT,
    NamedFeatures,
    PublicText,
    Target,
    try_dictionary,
)
from sottovoce.datasets import clinical_notes
from sottovoce.numbers.rounding import to_powers
from sottovoce.paillier import SecretKey
from sottovoce.study import InsecureToyPlan, Study
from sottovoce.study.stages import preparation
from sottovoce.text.dictionary.counts import Counts
from sottovoce.text.dictionary.dictionaries import Dictionary
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document
from sottovoce.text.labelling import Labelling
from sottovoce.text.passes import CountPlan
from sottovoce.text.splits import position

KEY = DictionaryKey(bytes(32))


def in_any_order(documents: list[Document]) -> list[Document]:
    return sorted(documents, key=lambda document: position(document, purpose="public or not"))


@pytest.fixture(scope="module")
def trials() -> list[NamedFeatures]:
    notes = clinical_notes(2000, random_state=0).notes
    texts = in_any_order([Document(note.text, note.urgency) for note in notes])
    parts = [texts[1000 + start :: 4] for start in range(4)]
    return list(
        try_dictionary(Target(CountPlan(Labelling(BINARY)), parts, 1024, KEY), texts[:1000])
    )


def test_rounded_counts_name_fewer_words(trials: list[NamedFeatures]) -> None:
    exact, rounded, little, none = trials
    assert exact.of_frequent >= 0.3 * FREQUENT
    assert rounded.of_frequent <= 0.6 * exact.of_frequent
    assert rounded.named < exact.named
    assert little.named <= exact.named
    assert none.named == none.of_frequent == 0


def test_without_the_sites_counts_frequency_finds_no_more_than_guessing(
    trials: list[NamedFeatures],
) -> None:
    """The same words under another key, matched with counts of other words."""
    notes = clinical_notes(800, random_state=1).notes
    texts = in_any_order([Document(note.text, note.urgency) for note in notes])
    public = PublicText.of(texts[:400], BINARY)
    target = Target(CountPlan(Labelling(BINARY)), [texts[400:]], 256, KEY)
    shuffled = PublicText(public.words, np.random.default_rng(3).permutation(public.rates))
    assert target.named("shuffled", shuffled, rounded=True).named <= 3
    assert trials[0].named > 10


def test_these_are_the_counts_that_a_coordinator_gets_in_a_study(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack above is on its true view: every bucket, and so the same selected words."""
    plan = InsecureToyPlan("counts", BINARY, features=64, key_bits=768, held_out=0.0)
    case = Case(notes(300), plan, toy_key)
    honest, seen = preparation._chosen, list[Counts]()

    def choosing(study: Study, counts: Counts) -> Dictionary:
        seen.append(counts)
        return honest(study, counts)

    monkeypatch.setattr(preparation, "_chosen", choosing)
    model = case.run().models[case.study.roster.peers[0]]
    target = Target(plan.count_plan, [*case.documents.values()], plan.features, model.key)
    (counts,) = seen
    assert np.array_equal(counts.by_class, target.counts(rounded=True).by_class)
    assert not np.array_equal(counts.by_class, target.counts(rounded=False).by_class)


def test_counts_are_rounded_to_powers_of_three_by_ratio() -> None:
    counts = np.arange(2000)
    rounded = to_powers(counts)
    assert set(rounded.tolist()) == {0, 3, 9, 27, 81, 243, 729, 2187}
    assert rounded[:7].tolist() == [0, 0, 3, 3, 3, 3, 9]
    ratio = rounded[3:] / counts[3:]
    assert (ratio < 3**0.5).all()
    assert (ratio > 3**-0.5).all()
    assert (np.diff(rounded) >= 0).all()
