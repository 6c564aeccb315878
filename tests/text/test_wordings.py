"""A text of its own in a column: which words of a public list it has."""

import pytest

from sottovoce.errors import InputError
from sottovoce.text.columns import GRID, Wording


def test_words_share_a_length_of_one() -> None:
    column = Wording("letter", ("fever", "cough", "Rash"))
    assert column.encode("Fever, and no COUGH", where="here") == [45, 45, 0]
    assert column.encode("rash; rash!", where="here") == [0, 0, GRID]
    assert column.encode(None, where="here") == [0, 0, 0]
    assert column.width == 3
    assert column.texts == ("letter", "fever", "cough", "Rash")


def test_no_row_is_longer_than_one_or_reaches_further_than_it_says() -> None:
    words = tuple(f"w{chr(97 + place)}" for place in range(20))
    column = Wording("letter", words)
    for count in range(1, 21):
        encoded = column.encode(" ".join(words[:count]), where="here")
        assert sum(number * number for number in encoded) <= GRID * GRID
        assert sum(encoded) <= column.reach


@pytest.mark.parametrize("words", [(), ("fever", "Fever"), ("two words",), ("",)])
def test_words_that_cannot_be_told_apart(words: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="column letter: expected different single words"):
        Wording("letter", words)
