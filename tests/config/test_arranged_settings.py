"""Arrangements in study.toml: what cannot be is refused by name."""

import pytest

from harness.network import read_toy
from harness.tables import PATIENT_STUDY, varied
from sottovoce.errors import InputError
from sottovoce.study.release import Release

INTERMEDIARY = varied(
    PATIENT_STUDY,
    (
        'trust = "Data Trust"\n',
        'trust = "Data Trust"\ncloud = "Blue Cloud"\n[intermediaries]\nnorth = "cloud"\n',
    ),
)
DESCENT = varied(
    PATIENT_STUDY,
    (
        "alpha = 2.0\n",
        'learner = "rado-descent"\ncontribution = "rados"\nrados = 64\naddition = "ring"\n',
    ),
    ('valley = "Valley Practice"\n', 'valley = "Valley Practice"\nhill = "Hill Practice"\n'),
)
LONE_OWNER = varied(
    PATIENT_STUDY,
    ('"Institute"', '"Northfield Hospital"'),
    ('engine = "paillier"\n', ""),
    ("query_budget = 4000\n", ""),
    ('harbour = "Harbour Clinic"\nvalley = "Valley Practice"\n', ""),
    ('evaluator = "trust"', 'evaluator = "cloud"'),
    ('trust = "Data Trust"', 'cloud = "Blue Cloud"'),
)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"Blue Cloud"', '"Data Trust"', "the intermediary is never the evaluator, found"),
        ('"Blue Cloud"', '"Institute"', "the intermediary is never the coordinator, found"),
        ('north = "cloud"', 'dora = "cloud"', r"intermediaries.dora: expected a name from \[peers"),
        ('north = "cloud"', 'north = "moon"', r"intermediaries.north: expected a name from \[help"),
        ('engine = "paillier"', 'engine = "shares"', "needs engine paillier|needs a dealer"),
    ],
)
def test_who_cannot_be_an_intermediary_is_named(old: str, new: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_toy(varied(INTERMEDIARY, (old, new)))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('hill = "Hill Practice"\n', "", "addition ring needs at least 4 peers"),
        ("rados = 64", "rados = 100", "learner rado-descent needs 32, 64"),
        ('contribution = "rados"\nrados = 64', "", "learner rado-descent needs contribution"),
        ('engine = "paillier"', 'engine = "shares"', "learner rado-descent needs engine paillier"),
        ('learner = "rado-descent"', 'learner = "descent"', "study.learner: expected"),
    ],
)
def test_a_study_that_cannot_descend_is_refused_by_name(old: str, new: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_toy(varied(DESCENT, (old, new))).rehearsed()


def test_a_lone_owner_is_no_evaluator_and_needs_no_dealer() -> None:
    study = read_toy(LONE_OWNER).rehearsed()
    assert study.outsourced
    assert study.plan.release is Release.PEERS


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Blue Cloud", "Northfield Hospital", "evaluator is never the coordinator"),
        ('"cloud"\n', '"cloud"\ndealer = "cloud"\n', "expected exactly 0 dealers, found 1"),
        ("alpha = 2.0", 'release = "sealed"', "release: expected peers, where the coordinator is"),
    ],
)
def test_a_lone_owner_cannot_have_everything(old: str, new: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_toy(varied(LONE_OWNER, (old, new)))
