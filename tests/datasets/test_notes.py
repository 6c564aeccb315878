"""Synthetic notes: the same everywhere, exactly labelled, and different from site to site."""

import hashlib
import re
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from sottovoce.datasets import ClinicalNotes, clinical_notes
from sottovoce.datasets.notes import DIAGNOSES, URGENCIES, Note
from sottovoce.datasets.notes.records import Task
from sottovoce.errors import InputError


@pytest.fixture(scope="module")
def notes() -> ClinicalNotes:
    return clinical_notes(3000, sites=3, random_state=7)


def words(note: Note) -> list[str]:
    return re.findall(r"[a-z]{2,}", note.text.lower())


def test_the_same_seed_gives_the_same_notes_on_every_machine() -> None:
    result = clinical_notes(60, sites=("a", "b"), random_state=1)
    digest = hashlib.sha256("\x00".join(result.texts).encode()).hexdigest()
    assert digest[:16] == "bf1a001d06829708"
    assert result == clinical_notes(60, sites=("a", "b"), random_state=1)
    assert result.texts != clinical_notes(60, sites=("a", "b"), random_state=2).texts


def test_more_notes_keep_the_first_ones_and_a_site_does_not_depend_on_the_others() -> None:
    few = clinical_notes(30, sites=("a", "b", "c"))
    many = clinical_notes(300, sites=("a", "b", "c"))
    alone = clinical_notes(40, sites=("b",))
    assert many.at("b").notes[:10] == few.at("b").notes
    assert alone.notes[:10] == few.at("b").notes


def test_documents_are_dealt_evenly_and_none_is_written_twice(notes: ClinicalNotes) -> None:
    assert Counter(note.site for note in notes) == dict.fromkeys(notes.sites, 1000)
    assert Counter(note.site for note in clinical_notes(11, sites=3)).most_common() == [
        ("north", 4),
        ("harbour", 4),
        ("valley", 3),
    ]
    assert len(set(notes.texts)) == len(notes)


def test_entities_are_where_they_say(notes: ClinicalNotes) -> None:
    seen: Counter[str] = Counter()
    for note in notes:
        for entity, following in pairwise(note.entities):
            assert entity.end <= following.start
        for entity in note.entities:
            covered = note.text[entity.start : entity.end]
            assert covered == covered.strip()
            assert covered
            seen[entity.type] += 1
            if entity.type == "Date":
                assert re.fullmatch(r"[\d./, -]*(?:[A-Z][a-z]{2})?[\d./, -]*20\d\d[\d-]*", covered)
            if entity.type == "Name":
                assert re.fullmatch(r"(?:\w+ )?\w+", covered)
                assert covered.istitle()
    assert set(seen) == {"Drug", "Symptom", "Disease", "Name", "Date"}
    assert min(seen.values()) > 1000


def test_every_mention_of_the_patient_is_marked_as_a_name(notes: ClinicalNotes) -> None:
    for note in notes:
        mentions = note.text.count(note.patient.name)
        marked = [note.text[e.start : e.end] for e in note.entities if e.type == "Name"]
        assert marked.count(note.patient.name) == mentions


def test_negated_findings_stand_behind_a_negation(notes: ClinicalNotes) -> None:
    negated = [(note, e) for note in notes for e in note.entities if e.negated]
    assert len(negated) > 1000
    assert {entity.type for _, entity in negated} == {"Symptom", "Disease"}
    cues = Counter(
        note.text[max(0, e.start - 40) : e.start].split()[-1].lower()
        for note, e in negated
        if e.start
    )
    assert {"no", "denies", "without"} <= {word for word, _ in cues.most_common(8)}


def test_sentences_follow_each_other_and_know_their_section(notes: ClinicalNotes) -> None:
    sections: Counter[str] = Counter()
    for note in notes:
        for sentence, following in pairwise(note.sentences):
            assert note.text[sentence.end : following.start].strip(" -\n") == "" or (
                sentence.section != following.section
            )
        for sentence in note.sentences:
            covered = note.text[sentence.start : sentence.end]
            assert covered.endswith(".")
            assert covered == covered.strip()
            assert "\n" not in covered
            sections[sentence.section] += 1
    assert set(sections) == {"complaint", "history", "examination", "medication", "plan"}


def test_patients_come_back_under_their_name(notes: ClinicalNotes) -> None:
    by_patient = defaultdict(list)
    for note in notes:
        by_patient[note.patient.number].append(note)
    assert all(len({note.patient for note in group}) == 1 for group in by_patient.values())
    assert 1.5 < len(notes) / len(by_patient) < 2.5
    assert max(map(len, by_patient.values())) >= 5


def test_every_label_occurs_at_every_site_in_its_own_proportion(notes: ClinicalNotes) -> None:
    shares = []
    for site in notes.sites:
        counts = Counter(notes.at(site).labels("diagnosis"))
        assert set(counts) == set(DIAGNOSES)
        assert set(notes.at(site).labels("urgency")) == set(URGENCIES)
        shares.append([counts[name] / 1000 for name in DIAGNOSES])
    assert all(np.abs(np.subtract(first, two)).max() > 0.05 for first, two in pairwise(shares))


def test_the_vocabulary_is_large_and_falls_off_as_words_do(notes: ClinicalNotes) -> None:
    counts = sorted(Counter(word for note in notes for word in words(note)).values(), reverse=True)
    assert 3000 < len(counts) < 20000
    ranks = np.arange(1, 2001)
    slope = np.polyfit(np.log(ranks), np.log(counts[:2000]), 1)[0]
    assert -1.8 < slope < -0.7
    assert sum(count == 1 for count in counts) > len(counts) / 4


def test_sites_have_words_of_their_own(notes: ClinicalNotes) -> None:
    frequent = []
    for site in notes.sites:
        counts = Counter(word for note in notes.at(site) for word in words(note))
        frequent.append({word for word, count in counts.items() if count >= 10})
    for first, two in pairwise(frequent):
        assert len(first - two) > 50
        assert len(first & two) > 200


@pytest.mark.parametrize("task", [pytest.param("diagnosis", marks=pytest.mark.soak), "urgency"])
def test_one_sites_classifier_is_clearly_worse_than_the_one_of_all_sites(task: Task) -> None:
    everything = clinical_notes(2400, sites=3, random_state=3)
    train = clinical_notes(1200, sites=3, random_state=3)
    known = set(train.groups)
    test = [note for note in everything if note.patient.number not in known]
    labels = [note.label(task) for note in test]

    def accuracy(notes: ClinicalNotes) -> float:
        model = make_pipeline(TfidfVectorizer(sublinear_tf=True), RidgeClassifier())
        model.fit(notes.texts, notes.labels(task))
        return float(model.score([note.text for note in test], labels))

    joint = accuracy(train)
    assert joint > 0.8
    assert max(accuracy(train.at(site)) for site in train.sites) < joint - 0.05


def test_a_note_becomes_a_document_with_group_and_spans(notes: ClinicalNotes) -> None:
    for note, document in zip(notes[:50], notes[:50].documents("urgency"), strict=True):
        assert document.text == note.text
        assert document.label == note.urgency
        assert document.group == note.patient.number
        assert document.columns["site"] == note.site
        covered = [document.text[s.fragments[0].start : s.fragments[0].end] for s in document.spans]
        assert covered == [note.text[e.start : e.end] for e in note.entities]
    assert notes.documents()[0].label == notes[0].diagnosis
    twice = notes[:3].documents()
    assert list(twice) == list(twice)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"documents": 2, "sites": 3}, "at least one document a site .3., found 2"),
        ({"sites": 0}, "at least one site, found 0"),
        ({"sites": ()}, "distinct names of sites"),
        ({"sites": ("a", "a")}, "distinct names of sites"),
        ({"sites": ("../a",)}, r"letters, digits, - and _, found '\.\./a'"),
        ({"random_state": -1}, "random_state >= 0, found -1"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        clinical_notes(**arguments)  # type: ignore[arg-type]


def test_an_unknown_site_and_an_unknown_task_are_named(notes: ClinicalNotes) -> None:
    with pytest.raises(InputError, match=r"one of the sites .*'north'.*, found 'south'"):
        notes.at("south")
    with pytest.raises(InputError, match="found 'mood'"):
        notes.labels("mood")  # type: ignore[arg-type]


def test_sites_beyond_the_named_ones_are_numbered() -> None:
    result = clinical_notes(20, sites=20)
    assert result.sites[12:14] == ("site-13", "site-14")
    assert len(set(result.sites)) == 20
