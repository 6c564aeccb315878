"""Encrypted rados: three forms, one answer, and nothing to see on the way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.two_party import codec_for, opened, talk
from sottovoce import rados as plain
from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Plain, decrypt, encrypt, total
from sottovoce.paper.encrypted_rados import (
    Documents,
    RadoRows,
    SealedDocuments,
    as_printed,
    by_owner,
    from_sealed,
    intermediate,
    lifted,
    plain_rados,
    upload,
)
from sottovoce.protocols.conversation import EVALUATOR, receive
from sottovoce.protocols.runner import converse
from sottovoce.protocols.two_party.matrices import FixedFactors
from sottovoce.rados.signatures import draw_signs

KEY = toy_key(bits=768)
SCALE = Scale(10, 2**12)


def documents(rows, features, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-SCALE.bound, SCALE.bound + 1, (rows, features))
    return Documents(Plain(values, SCALE), rng.choice([-1, 1], rows))


def sealed(docs, entropy):
    slots = docs.slots(KEY.public)
    return SealedDocuments(
        *(encrypt(KEY.public, p, slots=slots, entropy=entropy) for p in (docs.rows, docs.edges))
    )


@settings(max_examples=12)
@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 4), st.integers(0, 999))
def test_all_three_forms_equal_the_plaintext_rados(rows, features, count, seed) -> None:
    docs, entropy = documents(rows, features, seed), SeededEntropy(seed)
    signs = draw_signs(count, rows, entropy=entropy)
    part = plain.Part.of(docs.rows.floats(), docs.labels)
    expected = plain.rados(part, plain.GivenSignatures.of(signs))

    owned = by_owner(docs, signs, key=KEY.public, entropy=entropy)
    assert np.array_equal(decrypt(KEY, owned).floats(), expected)

    uploaded = from_sealed(sealed(docs, entropy), signs)
    assert np.array_equal(decrypt(KEY, uploaded).floats(), expected)

    held = FixedFactors(KEY)
    labels = encrypt(KEY.public, Plain(docs.labels, Scale(0, 1)), entropy=entropy)
    sigma = encrypt(KEY.public, Plain(signs, Scale(0, 1)), entropy=entropy)
    program = as_printed(sealed(docs, entropy).documents, labels, sigma, entropy=entropy)
    outcome = talk(KEY, program, held.stages(budget=1, entropy=entropy))
    printed = decrypt(KEY, outcome.results[EVALUATOR]).integers
    assert np.array_equal(printed, plain_rados(docs, signs).integers)


def test_an_intermediary_needs_no_answer_and_learns_the_number_of_documents() -> None:
    docs = documents(6, 4, 1)

    def evaluator():
        return (yield from receive("blue", RadoRows))

    outcome = converse(
        {
            "alice": upload(docs, intermediary="blue", key=KEY.public, entropy=SeededEntropy(1)),
            "blue": intermediate("alice", count=3, entropy=SeededEntropy(2)),
            EVALUATOR: evaluator(),
        },
        codec=codec_for(KEY),
    )
    result = opened(KEY, outcome.results[EVALUATOR].rados)
    signs = draw_signs(3, 6, entropy=SeededEntropy(2))
    assert result == plain_rados(docs, signs).integers.tolist()
    assert [type(item.message) for item in outcome.views["blue"].received] == [SealedDocuments]
    assert outcome.traffic.messages.total() == 2


def test_block_rados_with_lift_equal_the_plaintext_ones() -> None:
    rng = np.random.default_rng(3)
    shared = rng.integers(0, 2, (40, 1)).astype(float)
    y = rng.choice([-1.0, 1.0], 40)
    own = [rng.integers(-8, 9, (40, 2)).astype(float), rng.integers(-8, 9, (40, 1)).astype(float)]
    layout = plain.JointLayout(shared=(0,), own=((1, 3), (2,)))
    blocks = [plain.BlockSums.of(shared, X, y, minimum=2) for X in own]
    expected = plain.join_blocks(blocks, layout)

    scale = Scale(0, 2**16)
    slots = plain_slots(scale)
    parts = [
        lifted(
            Plain.of(block.sums, scale),
            positions,
            features=layout.features,
            key=KEY.public,
            slots=slots,
            entropy=SeededEntropy(number),
        )
        for number, (block, positions) in enumerate(zip(blocks, layout.own, strict=True))
    ]
    weight = (blocks[0].labels * blocks[0].counts)[:, None]
    public = np.zeros((len(weight), layout.features))
    public[:, [0]] = weight * blocks[0].shared
    result = total(parts) + Plain.of(public, scale)
    assert np.array_equal(decrypt(KEY, result).floats(), expected.vectors)
    # A zero that was lifted is a ciphertext like any other: no two are alike.
    assert len({residue for part in parts for residue in part.residues}) == sum(
        len(part.residues) for part in parts
    )


def plain_slots(scale):
    return Slots.fit(4 * scale.bound, plaintext_bits=KEY.public.plaintext_bits)


def test_signatures_are_fair_and_forgotten() -> None:
    signs = draw_signs(64, 64, entropy=SeededEntropy(9))
    assert set(np.unique(signs)) == {-1, 1}
    assert abs(int(signs.sum())) < 4 * 64  # four standard deviations


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda d: Documents(d.rows, d.labels[:2]), MismatchError, "one label a row"),
        (lambda d: Documents(d.rows, d.labels * 2), InputError, "labels -1 and 1"),
        (lambda d: plain_rados(d, np.ones((1, 2))), MismatchError, "signs for 3 documents"),
        (lambda d: plain_rados(d, np.zeros((1, 3))), InputError, "signs -1 and 1"),
        (lambda d: draw_signs(0, 3, entropy=SeededEntropy(1)), InputError, "at least 1 rado"),
        (
            lambda d: from_sealed(sealed(d, SeededEntropy(1)), np.ones((1, 2))),
            MismatchError,
            "signs for 3 documents",
        ),
        (lambda d: lift_at(d, (0, 0)), InputError, "distinct positions below 4"),
        (lambda d: lift_at(d, (0, 9)), InputError, "distinct positions below 4"),
        (lambda d: lift_at(d, (0,)), MismatchError, "1 positions"),
    ],
)
def test_what_does_not_fit_is_named(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call(documents(3, 2, 1))


def lift_at(docs, positions):
    return lifted(
        docs.rows,
        positions,
        features=4,
        key=KEY.public,
        slots=docs.slots(KEY.public),
        entropy=SeededEntropy(1),
    )
