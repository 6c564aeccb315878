"""Opening to the evaluator: the key holder decrypts under a mask that only the evaluator knows.

    evaluator                                         key holder
    draws ρ uniform in Z_N, one for each ciphertext
      ── MaskedSums ⟨⟨s + ρ⟩⟩ ────────────────────▶     decrypts
      ◀── OpenedSums s + ρ mod N ─────────────────
    subtracts ρ, and knows s

The key holder learns nothing: every number that it sees is uniform. The evaluator learns s, which
is the purpose and also the danger: only `plain_theta` uses it, for the paper's table. Both follow
the protocol and do not pool what they saw.
"""

from collections.abc import Sequence
from typing import ClassVar

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError, ViolationError
from sottovoce.paillier import (
    Encrypted,
    ForKeyHolder,
    Plain,
    SecretKey,
    decrypt_residues,
)
from sottovoce.protocols.conversation import KEY_HOLDER, Party, ask
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.messages import Disclosure, Message, Question
from sottovoce.protocols.two_party.masks import elements
from sottovoce.wire import Integers


class OpenedSums(Message, frozen=True):
    """s + ρ mod N for every ciphertext."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, who takes its own masks off",
        reveals="weighted sums of rados in the clear: first their mean b, then one more each step",
        assuming="the paper's table is being reproduced on public data; no study opens sums",
    )
    values: Integers


class MaskedSums(Question[OpenedSums], frozen=True):
    """⟨⟨s + ρ⟩⟩, to be decrypted for the evaluator."""

    discloses: ClassVar = Disclosure(
        seen_by="the key holder, who decrypts it for the evaluator",
        reveals="how many sums are opened; every one of them is a uniform element of Z_N",
        assuming="the evaluator's masks are used once",
    )
    sums: tuple[ForKeyHolder, ...]


def open_sums(tensors: Sequence[Encrypted], *, entropy: Entropy) -> Party[list[Plain]]:
    """At the evaluator: the exact integers of each tensor, read with its scale and slots."""
    key = tensors[0].key
    masks = [elements(key.modulus, t.layout.ciphertexts, entropy=entropy) for t in tensors]
    covered = [
        tensor.cover(mask).for_key_holder(entropy=entropy)
        for tensor, mask in zip(tensors, masks, strict=True)
    ]
    answer = yield from ask(KEY_HOLDER, MaskedSums(tuple(covered)))
    decrypted = answer.values.read(modulus=key.modulus)
    flat = [mask for own in masks for mask in own]
    if len(decrypted) != len(flat):
        raise ViolationError(
            f"expected {len(flat)} opened numbers, found {len(decrypted)}", party=KEY_HOLDER
        )
    centred = [
        (m - r + key.plaintext_bound) % key.modulus - key.plaintext_bound
        for m, r in zip(decrypted, flat, strict=True)
    ]
    opened, start = [], 0
    for tensor in tensors:
        stop = start + tensor.layout.ciphertexts
        opened.append(Plain(tensor.layout.unpack(centred[start:stop]), tensor.scale))
        start = stop
    return opened


def answer_opening(key: SecretKey, question: MaskedSums) -> OpenedSums:
    """At the key holder: what it decrypts is noise to it."""
    for tensor in question.sums:
        if not tensor.layout.covered:
            raise MismatchError(f"opening: expected covered sums, found {tensor.layout}")
    residues = [m for tensor in question.sums for m in decrypt_residues(key, tensor)]
    return OpenedSums(Integers.of(residues, modulus=key.public.modulus))


def opening_rule(key: SecretKey, *, budget: int) -> AnswerRule[OpenedSums]:
    """The rule for a key holder: `budget` openings."""
    return AnswerRule(MaskedSums, lambda q: answer_opening(key, q), budget)
