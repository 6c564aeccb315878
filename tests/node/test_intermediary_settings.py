"""Who builds a peer's contribution: in study.toml, never the coordinator or the evaluator."""

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
alpha = 2.0
held_out = 0.0
key_bits = 768
kappa = 40
query_budget = 4000
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"
[roles]
evaluator = "trust"
[helpers]
trust = "Data Trust"
cloud = "Blue Cloud"
[intermediaries]
north = "cloud"
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
        ('"Blue Cloud"', '"Data Trust"', "the intermediary is never the evaluator, found"),
        ('"Blue Cloud"', '"Institute"', "the intermediary is never the coordinator, found"),
        ('north = "cloud"', 'dora = "cloud"', r"intermediaries.dora: expected a name from \[peers"),
        ('north = "cloud"', 'north = "moon"', r"intermediaries.north: expected a name from \[help"),
        ('engine = "paillier"', 'engine = "shares"', "needs engine paillier|needs a dealer"),
    ],
)
def test_who_cannot_be_an_intermediary_is_named(old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError, match=says):
        read_toy(TEXT.replace(old, new))
