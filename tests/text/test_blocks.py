"""Blocks of columns beside the words: a hashed tail, an encoder's vectors, kernel columns."""

import math

import numpy as np
import pytest

from harness.examples.encoders import SmallEncoder
from sottovoce.errors import InputError
from sottovoce.text.blocks import Blocks, tail_places
from sottovoce.text.dictionary.dictionaries import GivenDictionary
from sottovoce.text.dictionary.hashing import PUBLIC, DictionaryKey
from sottovoce.text.documents import Document
from sottovoce.text.encoding import EncoderName, provide, provided
from sottovoce.text.features import NORM_PARTS, FeatureReader, FeatureSpace
from sottovoce.text.reading import Level, NGrams, Reading

SMALL = provide(SmallEncoder())
WORDS = GivenDictionary(("fever", "pain"))
TEXTS = ("fever and a cough", "pain pain in the knee at night", "", "fever pain")


def rows_of(blocks: Blocks, *texts: str, key: DictionaryKey = PUBLIC, **space: object):
    reader = FeatureReader(FeatureSpace(WORDS, blocks=blocks, **space), key)
    return reader.read([Document(text) for text in texts])


def test_words_and_tail_share_the_length_of_a_row() -> None:
    unit = rows_of(Blocks(tail=64), *TEXTS).unit().toarray()[:, :-1]
    assert np.linalg.norm(unit, axis=1).tolist() == pytest.approx([1, 1, 0, 1])
    assert np.count_nonzero(unit[0, 2:]) == 3
    # Without a word outside the dictionary the tail is empty.
    assert not unit[3, 2:].any()


def test_the_tail_s_columns_and_signs_follow_from_the_key() -> None:
    first, second = (
        rows_of(Blocks(tail=512), TEXTS[1], key=DictionaryKey(bytes([number]) * 32)).unit()
        for number in (1, 2)
    )
    assert first.indices.tolist() != second.indices.tolist()
    again = rows_of(Blocks(tail=512), TEXTS[1], key=DictionaryKey(bytes([1]) * 32)).unit()
    assert (again - first).nnz == 0


def test_a_tail_of_words_alone_has_no_pairs_and_no_stretches_of_characters() -> None:
    rich = Reading(ngrams=NGrams((1, 2), (3, 5)))
    alone = rows_of(Blocks(tail=64, tail_of="words"), *TEXTS, reading=rich).unit()
    assert (alone - rows_of(Blocks(tail=64), *TEXTS).unit()).nnz == 0
    assert (alone - rows_of(Blocks(tail=64), *TEXTS, reading=rich).unit()).nnz > 0
    pairs = Reading(ngrams=NGrams((2, 2)))
    listed = GivenDictionary(("a cough",))
    reader = FeatureReader(FeatureSpace(listed, pairs, blocks=Blocks(tail=8, tail_of="words")))
    # Without single words there is nothing for such a tail.
    assert reader.read([Document(TEXTS[0])]).tf.nnz == 1


def test_tail_places_are_even_and_signs_are_fair() -> None:
    ids = np.random.default_rng(5).integers(0, 2**63, 64_000).astype(np.uint64)
    places, signs = tail_places(ids, 100)
    counts = np.bincount(places, minlength=100)
    assert len(counts) == 100
    assert abs(counts - 640).max() < 6 * math.sqrt(640)
    assert abs(int(signs.sum())) < 6 * math.sqrt(64_000)


def test_a_word_s_count_in_the_tail_is_capped_and_words_that_cancel_leave_nothing() -> None:
    many = rows_of(Blocks(tail=1), "cough " * 9)
    assert abs(many.tf.toarray()[0]).tolist() == [0, 0, 3]
    names = [f"word{number}" for number in range(40)]
    signs = {name: rows_of(Blocks(tail=1), name).tf.toarray()[0, 2] for name in names}
    plus = next(name for name in names if signs[name] == 1)
    minus = next(name for name in names if signs[name] == -1)
    cancelled = rows_of(Blocks(tail=1), f"{plus} {minus}")
    assert cancelled.tf.nnz == 0
    assert cancelled.norms.tolist() == [1.0]


def test_encoder_columns_are_the_vector_rounded_finely() -> None:
    unit = rows_of(Blocks(encoder=SMALL), *TEXTS).unit().toarray()[:, 2:-1]
    exact = provided(SMALL).encode(TEXTS)
    assert abs(unit - exact).max() <= 2**-11
    halved = rows_of(Blocks(encoder=SMALL, encoder_weight=0.5), *TEXTS).unit().toarray()[:, 2:-1]
    assert abs(halved - exact / 2).max() <= 2**-12


def test_kernel_columns_give_the_gaussian_kernel() -> None:
    blocks = Blocks(encoder=SMALL, encoder_weight=0, kernel=8192, kernel_width=1.0)
    unit = rows_of(blocks, *TEXTS).unit().toarray()[:, 2:-1]
    vectors = provided(SMALL).encode(TEXTS)
    apart = ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)
    assert abs(unit @ unit.T - np.exp(-apart / 2)).max() < 0.06


def test_without_an_encoder_the_kernel_is_of_words_and_tail() -> None:
    blocks = Blocks(tail=64, kernel=8192, kernel_width=1.0)
    unit = rows_of(blocks, *TEXTS).unit().toarray()[:, :-1]
    text, waves = unit[:, :66], unit[:, 66:]
    apart = ((text[:, None] - text[None]) ** 2).sum(axis=2)
    assert abs(waves @ waves.T - np.exp(-apart / 2)).max() < 0.06


def test_kernel_directions_are_normal_and_the_same_everywhere() -> None:
    blocks = Blocks(encoder=SMALL, kernel=64)
    numbers = rows_of(blocks, "fever at night").further[0]
    assert numbers.tolist() == rows_of(blocks, "x", "fever at night").further[1].tolist()
    # Written down once: another draw at another site would be another model.
    assert numbers[16:22].tolist() == [-55, 47, 46, 10, 62, 44]


@pytest.mark.parametrize(
    "blocks",
    [
        Blocks(tail=32),
        Blocks(encoder=SMALL),
        Blocks(tail=16, encoder=SMALL, kernel=32, kernel_weight=0.5),
        Blocks(encoder=SMALL, encoder_weight=0, kernel=100),
        Blocks(tail=8, kernel=50),
    ],
)
def test_whole_numbers_score_as_unit_rows_do(blocks: Blocks) -> None:
    space = FeatureSpace(WORDS, blocks=blocks)
    rows = FeatureReader(space).read([Document(text) for text in TEXTS])
    theta = np.random.default_rng(3).normal(size=(space.width, 2))
    norms = rows.rounded_norms[:, np.newaxis] / NORM_PARTS
    scores = rows.integers() @ (space.factors[:, np.newaxis] * theta) / norms
    text = rows.norms[:, np.newaxis] / norms
    unit = rows.unit().toarray()
    size = len(space.halves)
    expected = text * (unit[:, :size] @ theta[:size]) + unit[:, size:] @ theta[size:]
    assert scores == pytest.approx(expected, abs=1e-9)
    assert np.abs(rows.further).sum(axis=1).max(initial=0) <= blocks.reach
    dense = unit[:, size:-1]
    assert (dense**2).sum(axis=1).max(initial=0) <= blocks.square + 1e-12
    assert len(blocks.means) == blocks.dense
    # A unit is a whole multiple of 2^-bits.
    assert np.ldexp(blocks.units, blocks.bits) == pytest.approx(
        np.rint(np.ldexp(blocks.units, blocks.bits))
    )


def test_sentences_have_vectors_of_their_own_and_tokens_those_of_their_window() -> None:
    text = "No fever today. The knee is swollen."
    by_sentence = rows_of(Blocks(encoder=SMALL), text, reading=Reading(Level.SENTENCE))
    parts = [text[:15], text[16:]]
    exact = provided(SMALL).encode(parts)
    assert abs(by_sentence.unit().toarray()[:, 2:-1] - exact).max() <= 2**-11
    by_token = rows_of(Blocks(encoder=SMALL), text, reading=Reading(Level.TOKEN))
    first = provided(SMALL).encode(["No fever today"])
    assert abs(by_token.unit().toarray()[0, 2:-1] - first).max() <= 2**-11


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"tail": -1}, "tail of 0 to 32768 columns, found -1"),
        ({"kernel": 2**20, "encoder": SMALL}, "0 to 16384 kernel columns, found 1048576"),
        ({"kernel_width": 0.0}, "kernel_width above 0"),
        ({"encoder_weight": 0.3}, "encoder_weight of 4, 2, 1"),
        ({"kernel_weight": 0.0}, "kernel_weight of 4, 2, 1"),
        ({"tail_idf": 0.3}, "tail_idf from 0.5 to 16 in halves"),
        ({"tail_of": "pairs"}, "tail_of to be one of all, words, found 'pairs'"),
    ],
)
def test_impossible_blocks_are_refused_by_name(settings: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Blocks(**settings)


def test_an_encoder_that_nobody_opened_is_named_by_its_hash() -> None:
    other = EncoderName(SMALL.kind, 16, "ab" * 32)
    with pytest.raises(InputError, match="expected static abababababababab… of 16 columns"):
        rows_of(Blocks(encoder=other), "fever")


def test_a_name_is_read_as_it_is_written() -> None:
    assert EncoderName.read(str(SMALL)) == SMALL
    for wrong in ("static", "static:0:" + "a" * 64, "torch:16:" + "a" * 64, "static:16:abc"):
        with pytest.raises(InputError, match="encoder: expected none, or kind"):
            EncoderName.read(wrong)
    with pytest.raises(InputError, match="1 to 4096 columns"):
        EncoderName.read("onnx:9999:" + "a" * 64)
