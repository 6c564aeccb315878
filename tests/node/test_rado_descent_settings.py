"""The paper's own learner in study.toml: what it cannot be is refused by name."""

import pytest

from harness.network import read_toy
from sottovoce.errors import InputError

TEXT = """
[study]
name = "sick or well"
coordinator = "Institute"
labels = ["well", "sick"]
features = 0
engine = "paillier"
learner = "rado-descent"
contribution = "rados"
rados = 64
addition = "ring"
held_out = 0.0
key_bits = 768
kappa = 40
query_budget = 4000
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"
hill = "Hill Practice"
[roles]
evaluator = "trust"
[helpers]
trust = "Data Trust"
[columns]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
[deadlines]
enrolment = "5 minutes"
stage = "5 minutes"
"""


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
    assert old in TEXT
    with pytest.raises(InputError, match=says):
        read_toy(TEXT.replace(old, new)).rehearsed()
