from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from sottovoce.errors import InputError
from sottovoce.text.dictionary.dictionaries import gram_id
from sottovoce.text.dictionary.hashing import PUBLIC, DictionaryKey, mixed
from sottovoce.text.documents import Document
from sottovoce.text.occurrences import PieceMemory, distinct
from sottovoce.text.reading import Level, NGrams, Reading

KEY = DictionaryKey(bytes(range(32)))
TEXTS = st.lists(st.text(alphabet="ab ½.'", max_size=12), max_size=6)


def ids_by_row(texts: list[str], reading: Reading, memory: PieceMemory) -> list[Counter[int]]:
    result = memory.read([Document(text) for text in texts])
    rows: list[Counter[int]] = [Counter() for _ in range(result.count)]
    for row, number in zip(result.rows.tolist(), result.ids.tolist(), strict=True):
        rows[row][number] += 1
    return rows


def expected_ids(text: str, reading: Reading) -> Counter[int]:
    whole = [t for piece in text.split() for t in reading.tokenizer.fold(piece)]
    tokens = [token[: reading.ngrams.letters] for token in whole]
    low, high = reading.ngrams.words
    grams = [
        tokens[start : start + size]
        for size in range(low, high + 1)
        for start in range(len(tokens) - size + 1)
    ]
    part = KEY.parts()
    parts = [part(p) for token in tokens for p in reading.parts(token)]
    return Counter(gram_id(gram, KEY) for gram in grams) + Counter(parts)


@given(
    TEXTS,
    st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (3, 4)]),
    st.sampled_from([None, (2, 3)]),
    st.sampled_from([None, 3]),
)
def test_occurrences_are_the_grams_of_each_row(
    texts: list[str],
    words: tuple[int, int],
    characters: tuple[int, int] | None,
    letters: int | None,
) -> None:
    reading = Reading(ngrams=NGrams(words, characters, letters))
    result = ids_by_row(texts, reading, PieceMemory(reading, KEY))
    assert result == [expected_ids(text, reading) for text in texts]


@given(st.lists(TEXTS, max_size=4))
def test_forgetting_changes_nothing(chunks: list[list[str]]) -> None:
    reading = Reading(ngrams=NGrams((1, 2), (2, 3)))
    long, short = PieceMemory(reading, KEY), PieceMemory(reading, KEY, limit=1)
    for texts in chunks:
        assert ids_by_row(texts, reading, long) == ids_by_row(texts, reading, short)


def test_character_n_grams_mark_the_edges_of_a_word() -> None:
    parts = Reading(ngrams=NGrams(characters=(2, 3))).parts("ab")
    assert parts == ["\x02a", "ab", "b\x03", "\x02ab", "ab\x03"]


def test_of_a_longer_word_only_its_first_letters_count() -> None:
    six = Reading(ngrams=NGrams(letters=6))
    assert six.fold("Computing/computers/calm") == ("comput", "comput", "calm")
    assert six.entry("computers") == ["comput"]
    tokens = Reading(Level.TOKEN, NGrams(letters=6))
    assert tokens.fold("computers") == Reading(Level.TOKEN).fold("computers")


def test_too_few_letters_of_a_word_are_refused() -> None:
    with pytest.raises(InputError, match="letters: expected at least 3 of a word, found 2") as at:
        NGrams(letters=2)
    assert at.value.hints == ("letters=7",)


def test_rows_know_their_document_at_every_level() -> None:
    documents = [Document("One two. Three."), Document(""), Document("Four")]
    by_level = {
        level: PieceMemory(Reading(level), KEY).read(documents).documents.tolist()
        for level in Level
    }
    assert by_level == {
        Level.DOCUMENT: [0, 1, 2],
        Level.SENTENCE: [0, 0, 2],
        Level.TOKEN: [0, 0, 0, 2],
    }


@given(st.lists(st.integers(-5, 5)))
def test_distinct_counts_like_a_counter(values: list[int]) -> None:
    values_seen, counts = distinct(np.array(values, np.int64))
    assert dict(zip(values_seen.tolist(), counts.tolist(), strict=True)) == Counter(values)
    assert values_seen.tolist() == sorted(values_seen.tolist())


def test_the_order_of_words_matters() -> None:
    a, b = np.array([1, 2], np.uint64), np.array([2, 1], np.uint64)
    assert (mixed(a, b) != mixed(b, a)).all()


def test_a_stretch_of_characters_never_has_a_word_s_id() -> None:
    assert KEY.words()("ab") != KEY.parts()("ab")


def test_another_key_gives_other_ids_and_is_not_shown() -> None:
    other = DictionaryKey.draw(entropy=SeededEntropy(5))
    assert other.words()("ab") != KEY.words()("ab") != PUBLIC.words()("ab")
    assert repr(other) == "DictionaryKey()"


def test_a_short_key_is_refused() -> None:
    with pytest.raises(InputError, match="dictionary key: expected 32 bytes, found 3"):
        DictionaryKey(b"abc")


@pytest.mark.parametrize(
    ("words", "characters", "what"),
    [((0, 1), None, "word"), ((2, 1), None, "word"), ((1, 6), None, "word"),
     ((1, 1), (0, 2), "character"), ((1, 1), (2, 11), "character")],
)  # fmt: skip
def test_n_grams_out_of_range_are_refused(
    words: tuple[int, int], characters: tuple[int, int] | None, what: str
) -> None:
    with pytest.raises(InputError, match=f"{what} n-grams: expected 1 <= low <= high"):
        NGrams(words, characters)


def test_what_does_not_count_at_a_level_does_not_change_its_fingerprint() -> None:
    pairs = NGrams((1, 2))
    assert Reading().fingerprint != Reading(ngrams=pairs).fingerprint
    token = Reading(Level.TOKEN)
    assert token.fingerprint == Reading(Level.TOKEN, ngrams=pairs).fingerprint
    assert len({Reading(level).fingerprint for level in Level}) == 3


def test_a_memory_serves_its_own_reading_and_key_alone() -> None:
    reading, other = Reading(), Reading(Level.SENTENCE)
    memory = PieceMemory(reading, KEY)
    assert PieceMemory.suited(memory, reading, KEY) is memory
    for occurrence in (
        PieceMemory.suited(memory, other, KEY),
        PieceMemory.suited(memory, reading, DictionaryKey(b"another key of thirty-two bytes.")),
        PieceMemory.suited(None, reading, KEY),
    ):
        assert occurrence is not memory
    assert PieceMemory.suited(memory, other, KEY).is_of(other, KEY)
