import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.text.dictionary.dictionaries import gram_id
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.tokenizing.tokens import DigitHandling, WordTokenizer

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = json.loads((VECTORS / "tokens.json").read_text(encoding="ascii"))

TOKENIZERS = st.builds(
    WordTokenizer,
    fold_case=st.booleans(),
    numbers=st.sampled_from(DigitHandling),
    symbols=st.booleans(),
)
TEXTS = st.text(max_size=80) | st.text(
    alphabet="aAéİıßΣ1٣½ﬁ病のカ👍£'’.-/: \u0301\u200d\u00ad\ufe0f\n", max_size=40
)


def tokens_of(tokenizer: WordTokenizer, text: str) -> list[str]:
    return [token for piece in tokenizer.pieces(text) for token in tokenizer.fold(piece)]


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_vectors(case: dict) -> None:
    settings = case["settings"] | {"numbers": DigitHandling(case["settings"]["numbers"])}
    assert tokens_of(WordTokenizer(**settings), case["text"]) == case["tokens"]


@pytest.mark.soak
def test_every_character_folds_as_it_did() -> None:
    sys.path.insert(0, str(VECTORS))
    try:
        from make_tokens import every_character
    finally:
        sys.path.remove(str(VECTORS))
    assert every_character() == CASES["every_character"]


def test_ids_are_those_of_the_vectors() -> None:
    key = DictionaryKey(bytes.fromhex(CASES["key"]))
    for case in CASES["ids"]:
        assert key.words()(case["token"]) == int(case["id"])
    for case in CASES["sequences"]:
        assert gram_id(case["tokens"], key) == int(case["id"])


def test_the_fingerprints_are_those_of_the_vectors() -> None:
    assert WordTokenizer().fingerprint == CASES["fingerprint"]


@given(TOKENIZERS, TEXTS)
def test_pieces_and_located_tokens_agree(tokenizer: WordTokenizer, text: str) -> None:
    located = tokenizer.locate(text)
    assert [token for token_at in located for token in token_at.folded] == tokens_of(
        tokenizer, text
    )


@given(TOKENIZERS, TEXTS)
def test_offsets_are_ascending_and_each_token_folds_from_its_own_characters(
    tokenizer: WordTokenizer, text: str
) -> None:
    end = 0
    for token in tokenizer.locate(text):
        assert end <= token.start < token.end <= len(text)
        assert tuple(tokens_of(tokenizer, text[token.start : token.end])) == token.folded
        end = token.end


@given(TOKENIZERS, TEXTS)
def test_folding_what_was_folded_changes_nothing(tokenizer: WordTokenizer, text: str) -> None:
    once = tokens_of(tokenizer, text)
    assert tokens_of(tokenizer, " ".join(once)) == once


@given(TEXTS, TEXTS)
def test_texts_apart_are_read_apart(first: str, second: str) -> None:
    tokenizer = WordTokenizer()
    together = tokens_of(tokenizer, f"{first}\n{second}")
    assert together == tokens_of(tokenizer, first) + tokens_of(tokenizer, second)


@given(TEXTS)
def test_case_does_not_count_unless_asked_for(text: str) -> None:
    folded = WordTokenizer()
    assert tokens_of(folded, text.casefold()) == tokens_of(folded, text)


def test_settings_change_the_fingerprint() -> None:
    prints = {
        WordTokenizer(fold_case=case, numbers=numbers, symbols=symbols).fingerprint
        for case in (True, False)
        for numbers in DigitHandling
        for symbols in (True, False)
    }
    assert len(prints) == 8


def test_scripts_without_spaces_count_pairs_of_characters_by_default() -> None:
    from sottovoce.study.automatic_features import WORDS
    from sottovoce.text.reading import NGrams, Reading

    assert WORDS == (1, 2)
    reading = Reading(ngrams=NGrams(WORDS))
    assert reading.fold("病人发热") == ("病", "人", "发", "热")
    assert reading.fold("ねつがある") == tuple("ねつがある")
