"""Classes with too few documents: the study does without them, unless it is told to stop."""

from dataclasses import replace

import numpy as np
import pytest

from harness.studies import Case
from sottovoce.errors import InputError
from sottovoce.study.rare_classes import rare_classes, without_absent, without_rare
from sottovoce.study.totals import Totals
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels

THREE = Labels(("never", "routine", "urgent"))


def few(label: str, count: int) -> list[Document]:
    return [Document(f"fever and pain number {number}", label) for number in range(count)]


def test_a_class_that_nobody_has_enough_of_is_left_out(binary: Case) -> None:
    documents = {
        name: [*mine, *few("never", 2 if name == "north" else 5)]
        for name, mine in binary.documents.items()
    }
    plan = replace(binary.plan, labels=THREE, min_documents=4, held_out=0.0)
    case = Case(documents, plan, binary.key)
    totals = case.outcome.trained.totals
    assert totals.by_class[0] == 0
    assert min(totals.by_class[1:]) > 0
    asked = binary.documents["north"][:60]
    labels = case.outcome.classify("north", asked).classes
    assert {name for (name,) in labels} <= {"routine", "urgent"}
    assert (
        np.mean(
            [(document.label,) == classes for document, classes in zip(asked, labels, strict=True)]
        )
        > 0.6
    )


def test_what_is_rare_at_a_peer_is_left_out_or_joined(binary: Case) -> None:
    labels = Labels(("never", "other", "routine", "seldom"))
    out = replace(binary.plan, labels=labels)
    documents = [*few("never", 2), *few("routine", 5), *few("seldom", 1)]
    assert rare_classes(out, documents) == {"never": 2, "seldom": 1}
    assert {document.label for document in without_rare(out, documents)} == {"routine"}
    joined = without_rare(replace(out, rare="other"), documents)
    assert [outcome.label for outcome in joined].count("other") == 3
    # Two rare documents are too few even together.
    assert {
        document.label for document in without_rare(replace(out, rare="other"), documents[1:-1])
    } == {"routine"}
    stop = replace(out, rare="stop")
    assert rare_classes(stop, documents) == {}
    assert without_rare(stop, documents) == documents


def test_what_all_peers_have_too_few_of_is_joined_where_the_plan_says_so(binary: Case) -> None:
    labels = Labels(("never", "other", "routine"))
    plan = replace(binary.plan, labels=labels, rare="other")
    documents = [*few("never", 4), *few("routine", 5)]
    kept = without_absent(plan, documents, Totals(9, (0, 10, 10), ()))
    assert [document.label for document in kept].count("other") == 4
    # Without a class to join they are left out.
    kept = without_absent(plan, documents, Totals(9, (0, 0, 10), ()))
    assert {item.label for item in kept} == {"routine"}


def test_a_study_of_one_class_stops_all_the_same(binary: Case) -> None:
    labels = Labels(("never", "routine", "urgent"))
    documents = {
        name: [replace(document, label="routine") for document in mine] + few("urgent", 3)
        for name, mine in binary.documents.items()
    }
    plan = replace(binary.plan, labels=labels, min_documents=8, held_out=0.0)
    with pytest.raises(InputError, match="at least two classes, found only 'routine'"):
        Case(documents, plan, binary.key).run()


def test_joining_needs_a_class_of_that_name(binary: Case) -> None:
    with pytest.raises(InputError, match="need a label 'other', found none"):
        replace(binary.plan, rare="other")
    with pytest.raises(InputError, match="rare"):
        replace(binary.plan, rare="merge")


def test_balanced_weights_look_at_the_classes_that_are_there() -> None:
    assert Totals(100, (0, 20, 80), ()).weights("balanced").tolist() == [1.0, 2.5, 0.625]
