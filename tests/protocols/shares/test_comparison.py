import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.conversations.enumeration import grid
from harness.entropy import SeededEntropy
from harness.noise import assert_looks_uniform
from sottovoce.errors import MismatchError
from sottovoce.numbers.ring import Words
from sottovoce.protocols.shares import comparison
from sottovoce.protocols.shares.comparison import (
    Corrections,
    deal_comparisons,
    draw_roots,
    evaluate,
    hash_key,
)
from sottovoce.protocols.shares.material import Context

KEY = hash_key(b"tests")
VECTORS = Path(__file__).parents[2] / "vectors" / "comparison.json"


def deal(
    thresholds: Words, payloads: Words, bits: int, seed: int = 1
) -> tuple[tuple[Words, Words], Corrections]:
    entropy = SeededEntropy(seed)
    roots = draw_roots(entropy, len(thresholds)), draw_roots(entropy, len(thresholds))
    return roots, deal_comparisons(thresholds, payloads, roots, bits=bits, key=KEY)


def compare(thresholds: Words, payloads: Words, points: Words, bits: int, seed: int = 1) -> Words:
    roots, keys = deal(thresholds, payloads, bits, seed)
    return evaluate(roots[0], keys, points, first=True) + evaluate(
        roots[1], keys, points, first=False
    )


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("payload", [1, 2**64 - 1, 0xFEDCBA9876543210])
def test_exhaustively_in_small_domains(bits: int, payload: int) -> None:
    threshold, point = grid(2**bits, 2**bits)
    payloads = np.full(len(point), payload, np.uint64)
    compared = compare(threshold, payloads, point, bits)
    assert (compared == payloads * (point < threshold)).all()


WORD = st.integers(0, 2**63 - 1)


@given(WORD, WORD, st.integers(0, 2**64 - 1), st.integers(0, 2**32))
def test_at_63_bits(threshold: int, point: int, payload: int, seed: int) -> None:
    near = [max(threshold - 1, 0), threshold, min(threshold + 1, 2**63 - 1), point, 0, 2**63 - 1]
    points = np.array(near, np.uint64)
    thresholds = np.full(len(near), threshold, np.uint64)
    compared = compare(thresholds, np.full(len(near), payload, np.uint64), points, 63, seed)
    assert [int(word) for word in compared] == [payload * (p < threshold) for p in near]


def test_more_secrets_than_one_chunk_of_aes() -> None:
    count = 2 * comparison._CHUNK + 5
    entropy = SeededEntropy(3)
    thresholds, points = (
        entropy.words(count) >> np.uint64(56),
        entropy.words(count) >> np.uint64(56),
    )
    compared = compare(thresholds, np.ones(count, np.uint64), points, 8)
    assert (compared == (points < thresholds)).all()


def test_a_key_alone_looks_like_noise_and_so_does_its_value() -> None:
    thresholds, payloads = np.full(200, 5, np.uint64), np.ones(200, np.uint64)
    roots, keys = deal(thresholds, payloads, 16)
    seeds = keys.seeds[..., 1].ravel()
    for words in (seeds, keys.values.ravel(), keys.last):
        assert_looks_uniform(words)
    for first in (True, False):
        points = np.zeros(200, np.uint64)
        assert_looks_uniform(evaluate(roots[not first], keys, points, first=first))


def test_keys_of_different_secrets_cannot_be_told_apart_by_their_flags() -> None:
    # The two flag bits of a level are those of random seeds: balanced, whatever α is.
    for threshold in (0, 2**16 - 1):
        _, keys = deal(np.full(4000, threshold, np.uint64), np.ones(4000, np.uint64), 16)
        flags = keys.seeds[..., 0] & np.uint64(3)
        counts = np.bincount(flags.ravel().astype(np.int64), minlength=4)
        assert abs(counts / flags.size - 0.25).max() < 0.01


def test_a_key_of_63_bits_takes_one_and_a_half_kilobytes() -> None:
    _, keys = deal(np.ones(1, np.uint64), np.ones(1, np.uint64), 63)
    assert sum(part.nbytes for part in (keys.seeds, keys.values, keys.last)) == 63 * 24 + 8


def test_keys_roots_and_points_belong_together() -> None:
    roots, keys = deal(np.ones(3, np.uint64), np.ones(3, np.uint64), 4)
    with pytest.raises(MismatchError, match="3 keys, 3 roots, 2 points"):
        evaluate(roots[0], keys, np.zeros(2, np.uint64), first=True)
    with pytest.raises(MismatchError, match="do not belong together"):
        Corrections(keys.seeds, keys.values[:3], keys.last, KEY)


def test_nothing_of_a_key_is_printed() -> None:
    _, keys = deal(np.ones(1, np.uint64), np.ones(1, np.uint64), 4)
    assert str(int(keys.last[0])) not in repr(keys)


def test_vectors() -> None:
    stored = json.loads(VECTORS.read_text())
    words = {
        name: np.array([int(text, 16) for text in stored[name]], np.uint64)
        for name in ("thresholds", "payloads", "points", "first", "second", "last")
    }
    roots = [
        np.array([[int(word, 16) for word in pair] for pair in stored[name]], np.uint64)
        for name in ("first_roots", "second_roots")
    ]
    keys = deal_comparisons(
        words["thresholds"],
        words["payloads"],
        (roots[0], roots[1]),
        bits=stored["bits"],
        key=hash_key(stored["context"].encode()),
    )
    assert (keys.last == words["last"]).all()
    for root, name in zip(roots, ("first", "second"), strict=True):
        figures = evaluate(root, keys, words["points"], first=name == "first")
        assert (figures == words[name]).all()


def test_keys_of_one_study_are_of_no_use_in_another() -> None:
    """The hash has another key in every study, round and attempt."""
    contexts = [
        Context(study, number, attempt, bytes(32)).encode()
        for study in ("one", "two")
        for number in (1, 2)
        for attempt in (1, 2)
    ]
    assert len({hash_key(context) for context in contexts}) == len(contexts)
    thresholds, payloads = np.full(200, 5, np.uint64), np.ones(200, np.uint64)
    roots, keys = deal(thresholds, payloads, 16)
    points = np.zeros(200, np.uint64)
    other = replace(keys, hash_key=hash_key(contexts[0]))
    figures = evaluate(roots[0], other, points, first=True)
    assert not np.array_equal(figures, evaluate(roots[0], keys, points, first=True))
    figures += evaluate(roots[1], other, points, first=False)
    assert_looks_uniform(figures)
