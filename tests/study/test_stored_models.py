"""A stored model whose encrypted weights are written in another way is refused by that name."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.studies import BINARY, Case, notes
from sottovoce.errors import KeyFileError
from sottovoce.keyfiles.models import read_model, write_model
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, SecretKey, decrypt, encrypt
from sottovoce.study import InsecureToyPlan
from sottovoce.study.queries.model import PeerModel


def test_weights_of_an_earlier_release_are_refused(toy_key: SecretKey, tmp_path: Path) -> None:
    plan = InsecureToyPlan(
        "earlier", BINARY, features=16, key_bits=768, labels_on="paillier", bucket_bits=12
    )
    case = Case(notes(200), plan, toy_key)
    model, path = case.outcome.models["north"], tmp_path / "model"
    assert isinstance(model, PeerModel)
    write_model(path, model, case.study, identity=case.identities["north"])
    _, again = read_model(path, case.study)
    assert again.weights == model.weights
    # These came mod 2^b, with a bound of 2^b, and the numbers themselves do now.
    numbers, sealed = decrypt(toy_key, model.ciphertext).integers, model.ciphertext
    ring = model.scores.ring
    assert np.abs(numbers).max() <= model.scores.weights.bound < 2**ring.bits
    earlier = Plain(numbers, Scale(sealed.scale.fraction_bits, 2**ring.bits))
    weights = encrypt(sealed.key, earlier, slots=sealed.slots, entropy=SeededEntropy(1))
    old = replace(model, weights=weights)
    write_model(path, old, case.study, identity=case.identities["north"], replace=True)
    with pytest.raises(KeyFileError, match="those of an earlier release") as caught:
        read_model(path, case.study)
    assert str(path) in caught.value.message
    assert "train again" in str(caught.value.hints[0])
