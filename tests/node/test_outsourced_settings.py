"""One owner lends its work, in study.toml: it has data and key, another house computes."""

import pytest

from harness.network import read_toy
from sottovoce.errors import InputError
from sottovoce.study.release import Release

TEXT = """
[study]
name = "sick or well"
coordinator = "Northfield Hospital"
labels = ["well", "sick"]
features = 0
alpha = 2.0
held_out = 0.0
key_bits = 768
kappa = 40
[peers]
north = "Northfield Hospital"
[roles]
evaluator = "cloud"
[helpers]
cloud = "Blue Cloud"
[columns]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
[deadlines]
enrolment = "5 minutes"
stage = "5 minutes"
"""


def test_a_lone_owner_is_no_evaluator_and_needs_no_dealer() -> None:
    study = read_toy(TEXT).rehearsed()
    assert study.outsourced
    assert study.plan.release is Release.PEERS
    with pytest.raises(InputError, match="evaluator is never the coordinator"):
        read_toy(TEXT.replace("Blue Cloud", "Northfield Hospital"))
    with pytest.raises(InputError, match="expected exactly 0 dealer, found 1"):
        read_toy(TEXT.replace('evaluator = "cloud"', 'evaluator = "cloud"\ndealer = "cloud"'))
    with pytest.raises(InputError, match="release: expected peers, where the coordinator is"):
        read_toy(TEXT.replace("alpha = 2.0", 'alpha = 2.0\nrelease = "sealed"'))
