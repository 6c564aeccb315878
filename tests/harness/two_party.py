"""An evaluator and a key holder at one table, through bytes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Ciphertext, ForKeyHolder, Plain, SecretKey, decrypt, encrypt
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import KEY_HOLDER, Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.two_party.in_memory import run
from sottovoce.wire import Codec


def codec_for(key: SecretKey) -> Codec:
    return Codec(ciphertexts_under(key.public))


def talk(
    key: SecretKey,
    program: Party[Any],
    stages: Sequence[Sequence[AnswerRule[Any]]],
    *,
    meddler: Meddler | None = None,
) -> Outcome:
    """Run the evaluator's program against a key holder who answers `stages`."""
    return run(program, stages, key=key, meddler=meddler)


def sealed(
    values: ArrayLike,
    scale: Scale,
    *,
    key: SecretKey | None = None,
    slots: Slots | None = None,
    seed: int = 1,
) -> Ciphertext:
    """Integers under a toy key."""
    array = np.asarray(values, dtype=object)
    own = key or toy_key()
    return encrypt(own.public, Plain(array, scale), slots=slots, entropy=SeededEntropy(seed))


def addressed(values: ArrayLike, scale: Scale, **choices: Any) -> ForKeyHolder:
    """Integers under a toy key, as they go to whoever holds it."""
    return sealed(values, scale, **choices).for_key_holder(entropy=SeededEntropy(2))


def opened(key: SecretKey, tensor: Any) -> Any:
    """The integers of a tensor, as nested lists of Python integers."""
    return decrypt(key, tensor).integers.tolist()


def masked_values(
    outcome: Outcome, key: SecretKey, pick: Callable[[Any], Ciphertext | None]
) -> list[int]:
    """What the key holder decrypts of everything that `pick` finds in its view."""
    opened: list[int] = []
    for item in outcome.views[KEY_HOLDER].received:
        ciphertext = pick(item.message)
        if ciphertext is not None:
            opened += [int(v) for v in key.residues(ciphertext.residues)]
    return opened


def masked_slots(
    outcome: Outcome, key: SecretKey, pick: Callable[[Any], Sequence[Ciphertext]]
) -> list[int]:
    """What the key holder finds in the slots of everything that `pick` finds in its view."""
    opened: list[int] = []
    for item in outcome.views[KEY_HOLDER].received:
        for ciphertext in pick(item.message):
            opened += [int(v) for v in decrypt(key, ciphertext).integers.ravel().tolist()]
    return opened
