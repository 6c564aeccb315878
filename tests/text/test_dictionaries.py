from string import ascii_lowercase

import numpy as np
import pytest

from sottovoce.errors import InputError
from sottovoce.text.dictionary.counts import Counts, Suppression
from sottovoce.text.dictionary.dictionaries import (
    Dictionary,
    GivenDictionary,
    HashedDictionary,
    JointDictionary,
    entry_id,
)
from sottovoce.text.dictionary.hashing import PUBLIC, DictionaryKey
from sottovoce.text.dictionary.lookup import confirms, own_words
from sottovoce.text.dictionary.selection import Selection, chi_squared, chosen
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureSpace
from sottovoce.text.labelling import Labelling
from sottovoce.text.labels import Labels
from sottovoce.text.passes import CountPlan, count
from sottovoce.text.reading import Level, NGrams, Reading

KEY = DictionaryKey(bytes(range(32)))
PAIRS = Reading(ngrams=NGrams((1, 2)))
LABELLING = Labelling(Labels(("ham", "spam")))
DOCUMENTS = [
    *[Document("call now", "spam")] * 4,
    *[Document("call me later", "ham")] * 4,
    Document("once", "ham"),
]


def columns(dictionary: Dictionary, *words: str, reading: Reading = PAIRS) -> list[int]:
    ids = np.array([entry_id(word, reading, KEY) for word in words], np.uint64)
    return dictionary.locator(reading, KEY)(ids).tolist()


def counts_of(documents: list[Document], min_documents: int = 1, bits: int = 18) -> Counts:
    plan = CountPlan(LABELLING, PAIRS, Suppression(min_documents), bits)
    return count(documents, plan, key=KEY)


def table(by_class: list[list[int]], rows: list[int]) -> Counts:
    cells = np.array(by_class)
    total = cells.sum(axis=0)
    return Counts(sum(rows), np.array(rows), total, cells, (total > 0).astype(np.int64))


def test_a_given_dictionary_finds_its_words_as_text_is_read() -> None:
    given = GivenDictionary(("Fever", "chest  PAIN", "Straße"))
    assert columns(given, "fever", "Chest pain", "STRASSE", "pain", "other") == [0, 1, 2, -1, -1]
    assert given.idf_halves == (2, 2, 2)


def test_words_that_are_read_alike_are_refused() -> None:
    with pytest.raises(InputError, match="found 'fever' and 'FEVER', which are read alike"):
        GivenDictionary(("fever", "x", "FEVER")).locator(PAIRS, KEY)


@pytest.mark.parametrize(("words", "count"), [("a b c", 3), ("…", 0)])
def test_entries_that_reading_never_gives_are_refused(words: str, count: int) -> None:
    with pytest.raises(InputError, match=rf"expected 1 to 2 words, found {count}"):
        GivenDictionary((words,)).locator(PAIRS, KEY)


def test_a_given_dictionary_of_token_features() -> None:
    token = Reading(Level.TOKEN)
    given = GivenDictionary(("0=pain", "-1=chest"))
    assert columns(given, "-1=chest", "0=chest", reading=token) == [1, -1]


def test_an_empty_word_list_is_refused() -> None:
    with pytest.raises(InputError, match="it has no word"):
        GivenDictionary(())


def test_a_hashed_dictionary_uses_all_its_columns_evenly() -> None:
    words = [first + second for first in ascii_lowercase for second in ascii_lowercase]
    result = columns(HashedDictionary(10), *words)
    counts = np.bincount(result, minlength=10)
    assert counts.min() > 40
    assert len(counts) == 10


@pytest.mark.parametrize("size", [0, 2**31])
def test_a_hashed_dictionary_out_of_range_is_refused(size: int) -> None:
    with pytest.raises(InputError, match="hashed dictionary: expected 1 <= size"):
        HashedDictionary(size)


def test_the_choice_prefers_what_tells_classes_apart() -> None:
    best = chosen(counts_of(DOCUMENTS), Selection(4))
    assert (
        sorted(columns(best, "now", "me", "later", "call now", "call me", "me later")) != [-1] * 6
    )
    assert columns(best, "call", "once") == [-1, -1]


def test_more_features_than_survive_gives_those_that_survive() -> None:
    best = chosen(counts_of(DOCUMENTS, min_documents=3), Selection(2048))
    assert best.size == 7
    assert min(columns(best, "call", "now", "me", "later", "call now", "call me", "me later")) >= 0
    assert columns(best, "once") == [-1]


def test_where_nothing_survives_the_error_says_so() -> None:
    with pytest.raises(InputError, match=r"no feature of 0 was kept") as caught:
        chosen(counts_of(DOCUMENTS, min_documents=50), Selection())
    assert "lower min_documents" in caught.value.hints[0]


def test_features_of_one_peer_alone_can_be_kept_out() -> None:
    both = counts_of(DOCUMENTS[:4]) + counts_of(DOCUMENTS)
    best = chosen(both, Selection(100, min_peers=2))
    assert best.size == 3
    assert min(columns(best, "call", "now", "call now")) >= 0


def test_a_study_with_documents_of_one_class_only_is_refused() -> None:
    with pytest.raises(InputError, match="documents of at least 2 classes, found 4 of one"):
        chosen(counts_of(DOCUMENTS[:4]), Selection())


def test_idf_is_rounded_to_halves() -> None:
    best = chosen(counts_of(DOCUMENTS), Selection(100))
    by_word = {word: columns(best, word)[0] for word in ("call", "once")}
    # ln(10/9) + 1 = 1.105 and ln(10/2) + 1 = 2.609
    assert best.idf_halves[by_word["call"]] == 2
    assert best.idf_halves[by_word["once"]] == 5


def test_chi_squared_is_pearson_s() -> None:
    from scipy.stats import chi2_contingency

    counts = table([[10, 3], [2, 3], [1, 8]], [20, 20, 20])
    for feature, score in enumerate(chi_squared(counts, exclusive=True)):
        having = counts.by_class[:, feature]
        expected = chi2_contingency(np.stack([having, 20 - having]), correction=False).statistic
        assert score == pytest.approx(expected)


def test_chi_squared_of_overlapping_classes_is_the_sum_of_their_tables() -> None:
    from scipy.stats import chi2_contingency

    cells = np.array([[10], [6]])
    counts = Counts(40, np.array([15, 20]), np.array([12]), cells, np.array([1]))
    expected = sum(
        chi2_contingency([[n, 12 - n], [m - n, 28 - m + n]], correction=False).statistic
        for n, m in ((10, 15), (6, 20))
    )
    assert chi_squared(counts, exclusive=False)[0] == pytest.approx(expected)


def test_of_equal_features_the_lower_bucket_is_chosen() -> None:
    counts = table([[3, 3, 3, 3], [0, 0, 0, 0]], [3, 3])
    assert chosen(counts, Selection(2)).buckets == (0, 1)


@pytest.mark.parametrize(
    ("buckets", "halves", "message"),
    [((), (), "at least 1 bucket"), ((1, 2), (2,), "found 2 buckets and 1 idf"),
     ((2, 1), (2, 2), "ascending"), ((1, 1), (2, 2), "ascending"), ((-1,), (2,), "ascending"),
     ((2**18,), (2,), "ascending"), ((3,), (0,), r"idf of at least 0\.5")],
)  # fmt: skip
def test_joint_dictionaries_that_nobody_could_have_chosen_are_refused(
    buckets: tuple[int, ...], halves: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        JointDictionary(buckets, halves)


@pytest.mark.parametrize(("features", "peers"), [(0, 1), (1, 0)])
def test_selections_out_of_range_are_refused(features: int, peers: int) -> None:
    with pytest.raises(InputError, match="selection: expected at least 1 feature and 1 peer"):
        Selection(features, peers)


def test_dictionaries_have_fingerprints_of_their_own() -> None:
    prints = {
        JointDictionary((1,), (2,)).fingerprint,
        JointDictionary((1,), (3,)).fingerprint,
        JointDictionary((1,), (2,), bits=17).fingerprint,
        HashedDictionary(1).fingerprint,
        GivenDictionary(("1",)).fingerprint,
    }
    assert len(prints) == 5


def test_a_peer_finds_its_own_words_and_no_others() -> None:
    space = FeatureSpace(chosen(counts_of(DOCUMENTS, min_documents=3), Selection()), PAIRS)
    mine = own_words([Document("Call me, call Bob"), Document("")], space, key=KEY)
    assert sorted(word for words in mine.values() for word in words) == ["call", "call me", "me"]
    assert list(mine) == sorted(mine)


def test_frequent_words_of_a_column_come_first() -> None:
    space = FeatureSpace(HashedDictionary(1))
    mine = own_words([Document("b a a c")], space, key=KEY, most=2)
    assert mine == {0: ["a", "b"]}


def test_words_of_which_the_first_letters_count_are_shown_in_full() -> None:
    space = FeatureSpace(GivenDictionary(("calls",)), Reading(ngrams=NGrams(letters=4)))
    mine = own_words([Document("calling called calling")], space, key=KEY)
    assert mine == {0: ["calling", "called"]}
    assert confirms("calling", space, key=KEY)
    assert not confirms("cal", space, key=KEY)


def test_who_has_the_key_can_confirm_a_guess_and_nobody_else_can() -> None:
    space = FeatureSpace(chosen(counts_of(DOCUMENTS, min_documents=3), Selection()), PAIRS)
    assert confirms("call now", space, key=KEY)
    assert not confirms("once", space, key=KEY)
    assert not confirms("call now", space, key=PUBLIC)
    with pytest.raises(InputError, match="dictionary entry '': expected 1 to 2 words, found 0"):
        confirms("", space, key=KEY)
