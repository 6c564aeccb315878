"""Sealed studies with blocks beside the words say what the plaintext learner says."""

import numpy as np
import pytest

from harness.examples.encoders import SmallEncoder
from harness.studies import Case
from sottovoce.text.blocks import Blocks
from sottovoce.text.encoding import provide

SMALL = provide(SmallEncoder())
FEW = provide(SmallEncoder(4))


@pytest.mark.parametrize(
    "beside",
    [
        Blocks(tail=64),
        Blocks(tail=32, encoder=SMALL),
        Blocks(encoder=SMALL, encoder_weight=0, kernel=96),
        Blocks(tail=32, encoder=SMALL, kernel=64, kernel_weight=0.5),
        Blocks(tail=16, kernel=64, kernel_width=1.0),
    ],
    ids=["tail", "tail and encoder", "kernel", "all", "kernel of words"],
)
def test_sealed_labels_are_those_of_the_plaintext_learner(binary: Case, beside: Blocks) -> None:
    case = binary.changed(features=48, beside=beside)
    held_out = case.held_out()
    labels = case.outcome.classify("north", held_out).classes
    plain = case.plain(held_out)
    assert np.mean([label == other for label, other in zip(labels, plain, strict=True)]) >= 0.999
    assert case.outcome.models["north"].scores.shape[0] == 48 + beside.width + 1


def test_blocks_work_on_ciphertexts_too(encrypted: Case) -> None:
    case = encrypted.changed(features=3, beside=Blocks(tail=2, encoder=FEW, kernel=2))
    held_out = case.held_out()[:8]
    labels = case.outcome.classify("north", held_out).classes
    assert labels == case.plain(held_out)
