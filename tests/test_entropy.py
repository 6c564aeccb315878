"""The one door: uniform, in range, and separate per purpose."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from sottovoce.entropy import SEED_BYTES, Expansion, RunEntropy, RunHistory, SystemEntropy, bound


@given(st.integers(1, 2**200), st.integers(0, 2**32))
def test_below_stays_below(bound: int, seed: int) -> None:
    assert 0 <= SeededEntropy(seed).below(bound) < bound


@given(st.integers(0, 300))
def test_bits_fit_their_width(count: int) -> None:
    assert SeededEntropy(1).bits(count).bit_length() <= count


def test_below_is_uniform_where_the_bound_is_no_power_of_two() -> None:
    entropy = SeededEntropy(7)
    counts = Counter(entropy.below(5) for _ in range(20_000))
    chi2 = sum((counts[value] - 4_000) ** 2 / 4_000 for value in range(5))
    assert chi2 < 23.5  # 4 degrees of freedom, p = 1e-4


def test_below_refuses_an_empty_range() -> None:
    with pytest.raises(ValueError, match="at least 1, found 0"):
        SystemEntropy().below(0)


def test_words_fill_every_bit() -> None:
    words = SystemEntropy().words(64, 64)
    assert words.shape == (64, 64)
    assert words.dtype == np.uint64
    assert np.bitwise_or.reduce(words, axis=None) == 2**64 - 1
    words[0, 0] = 0  # writable


def test_shuffled_keeps_every_item_and_reaches_every_order() -> None:
    entropy = SeededEntropy(3)
    orders = Counter(tuple(entropy.shuffled("abc")) for _ in range(6_000))
    assert len(orders) == 6
    assert all(800 < count < 1_200 for count in orders.values())


def test_one_seed_gives_one_stream_per_purpose_and_context() -> None:
    seed = SystemEntropy().seed()
    streams = {
        Expansion(seed, purpose, context).read(32)
        for purpose, context in [("a/v1", b""), ("a/v2", b""), ("a/v1", b"x"), ("a/v1x", b"")]
    }
    assert len(streams) == 4
    assert Expansion(seed, "a/v1").read(64) == Expansion(seed, "a/v1").read(64)


def test_a_stream_read_in_parts_is_the_same_stream() -> None:
    seed = bytes(SEED_BYTES)
    whole, parts = Expansion(seed, "a/v1"), Expansion(seed, "a/v1")
    assert whole.read(50) == parts.read(7) + parts.read(43)


def test_expansion_known_answer() -> None:
    stream = Expansion(bytes(range(32)), "sottovoce/vector/v1", b"context")
    assert stream.read(16).hex() == "de25f92d17582d9759d44db055f359f0"


def test_a_short_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="seed of 32 bytes, found 31"):
        Expansion(bytes(31), "a/v1")


def test_a_stream_does_not_show_its_seed() -> None:
    assert "secret" in repr(Expansion(bytes(range(32)), "a/v1"))


def test_what_a_run_draws_depends_on_what_it_was_told_before() -> None:
    def drawn(*events: bytes) -> list[bytes]:
        history = RunHistory()
        entropy = RunEntropy(bytes(32), "test/v1", b"here", history)
        bound_to = bound(entropy, "part/v1", b"inputs")
        parts = [entropy.read(8), bound_to.read(8)]
        for event in events:
            history.add(event)
            parts += [entropy.read(8), bound_to.words(1).tobytes()]
        return parts

    assert drawn(b"a", b"b") == drawn(b"a", b"b")
    assert drawn(b"a", b"b")[:4] == drawn(b"a", b"c")[:4]
    assert not set(drawn(b"a", b"b")[4:]) & set(drawn(b"a", b"c"))
    assert not set(drawn(b"ab")[2:]) & set(drawn(b"a", b"b"))
    assert len(set(drawn(b"a", b"a"))) == 6


def test_a_stream_is_bound_to_every_word_of_a_long_input(monkeypatch: pytest.MonkeyPatch) -> None:
    words = np.arange(2**14, dtype=np.uint64)

    def drawn(*inputs: bytes | memoryview) -> bytes:
        return bound(SeededEntropy(1), "test/v1", *inputs).read(16)

    assert drawn(words.data) == drawn(words.tobytes()) == drawn(words.reshape(128, -1).data)
    streams = [drawn(words.data), drawn(words[1:].data), drawn(words.data, words.data)]
    for place in (0, 2**13, 2**14 - 1):
        changed = words.copy()
        changed[place] ^= np.uint64(1)
        streams += [drawn(changed.data), drawn(words.data, changed.data)]
    assert len(set(streams)) == len(streams)
    whole = drawn(words.data)
    monkeypatch.setattr("sottovoce.entropy._PIECE", 1000)
    assert drawn(words.data) == whole


def test_the_tags_of_long_inputs_have_a_key_of_the_same_entropy() -> None:
    words = np.zeros(2**14, np.uint64)
    streams = {bound(SeededEntropy(seed), "test/v1", words.data).read(16) for seed in range(4)}
    assert len(streams) == 4
